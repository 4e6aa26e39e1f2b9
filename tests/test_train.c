/*
 * Runs in their folder: what a run leaves there, stopping and resuming to the same bits, what is refused, what a
 * damaged checkpoint says, and the sentence for a step that is not finite.
 */
#include "runs.h"

#include "base/memory.h"
#include "io/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Hundreds of small files: waiting for the disk each time would only take time. */
int disk_fsync(int descriptor) {
    (void)descriptor;
    return 0;
}

static ch_trainer *resumed(const char *run) {
    ch_trainer *trainer;
    ch_error error;
    check_ok(ch_trainer_resume(run, NULL, NULL, 0, &trainer, &error), &error);
    return trainer;
}

static void check_text(const char *run, const char *name, const char *expected) {
    size_t size;
    char *text = file_bytes(path_in(run, name), &size);
    assert_string_equal(text, expected);
    free(text);
}

static void check_same_run(const char *a, const char *b, const char *step) {
    char name[64];
    check_same_file(a, b, "model.safetensors");
    check_same_file(a, b, "log.jsonl");
    snprintf(name, sizeof name, "checkpoints/%s/model.safetensors", step);
    check_same_file(a, b, name);
    snprintf(name, sizeof name, "checkpoints/%s/trainer.safetensors", step);
    check_same_file(a, b, name);
    check_same_file(a, b, "checkpoints/latest");
    check_same_file(a, b, "checkpoints/best");
}

/* ---- what a run leaves ---- */

static void check_log_line(char **at, int64_t step, bool validated) {
    struct js_value *line = next_line(at);
    assert_true(number_of(line, "schema") == 1 && number_of(line, "step") == (double)step);
    assert_true(number_of(line, "loss") > 0 && number_of(line, "grad_norm") > 0);
    double done = (double)step; /* warmup 4 */
    assert_true(number_of(line, "lr") == (step < 4 ? 0.01 * (done / 4) : 0.01));
    assert_true(number_of(line, "next_lr") == (step + 1 < 4 ? 0.01 * ((done + 1) / 4) : 0.01));
    assert_int_equal(js_find(line, "validation_loss") != NULL, validated);
    js_free(line);
}

static bool recipe_is_there_first(const ch_step *step, void *run) {
    if (step->step == 1) {
        assert_true(is_there(run, "recipe.json"));
        assert_false(is_there(run, "model.safetensors"));
    }
    assert_int_equal(step->steps, 10);
    assert_int_equal(step->log, step->step == 1 || step->step % 3 == 0 || step->step == 10);
    bool validated = step->step % 4 == 0 || step->step == 10;
    assert_int_equal(isnan(step->validation_loss), !validated);
    return true;
}

static void a_run_leaves_all_of_itself(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    char run[1024];
    snprintf(run, sizeof run, "%s/deep/er/run", folder); /* folders above are made, too */
    ch_trainer *trainer = trainer_of(recipe, run);
    char *json = ch_recipe_json(recipe), *expected;
    assert_true(asprintf(&expected, "%s\n", json) > 0);
    check_text(run, "recipe.json", expected); /* before step 1 */
    ch_error error;
    check_ok(ch_trainer_run(trainer, recipe_is_there_first, run, &error), &error);
    ch_trainer_free(trainer);
    check_text(run, "recipe.json", expected);
    check_text(run, "checkpoints/latest", "10\n");
    assert_false(is_there(run, "checkpoints/unfinished"));
    size_t size;
    char *log = file_bytes(path_in(run, "log.jsonl"), &size), *at = log;
    static const int64_t logged[] = {1, 3, 4, 6, 8, 9, 10};
    for (int i = 0; i < 7; i++) check_log_line(&at, logged[i], logged[i] % 4 == 0 || logged[i] == 10);
    assert_int_equal(*at, '\0');
    ch_model_free(open_model(run)); /* the folder is a model, and so is a checkpoint */
    ch_model_free(open_model(path_in(run, "checkpoints/10")));
    free(log);
    free(expected);
    ch_string_free(json);
    ch_recipe_free(recipe);
}

/* The validated step with the lowest loss, as the log tells it. */
static int best_of_log(const char *run) {
    size_t size;
    char *log = file_bytes(path_in(run, "log.jsonl"), &size), *at = log;
    double best_loss = (double)INFINITY;
    int best = 0;
    while (*at) {
        struct js_value *line = next_line(&at);
        if (js_find(line, "validation_loss") && number_of(line, "validation_loss") < best_loss) {
            best_loss = number_of(line, "validation_loss");
            best = (int)number_of(line, "step");
        }
        js_free(line);
    }
    free(log);
    return best;
}

/* A rate at which training gets worse: the result is an earlier step's model, and of the checkpoints two stay. */
static void the_best_checkpoint_is_the_result(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    set_option(recipe, "lr", "0.5");
    set_option(recipe, "warmup", "8");
    set_option(recipe, "save-every", "1");
    char *run = whole_run("worse", recipe), text[32], best[64];
    int step = best_of_log(run);
    assert_in_range(step, 1, 9); /* else the rate is too good for this test */
    snprintf(text, sizeof text, "%d\n", step);
    check_text(run, "checkpoints/best", text);
    check_text(run, "checkpoints/latest", "10\n");
    snprintf(best, sizeof best, "checkpoints/%d", step);
    check_same_file(path_in(run, best), run, "model.safetensors");
    for (int other = 1; other <= 10; other++) {
        snprintf(best, sizeof best, "checkpoints/%d", other);
        assert_int_equal(is_there(run, best), other == step || other == 10);
    }
    set_option(recipe, "validation", "0"); /* then the last step is the result */
    char *last = whole_run("last-step", recipe);
    check_same_file(path_in(last, "checkpoints/10"), last, "model.safetensors");
    check_same_file(last, path_in(run, "checkpoints/10"), "model.safetensors");
    free(run), free(last);
    ch_recipe_free(recipe);
}

/* In memory the same happens, and nothing is written. */
static void a_run_without_a_folder(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    char *run = whole_run("with", recipe);
    ch_trainer *trainer = trainer_of(recipe, NULL);
    ch_error error;
    check_ok(ch_trainer_run(trainer, NULL, NULL, &error), &error);
    ch_model *model = open_model(path_in(run, "checkpoints/10"));
    check_same("parameters", model->params.value, ch_trainer_model(trainer)->params.value, model->params.block);
    assert_true(ch_trainer_recipe(trainer)->steps == 10);
    ch_trainer_free(trainer);
    ch_trainer_free(NULL);
    ch_model_free(model);
    ch_recipe_free(recipe);
    free(run);
}

/* ---- stop and resume ---- */

static bool stop_at(const ch_step *step, void *context) {
    return step->step < *(int64_t *)context;
}

static void stop_after(ch_trainer *trainer, int64_t step) {
    ch_error error;
    char says[64];
    snprintf(says, sizeof says, "stopped after step %lld", (long long)step);
    check_sentence(ch_trainer_run(trainer, stop_at, &step, &error), CH_STOPPED, &error, says, NULL);
    ch_trainer_free(trainer);
}

/* The runs are named after what is different in them. */
static void check_stops(const char *what, ch_recipe *recipe) {
    char name[32];
    snprintf(name, sizeof name, "%s-whole", what);
    char *whole = whole_run(name, recipe), *stopped;
    for (int64_t step = 1; step < 10; step++) {
        snprintf(name, sizeof name, "%s-%d", what, (int)step);
        stopped = strdup(path_in(folder, name));
        stop_after(trainer_of(recipe, stopped), step);
        snprintf(name, sizeof name, "%d\n", (int)step);
        check_text(stopped, "checkpoints/latest", name);
        assert_false(is_there(stopped, "model.safetensors"));
        if (step + 2 < 10) stop_after(resumed(stopped), step + 2); /* twice */
        finish_run(resumed(stopped));
        check_same_run(stopped, whole, "10");
        free(stopped);
    }
    finish_run(resumed(whole)); /* nothing is left to do */
    check_text(whole, "checkpoints/latest", "10\n");
    free(whole);
    ch_recipe_free(recipe);
}

static void stopped_and_resumed_is_uninterrupted(void **state) {
    (void)state;
    check_stops("philox", run_recipe("rng", "philox"));
    check_stops("torch", run_recipe("rng", "torch"));
}

static void so_with_other_parts(void **state) {
    (void)state;
    static const char *const rngs[] = {"philox", "torch"};
    static const char *const parts[][2] = {{"norm", "rmsnorm"},   {"position", "learned"}, {"ffn", "swiglu"},
                                           {"init", "normal"},    {"tie", "all"},          {"optimizer", "adamw"},
                                           {"schedule", "cosine"}};
    for (size_t i = 0; i < 2; i++) {
        ch_recipe *recipe = run_recipe("rng", rngs[i]);
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) set_option(recipe, parts[p][0], parts[p][1]);
        char name[32];
        snprintf(name, sizeof name, "%s-parts", rngs[i]);
        check_stops(name, recipe);
    }
}

/* The pointer to the latest checkpoint is lost, or was never written: the newest one is gone on from. */
static void a_lost_pointer(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    char *whole = whole_run("pointed", recipe), *run = strdup(path_in(folder, "unpointed"));
    ch_trainer *trainer = trainer_of(recipe, run);
    int64_t at = 8; /* a checkpoint stands there, and one at 4 may */
    ch_error error;
    assert_int_equal(ch_trainer_run(trainer, stop_at, &at, &error), CH_STOPPED);
    ch_trainer_free(trainer);
    assert_int_equal(unlink(path_in(run, "checkpoints/latest")), 0);
    check_ok(ch_trainer_resume(run, NULL, NULL, 0, &trainer, &error), &error);
    assert_int_equal(trainer->step, 8);
    finish_run(trainer);
    check_same_file(run, whole, "model.safetensors");
    check_same_file(run, whole, "checkpoints/latest");
    free(whole), free(run);
    ch_recipe_free(recipe);
}

/* Wanting to stop at the last step is not stopping. */
static void stopping_at_the_end(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    char *run = strdup(path_in(folder, "last"));
    ch_trainer *trainer = trainer_of(recipe, run);
    int64_t last = 10;
    ch_error error;
    check_ok(ch_trainer_run(trainer, stop_at, &last, &error), &error);
    assert_true(is_there(run, "model.safetensors"));
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    free(run);
}

static void steps_can_be_extended(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox"), *longer = run_recipe("rng", "philox");
    set_option(recipe, "validation", "0");
    set_option(longer, "validation", "0");
    set_option(longer, "steps", "13");
    set_option(longer, "threads", "1");
    char *run = whole_run("short", recipe), *whole = whole_run("long", longer);
    static const char *const changed[] = {"steps", "threads"};
    ch_trainer *trainer;
    ch_error error;
    check_ok(ch_trainer_resume(run, longer, changed, 2, &trainer, &error), &error);
    assert_true(ch_trainer_recipe(trainer)->steps == 13 && ch_trainer_recipe(trainer)->threads == 1);
    finish_run(trainer);
    check_same_file(run, whole, "model.safetensors");
    check_same_file(run, whole, "recipe.json"); /* what was resolved is what stands there */
    free(run), free(whole);
    ch_recipe_free(recipe);
    ch_recipe_free(longer);
}

/* ---- what is refused ---- */

static void check_resume(const char *run, const ch_recipe *changes, const char *changed, ch_status status,
                         const char *says, const char *more) {
    ch_trainer *trainer = (ch_trainer *)1;
    ch_error error;
    size_t count = changed ? 1 : 0;
    check_sentence(ch_trainer_resume(run, changes, &changed, count, &trainer, &error), status, &error, says, more,
                   NULL);
    assert_null(trainer);
    assert_int_equal(ch_trainer_resume(run, changes, &changed, count, &trainer, NULL), status);
}

static void changes_that_are_refused(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox"), *other = run_recipe("rng", "torch");
    char *run = whole_run("fixed", recipe);
    set_option(other, "d-model", "16");
    set_option(other, "steps", "9");
    check_resume(run, other, "d-model", CH_USAGE, "d-model cannot change", "it has '8', found '16'");
    check_resume(run, other, "rng", CH_USAGE, "rng cannot change", "found 'torch'");
    check_resume(run, other, "steps", CH_USAGE, "has taken 10 steps already", "found 9");
    set_option(recipe, "schedule", "cosine");
    char *falling = whole_run("falling", recipe);
    set_option(other, "steps", "11");
    check_resume(falling, other, "steps", CH_USAGE, "steps cannot change", "schedule cosine");
    static const char *const same[] = {"heads"}; /* named, but not changed */
    ch_trainer *trainer;
    ch_error error;
    check_ok(ch_trainer_resume(run, other, same, 1, &trainer, &error), &error);
    ch_trainer_free(trainer);
    free(run), free(falling);
    ch_recipe_free(recipe);
    ch_recipe_free(other);
}

static void check_new(const char *run, const char *says, const char *more) {
    ch_recipe *recipe = run_recipe("rng", "philox");
    ch_trainer *trainer = (ch_trainer *)1;
    ch_error error;
    check_sentence(ch_trainer_new(recipe, run, &trainer, &error), CH_FAILED, &error, says, more, NULL);
    assert_null(trainer);
    assert_int_equal(ch_trainer_new(recipe, run, &trainer, NULL), CH_FAILED);
    ch_recipe_free(recipe);
}

static void folders_that_are_refused(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    char *run = whole_run("taken", recipe);
    check_new(run, run, "already holds a run (recipe.json is there): continue it with --resume");
    unlink(path_in(run, "recipe.json")); /* any trace of a run will do */
    check_new(run, run, "already holds a run (model.safetensors is there)");
    const char *file = path_in(folder, "file");
    put_bytes(file, "x", 1);
    check_new(file, file, "expected a folder, found a file");
    char inside[1024];
    snprintf(inside, sizeof inside, "%s/run", file);
    check_new(inside, file, "expected a folder, found a file");
    check_new("/proc/no/such/place", "cannot make the folder /proc/no", "No such file");
    if (geteuid() != 0) { /* root may write anywhere */
        const char *locked = path_in(folder, "locked");
        assert_int_equal(mkdir(locked, 0500), 0);
        snprintf(inside, sizeof inside, "%s/run", locked);
        check_new(inside, inside, "Permission denied");
    }
    check_resume(folder, NULL, NULL, CH_FAILED, folder, "holds no recipe.json");
    check_resume(path_in(folder, "nowhere"), NULL, NULL, CH_FAILED, "nowhere", "recipe.json");
    free(run);
    ch_recipe_free(recipe);
}

/* Two that train in one folder would write into each other's checkpoints. */
static void a_run_is_locked(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    const char *run = path_in(folder, "locked");
    ch_trainer *first = trainer_of(recipe, run);
    check_resume(run, NULL, NULL, CH_FAILED, "locked: another process is training in it", "");
    ch_trainer_free(first);
    finish_run(resumed(run));
    ch_recipe_free(recipe);
}

/* ---- damaged checkpoints ---- */

static void check_damaged(const char *run, const char *name, const void *bytes, size_t size, const char *says) {
    size_t good_size;
    const char *path = path_in(run, name);
    char *good = file_bytes(path, &good_size);
    put_bytes(path, bytes, size);
    check_resume(run, NULL, NULL, CH_FAILED, says, "");
    put_bytes(path, good, good_size);
    free(good);
}

static void damaged_checkpoints_are_refused(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "torch");
    char *run = whole_run("damaged", recipe);
    static const char *const names[] = {"checkpoints/10/model.safetensors", "checkpoints/10/trainer.safetensors"};
    for (int n = 0; n < 2; n++) {
        size_t size;
        char *bytes = file_bytes(path_in(run, names[n]), &size);
        for (size_t length = 0; length < size; length += 1009) check_damaged(run, names[n], bytes, length, names[n]);
        free(bytes);
    }
    check_damaged(run, "checkpoints/latest", "ten\n", 4, "expected the number of a checkpoint, found 'ten'");
    check_damaged(run, "checkpoints/latest", "../10\n", 6, "expected the number of a checkpoint");
    check_damaged(run, "checkpoints/latest", "", 0, "is empty");
    check_damaged(run, "checkpoints/latest", "11\n", 3, "11");
    check_damaged(run, "recipe.json", "{", 1, "recipe.json");
    ch_recipe *other_heads = run_recipe("rng", "torch"); /* as many numbers, another model */
    set_option(other_heads, "heads", recipe->heads == 1 ? "2" : "1");
    char *json = ch_recipe_json(other_heads);
    check_damaged(run, "recipe.json", json, strlen(json), "is not the model of this run's recipe.json");
    ch_string_free(json);
    ch_recipe_free(other_heads);
    size_t size, other_size; /* the two halves in each other's place */
    char *bytes = file_bytes(path_in(run, names[0]), &size), *other = file_bytes(path_in(run, names[1]), &other_size);
    check_damaged(run, names[1], bytes, size, "the trainer's half of a checkpoint");
    check_damaged(run, names[0], other, other_size, names[0]);
    free(bytes), free(other);
    char *whole = file_bytes(path_in(run, "model.safetensors"), &size);
    finish_run(resumed(run)); /* repaired, it goes on */
    char *again = file_bytes(path_in(run, "model.safetensors"), &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(whole, again, size);
    free(whole), free(again), free(run);
    ch_recipe_free(recipe);
}

/* A half of a checkpoint that is whole and says something impossible. */
struct claim {
    const char *step, *best_step, *best_loss, *tensor; /* the tensor whose element 1 is `value` */
    double value;
    uint32_t next; /* of the generator */
};
static const struct claim sound = {"10", "10", "2.5", "", 0, 5};

static void check_claim(const char *run, struct claim claim, const char *says) {
    const char *path = path_in(run, "checkpoints/10/trainer.safetensors");
    struct st_file *file = open_golden(path);
    size_t count = st_count(file);
    struct st_item *items = calloc(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        const struct st_tensor *tensor = st_tensor(file, i);
        void *bytes = malloc(tensor->bytes);
        assert_int_equal(st_read_bytes(file, tensor, bytes, NULL), CH_OK);
        items[i] = (struct st_item){tensor->name, tensor->dtype->name, tensor->rank, tensor->shape, bytes};
        if (strcmp(tensor->name, "rng.torch") == 0) ((struct torch_rng *)bytes)->next = claim.next;
        if (strcmp(tensor->name, claim.tensor) == 0) ((real *)bytes)[1] = (real)claim.value;
    }
    struct st_pair metadata[] = {{"format", "clearhead trainer"},
                                 {"schema", "2"},
                                 {"step", claim.step},
                                 {"best_step", claim.best_step},
                                 {"best_loss", claim.best_loss}};
    size_t size;
    char *good = file_bytes(path, &size);
    ch_error error;
    check_ok(st_write(path, items, count, metadata, 5, &error), &error);
    check_resume(run, NULL, NULL, CH_FAILED, path, says);
    put_bytes(path, good, size);
    for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)items[i].data);
    free(items), free(good);
    st_close(file);
}

static void check_number_claims(const char *run) {
    static const char *const steps[] = {"ten", "-1", "10x", "", " 10", "9", "9007199254740993", "99999999999999999999"};
    static const char *const best[] = {"best", "-2", "0", "11", "99999999999999999999", "1.5"};
    static const char *const losses[] = {"nan", "inf", "-inf", "-0.5", "1e999", "low", "", "1x"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct claim claim = sound;
        claim.step = steps[i];
        check_claim(run, claim, "'step': expected its step, 10 as its folder says, found '");
    }
    for (size_t i = 0; i < sizeof best / sizeof *best; i++) {
        struct claim claim = sound;
        claim.best_step = best[i];
        check_claim(run, claim, "'best_step': expected -1, or 1 to its step, 10, found '");
    }
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct claim claim = sound;
        claim.best_loss = losses[i];
        check_claim(run, claim, "'best_loss': expected a finite number of at least 0, found '");
    }
}

static void check_moment_claim(const char *run, const char *tensor, double value, const char *says) {
    struct claim claim = sound;
    claim.tensor = tensor;
    claim.value = value;
    check_claim(run, claim, says);
}

static void impossible_checkpoints_are_refused(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "torch");
    char *run = whole_run("impossible", recipe), *model;
    check_number_claims(run);
    struct claim claim = sound;
    claim.next = 625;
    check_claim(run, claim, "no state of PyTorch's generator");
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++) {
        check_moment_claim(run, "adam.m.enc.0.n1.bias", bad[i], "'adam.m.enc.0.n1.bias': element 1 is ");
        check_moment_claim(run, "adam.v.enc.0.n1.bias", bad[i], "'adam.v.enc.0.n1.bias': element 1 is ");
    }
    check_moment_claim(run, "adam.v.enc.0.n1.bias", -0.25, "element 1 is -0.25; expected numbers of at least 0");
    finish_run(resumed(run)); /* as it was, it goes on */
    model = strdup(path_in(run, "checkpoints/10/model.safetensors"));
    ch_model *poisoned = open_model(model);
    values_of(poisoned, "enc.0.n1.bias")[1] = (real)NAN;
    ch_error error;
    check_ok(ch_model_save(poisoned, model, &error), &error);
    check_resume(run, NULL, NULL, CH_FAILED, model, "'enc.0.n1.bias': element 1 is not a number");
    ch_model_free(poisoned);
    free(run), free(model);
    ch_recipe_free(recipe);
}

/* ---- lost checkpoints ---- */

static void lose_checkpoints(const char *run) {
    char command[4200];
    snprintf(command, sizeof command, "rm -r '%s'", path_in(run, "checkpoints"));
    assert_int_equal(system(command), 0);
}

/* Ends a run behind a step, with the recipe's option set, and takes its checkpoints and its result away. */
static char *run_without(const char *name, const char *option, const char *value, int64_t at) {
    ch_recipe *recipe = run_recipe(option, value);
    char *run = strdup(path_in(folder, name));
    ch_trainer *trainer = trainer_of(recipe, run);
    ch_error error;
    assert_int_equal(ch_trainer_run(trainer, stop_at, &at, &error), at < 10 ? CH_STOPPED : CH_OK);
    ch_trainer_free(trainer);
    lose_checkpoints(run);
    ch_recipe_free(recipe);
    return run;
}

static void check_lost(char *run, const char *says) {
    size_t size, after;
    char *log = file_bytes(path_in(run, "log.jsonl"), &size);
    check_resume(run, NULL, NULL, CH_FAILED, run, says);
    char *same = file_bytes(path_in(run, "log.jsonl"), &after);
    assert_int_equal(size, after);
    assert_memory_equal(log, same, size);
    free(log), free(same), free(run);
}

/* A run whose log goes on behind a checkpoint had one, and would write over what is left. */
static void lost_checkpoints_are_not_started_over(void **state) {
    (void)state;
    check_lost(run_without("lost_behind", "validation", "0", 6), "has come to step 6, found none");
    char *run = run_without("lost_rare", "validation", "7", 6);
    ch_recipe *rare = run_recipe("save-every", "100"); /* as if the run had gone on with it */
    char *json = ch_recipe_json(rare);
    put_bytes(path_in(run, "recipe.json"), json, strlen(json));
    check_lost(run, "has come to step 6, found none");
    ch_string_free(json);
    ch_recipe_free(rare);
    run = run_without("lost_result", "save-every", "100", 10);
    check_resume(run, NULL, NULL, CH_FAILED, run, "has come to step 10, found none"); /* model.safetensors is there */
    assert_int_equal(unlink(path_in(run, "log.jsonl")), 0);
    check_resume(run, NULL, NULL, CH_FAILED, run, "has come to step 10, found none");
    free(run);
    run = run_without("lost_gradients", "log-gradients", "on", 6);
    assert_int_equal(unlink(path_in(run, "log.jsonl")), 0);
    check_resume(run, NULL, NULL, CH_FAILED, run, "has come to step 6, found none");
    free(run);
}

/* One that died before its first checkpoint, or while it wrote it, starts again and ends as if nothing had been. */
static void runs_without_a_first_checkpoint_start_over(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    char *whole = whole_run("over", recipe);
    static const int64_t ends[] = {3, 4};
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "over_%d", i);
        char *run = run_without(name, "rng", "philox", ends[i]);
        ch_trainer *trainer = resumed(run);
        assert_int_equal(trainer->step, 0);
        finish_run(trainer);
        check_same_run(run, whole, "10");
        free(run);
    }
    free(whole);
    ch_recipe_free(recipe);
}

/* ---- steps that are not finite ---- */

struct before {
    real *value, *moment;
    struct torch_rng torch;
};

static void check_failed_step(ch_trainer *trainer, const char *says, const char *more) {
    size_t block = trainer->model->params.block, trained = trainer->model->params.trained;
    struct before before = {new_reals(block), new_reals(trained), trainer->torch};
    memcpy(before.value, trainer->model->params.value, block * sizeof(real));
    memcpy(before.moment, trainer->moment[0], trained * sizeof(real));
    int64_t taken = trainer->step;
    ch_step step;
    ch_error error;
    check_sentence(ch_trainer_step(trainer, &step, &error), CH_FAILED, &error, says, more, "not finite", NULL);
    assert_int_equal(ch_trainer_step(trainer, &step, NULL), CH_FAILED); /* and again, the same */
    check_same("parameters", trainer->model->params.value, before.value, block);
    check_same("moments", trainer->moment[0], before.moment, trained);
    assert_memory_equal(&trainer->torch, &before.torch, sizeof before.torch);
    assert_int_equal(trainer->step, taken);
    free(before.value), free(before.moment);
}

static void check_poison(const char *rng, const char *attention, const char *name, real poison, const char *culprit) {
    ch_recipe *recipe = run_recipe("rng", rng);
    set_option(recipe, "attention", attention);
    ch_trainer *trainer = trainer_of(recipe, NULL);
    take_steps(trainer, 2);
    real *value = values_of(trainer->model, name), good = value[3];
    value[3] = poison;
    check_failed_step(trainer, "step 3:", culprit);
    value[3] = good;
    take_steps(trainer, 1);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
}

static void the_first_tensor_is_named(void **state) {
    (void)state;
    static const real largest = IN_DOUBLE ? RC(1.7e308) : RC(3.3e38); /* dropout's 1 / 0.9 lifts it over */
    static const char *const rngs[] = {"philox", "torch"}, *const cores[] = {"fused", "explicit"};
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 2; c++) {
            check_poison(rngs[r], cores[c], "enc.0.ff.net.0.weight", RC(NAN), "parameter.enc.0.ff.net.0.weight");
            check_poison(rngs[r], cores[c], "generator.bias", RC(INFINITY), "parameter.generator.bias");
            check_poison(rngs[r], cores[c], "enc.0.attn.W_v.bias", largest, "is enc.0.attn.heads;");
            check_poison(rngs[r], cores[c], "dec.0.n2.weight", largest, "is dec.0.n2.out;");
        }
}

/* The run after the failed steps is that without them. */
static void a_failed_step_leaves_no_trace(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "torch");
    ch_trainer *clean = trainer_of(recipe, NULL), *hurt = trainer_of(recipe, NULL);
    take_steps(clean, 5);
    take_steps(hurt, 2);
    real *value = values_of(hurt->model, "dec.0.ff.net.3.bias"), good = *value;
    *value = RC(NAN);
    check_failed_step(hurt, "step 3:", "dec.0.ff.net.3.bias");
    *value = good;
    take_steps(hurt, 3);
    check_same("parameters", hurt->model->params.value, clean->model->params.value, clean->model->params.block);
    ch_trainer_free(clean);
    ch_trainer_free(hurt);
    ch_recipe_free(recipe);
}

/* A run whose numbers leave float's range stops with the sentence that says what may help. */
static void a_run_that_overflows(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    ch_trainer *trainer = trainer_of(recipe, path_in(folder, "huge"));
    *values_of(trainer->model, "dec.0.n2.weight") = IN_DOUBLE ? RC(1.7e308) : RC(3.3e38);
    ch_error error;
    check_sentence(ch_trainer_run(trainer, NULL, NULL, &error), CH_FAILED, &error, "step 1:", "a lower lr", NULL);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
}

/* After a step that the mean of the weights does not take, and before the next validation. */
static bool spoil_the_mean(const ch_step *step, void *context) {
    ch_trainer *trainer = context;
    const struct params *params = &trainer->result->params;
    for (size_t i = 0; step->step == 9 && i < params->trained; i++)
        params->value[i] = IN_DOUBLE ? RC(1.7e308) : RC(3.3e38);
    return true;
}

static void a_validation_that_overflows(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("rng", "philox");
    ch_trainer *trainer = trainer_of(recipe, path_in(folder, "validation"));
    ch_error error;
    check_sentence(ch_trainer_run(trainer, spoil_the_mean, trainer, &error), CH_FAILED, &error, "step 10",
                   "the loss on held-out examples is", NULL);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_leaves_all_of_itself),
        cmocka_unit_test(the_best_checkpoint_is_the_result),
        cmocka_unit_test(a_run_without_a_folder),
        cmocka_unit_test(stopped_and_resumed_is_uninterrupted),
        cmocka_unit_test(so_with_other_parts),
        cmocka_unit_test(a_lost_pointer),
        cmocka_unit_test(stopping_at_the_end),
        cmocka_unit_test(steps_can_be_extended),
        cmocka_unit_test(changes_that_are_refused),
        cmocka_unit_test(folders_that_are_refused),
        cmocka_unit_test(a_run_is_locked),
        cmocka_unit_test(damaged_checkpoints_are_refused),
        cmocka_unit_test(impossible_checkpoints_are_refused),
        cmocka_unit_test(lost_checkpoints_are_not_started_over),
        cmocka_unit_test(runs_without_a_first_checkpoint_start_over),
        cmocka_unit_test(the_first_tensor_is_named),
        cmocka_unit_test(a_failed_step_leaves_no_trace),
        cmocka_unit_test(a_run_that_overflows),
        cmocka_unit_test(a_validation_that_overflows),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
