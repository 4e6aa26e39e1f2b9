/*
 * Runs that die and disks that fill. Everything durable goes through disk_write, disk_fsync and disk_rename
 * (io/disk.h), which this program replaces: so it can end the process, or refuse, at the k-th call, for every k of a
 * whole run with two checkpoints. Whatever happens, the run must go on from what is on the disk and end in the same
 * bytes as a run that nothing happened to.
 */
#include "io/disk.h"
#include "runs.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the disk ---- */

enum trouble { NONE, DEATH, TORN_DEATH, FULL };

static struct {
    enum trouble trouble;
    int at;    /* the call, from 1, at which it comes; a full disk stays full */
    int calls; /* so far */
} disk;

static void set_disk(enum trouble trouble, int at) {
    disk.trouble = trouble;
    disk.at = at;
    disk.calls = 0;
}

static void die(void) {
    raise(SIGKILL);
}

/* Counts the call; whether it is to be refused. */
static bool in_trouble(void) {
    disk.calls++;
    if (disk.trouble == DEATH && disk.calls == disk.at) die();
    return disk.trouble == FULL && disk.calls >= disk.at;
}

ssize_t disk_write(int descriptor, const void *bytes, size_t length) {
    if (in_trouble()) {
        errno = ENOSPC;
        return -1;
    }
    bool torn = disk.trouble == TORN_DEATH && disk.calls == disk.at;
    ssize_t written = write(descriptor, bytes, torn ? length / 2 : length);
    if (torn) die();
    return written;
}

/* What a process has written survives its death without a sync: syncing for real would only take time. */
int disk_fsync(int descriptor) {
    (void)descriptor;
    if (!in_trouble()) return 0;
    errno = EIO;
    return -1;
}

int disk_rename(const char *from, const char *to) {
    if (!in_trouble()) return rename(from, to);
    errno = ENOSPC;
    return -1;
}

/* ---- runs ---- */

static char *whole;
static ch_recipe *recipe;

/* One thread: a fork has no other. Two checkpoints, of which the latest and the best stay. */
static int set_up(void **state) {
    make_folder(state);
    recipe = recipe_of("d-model", "4", "heads", "1", "d-ff", "4", "layers", "1", "max-positions", "6", "max-len", "5",
                       "min-len", "2", "batch-size", "2", "steps", "2", "save-every", "1", "log-every", "1", "threads",
                       "1", "validation", "3", "lr", "0.01", "warmup", "0", "rng", "torch", NULL);
    whole = whole_run("whole", recipe);
    return 0;
}

static int tear_down(void **state) {
    ch_recipe_free(recipe);
    free(whole);
    return drop_folder(state);
}

/* A whole run as a user starts it. */
static ch_status run_new(const char *run, ch_step_function each, void *context, ch_error *error) {
    ch_trainer *trainer;
    ch_status status = ch_trainer_new(recipe, run, &trainer, error);
    if (status == CH_OK) status = ch_trainer_run(trainer, each, context, error);
    ch_trainer_free(trainer);
    return status;
}

/* Goes on with whatever is there: the run, or nothing yet. */
static ch_status go_on(const char *run, ch_error *error) {
    if (!is_there(run, "recipe.json")) return run_new(run, NULL, NULL, error);
    ch_trainer *trainer;
    ch_status status = ch_trainer_resume(run, NULL, NULL, 0, &trainer, error);
    if (status == CH_OK) status = ch_trainer_run(trainer, NULL, NULL, error);
    ch_trainer_free(trainer);
    return status;
}

/* If there is a newest checkpoint, it is whole: it opens as a model. */
static void check_latest(const char *run, const char *what, int at) {
    if (!is_there(run, "checkpoints/latest")) return;
    size_t size;
    char *name = file_bytes(path_in(run, "checkpoints/latest"), &size), checkpoint[64];
    snprintf(checkpoint, sizeof checkpoint, "checkpoints/%d", atoi(name));
    ch_model *model;
    ch_error error;
    if (ch_model_open(path_in(run, checkpoint), 0, &model, &error) != CH_OK)
        fail_msg("%s at call %d: %s", what, at, error.message);
    ch_model_free(model);
    free(name);
}

/* Names in a folder, in order; free the list. Temporary files of killed writers of the run's own files may stay. */
static int list(const char *path, struct dirent ***names) {
    int count = scandir(path, names, NULL, alphasort);
    assert_true(count > 2);
    return count;
}

static void free_list(struct dirent **names, int count) {
    for (int i = 0; i < count; i++) free(names[i]);
    free(names);
}

/* The same checkpoints and nothing besides. */
static void check_same_names(const char *run, const char *what, int at) {
    struct dirent **found, **expected;
    int count = list(path_in(run, "checkpoints"), &found), wanted = list(path_in(whole, "checkpoints"), &expected);
    for (int i = 0; i < count; i++)
        if (i >= wanted || strcmp(found[i]->d_name, expected[i]->d_name) != 0)
            fail_msg("%s at call %d: there is a %s in checkpoints", what, at, found[i]->d_name);
    assert_int_equal(count, wanted);
    for (int i = 0; i < wanted; i++) {
        char name[300];
        if (atoi(expected[i]->d_name) == 0) continue;
        snprintf(name, sizeof name, "checkpoints/%s", expected[i]->d_name);
        check_same_file(path_in(run, name), path_in(whole, name), "model.safetensors");
        check_same_file(path_in(run, name), path_in(whole, name), "trainer.safetensors");
    }
    free_list(found, count);
    free_list(expected, wanted);
}

/* The end of the run, whatever came before, is that of the one that nothing happened to. */
static void check_goes_on(const char *run, const char *what, int at) {
    ch_error error;
    set_disk(NONE, 0);
    check_latest(run, what, at);
    if (go_on(run, &error) != CH_OK) fail_msg("%s at call %d, resuming: %s", what, at, error.message);
    static const char *const files[] = {"recipe.json", "log.jsonl", "model.safetensors", "checkpoints/latest",
                                        "checkpoints/best"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) check_same_file(run, whole, files[i]);
    check_same_names(run, what, at);
}

static char *new_run(void) {
    static int runs;
    char name[32];
    snprintf(name, sizeof name, "run-%d", runs++);
    return strdup(path_in(folder, name));
}

static int calls_of_a_run(void) {
    char *run = new_run();
    set_disk(NONE, 0);
    ch_error error;
    check_ok(run_new(run, NULL, NULL, &error), &error);
    int calls = disk.calls;
    assert_true(calls > 100);
    check_goes_on(run, "nothing", 0);
    free(run);
    return calls;
}

/* ---- death at every call ---- */

/* Runs in a child that the disk kills; whether it was killed. */
static bool killed_by_disk(const char *run, enum trouble trouble, int at) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        set_disk(trouble, at);
        _exit(run_new(run, NULL, NULL, NULL) == CH_OK ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status)) assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

static void check_deaths(enum trouble trouble, const char *what, int stride) {
    int calls = calls_of_a_run(), deaths = 0;
    for (int at = 1; at <= calls; at += stride) {
        char *run = new_run();
        deaths += killed_by_disk(run, trouble, at);
        check_goes_on(run, what, at);
        remove_folder(run);
    }
    assert_true(deaths > calls / stride / 2);
}

static void death_before_every_call(void **state) {
    (void)state;
    check_deaths(DEATH, "death", 1);
}

/* Only writes can be torn; other calls happen as if nothing were. */
static void death_in_the_middle_of_a_write(void **state) {
    (void)state;
    check_deaths(TORN_DEATH, "death in a write", 7);
}

/* ---- a disk that is full from the k-th call on ---- */

static void full_from_any_call_on(void **state) {
    (void)state;
    int calls = calls_of_a_run(), said = 0;
    for (int at = 1; at <= calls; at += 5) {
        char *run = new_run();
        ch_error error = {0};
        set_disk(FULL, at);
        ch_status status = run_new(run, NULL, NULL, &error);
        if (status != CH_FAILED || strlen(error.message) < 20 || !strstr(error.message, folder))
            fail_msg("full at call %d: status %d, '%s'", at, (int)status, error.message);
        said += strstr(error.message, "No space left on device") != NULL;
        check_goes_on(run, "full", at);
        free(run);
    }
    assert_true(said > calls / 10); /* the others: a sync that failed */
}

/* The same trainer can go on when there is room again, without a resume. */
static void full_for_a_while(void **state) {
    (void)state;
    int calls = calls_of_a_run();
    for (int at = 20; at <= calls; at += 37) {
        char *run = new_run();
        ch_trainer *trainer = trainer_of(recipe, run);
        ch_error error;
        set_disk(FULL, at);
        assert_int_equal(ch_trainer_run(trainer, NULL, NULL, &error), CH_FAILED);
        ch_trainer_free(trainer);
        set_disk(FULL, 1); /* still full: resuming fails, too */
        assert_int_equal(go_on(run, &error), CH_FAILED);
        check_goes_on(run, "full twice", at);
        free(run);
    }
}

/* ---- SIGKILL from outside ---- */

static bool tell(const ch_step *step, void *context) {
    (void)step;
    return write(*(int *)context, "x", 1) == 1;
}

/* The child tells of each step; after so many the parent kills it, wherever it is by then. */
static void kill_after(const char *run, int steps) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(pipes[0]);
        run_new(run, tell, &pipes[1], NULL);
        _exit(0);
    }
    close(pipes[1]);
    char told;
    for (int i = 0; i < steps; i++) assert_int_equal(read(pipes[0], &told, 1), 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(pipes[0]);
}

static void killed_at_some_moment(void **state) {
    (void)state;
    set_disk(NONE, 0);
    for (int i = 0; i < 12; i++) {
        char *run = new_run();
        kill_after(run, 1 + i % 2);
        check_goes_on(run, "killed", i);
        free(run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(death_before_every_call), cmocka_unit_test(death_in_the_middle_of_a_write),
        cmocka_unit_test(full_from_any_call_on),   cmocka_unit_test(full_for_a_while),
        cmocka_unit_test(killed_at_some_moment),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
