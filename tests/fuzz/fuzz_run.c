/*
 * Any bytes as a file of a run folder; the first one chooses which:
 *   L  log.jsonl: whether a run can go on with it, what is kept of it when a run goes on, and what is drawn of it
 *   G  gradients.jsonl, beside a good log
 *   P  checkpoints/latest
 *   T  trainer.safetensors of a checkpoint, beside a good model
 *   M  model.safetensors of a checkpoint, which is then not the run's, mostly
 * Each reader refuses with a sentence, or gives what the file really says.
 */
#include "base/memory.h"
#include "fuzz.h"
#include "io/disk.h"
#include "io/file.h"
#include "io/run_folder.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP = 7, PATH = 512 };

/* No power cut is played here, and the disk is not waited for. */
int disk_fsync(int descriptor) {
    (void)descriptor;
    return 0;
}

/* ---- the folder of a run, and its trainer ---- */

static char folder[PATH];
static ch_trainer *trainer;

static const char *const files[] = {RUN_RECIPE,
                                    RUN_LOG,
                                    RUN_GRADIENTS,
                                    RUN_CHECKPOINTS "/" RUN_LATEST,
                                    RUN_CHECKPOINTS "/7/" RUN_MODEL,
                                    RUN_CHECKPOINTS "/7/" RUN_TRAINER,
                                    RUN_CHECKPOINTS "/7",
                                    RUN_CHECKPOINTS,
                                    ""};

static void path_of(char out[RUN_PATH], const char *name) {
    ch_status status = run_path(out, folder, name, NULL);
    ch_assert(status == CH_OK);
}

static void tear_down(void) {
    char path[RUN_PATH];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        path_of(path, files[i]);
        remove(path);
    }
    ch_trainer_free(trainer);
}

static void put(const char *name, const void *bytes, size_t length) {
    char path[RUN_PATH];
    path_of(path, name);
    remove(path); /* some file systems write at once what is put in place of a file */
    FILE *file = fopen(path, "wb");
    size_t wrote = file ? fwrite(bytes, 1, length, file) : 0;
    ch_assert(file && wrote == length && fclose(file) == 0);
}

/* A good model for the checkpoint. */
static void put_model(void) {
    char path[RUN_PATH];
    path_of(path, RUN_CHECKPOINTS "/7/" RUN_MODEL);
    ch_status status = ch_model_save(ch_trainer_model(trainer), path, NULL);
    ch_assert(status == CH_OK);
}

static void set_up(void) {
    static const char *const option[][2] = {{"d-model", "2"}, {"heads", "1"},         {"d-ff", "1"},
                                            {"layers", "1"},  {"max-positions", "6"}, {"max-len", "4"},
                                            {"rng", "torch"}, {"threads", "1"},       {"batch-size", "1"}};
    const char *temporary = getenv("TMPDIR");
    char path[RUN_PATH];
    ch_recipe *recipe;
    snprintf(folder, sizeof folder, "%s/clearhead_fuzz.XXXXXX", temporary && *temporary ? temporary : "/tmp");
    ch_assert(mkdtemp(folder));
    ch_status status = ch_recipe_new(&recipe, NULL);
    for (size_t i = 0; i < sizeof option / sizeof *option && status == CH_OK; i++)
        status = ch_recipe_set(recipe, option[i][0], option[i][1], NULL);
    if (status == CH_OK) status = ch_trainer_new(recipe, NULL, &trainer, NULL);
    path_of(path, RUN_CHECKPOINTS "/7");
    if (status == CH_OK) status = file_make_folder(path, NULL);
    ch_assert(status == CH_OK);
    ch_recipe_free(recipe);
    put_model();
    put(RUN_RECIPE, "{}", 2);
    atexit(tear_down);
}

/* ---- readers ---- */

/* A figure has text, or says why it cannot be drawn: a logarithmic axis wants a value above 0. */
static void check_text(ch_status status, const ch_error *error, char *text) {
    if (status == CH_OK)
        ch_assert(*text);
    else
        check_sentence(status, error);
    ch_string_free(text);
}

/* What is drawn of the logs. */
static void check_figure(bool layers) {
    const char *const folders[] = {folder};
    const ch_training_view view = {.layers = layers};
    ch_figure *figure;
    ch_error error = {0};
    char *text = NULL;
    ch_status status = ch_figure_training(folders, 1, &view, &figure, &error);
    if (status != CH_OK) {
        check_sentence(status, &error);
        return;
    }
    status = ch_figure_json(figure, &text, &error);
    check_text(status, &error, text);
    text = NULL;
    status = ch_figure_text(figure, CH_COLOURS_NONE, 40, &text, &error);
    check_text(status, &error, text);
    ch_figure_free(figure);
}

/* Cuts the log back to STEP and gives its length; what is left must be the start of what was there, in whole lines. */
static size_t cut_back(const char *path, const uint8_t *bytes, size_t length) {
    struct log log;
    char *kept = NULL;
    size_t size = 0;
    ch_status status = log_open(&log, path, STEP, NULL);
    ch_assert(status == CH_OK);
    log_close(&log);
    if (file_read(path, length + 1, &kept, &size, NULL) == CH_OK)
        ch_assert(size <= length && memcmp(kept, bytes, size) == 0 && kept[size - 1] == '\n');
    mem_free(kept);
    return size;
}

/* Whether a run could go on with it; looking changes nothing. */
static bool is_sound(const char *path, const uint8_t *bytes, size_t length) {
    char *now = NULL;
    size_t size = 0;
    ch_error error = {0};
    ch_status status = log_check(path, STEP, 1, NULL, NULL, &error);
    if (status != CH_OK) check_sentence(status, &error);
    if (length > 0) {
        ch_status same = file_read(path, length, &now, &size, NULL);
        ch_assert(same == CH_OK && size == length && memcmp(now, bytes, size) == 0);
    }
    mem_free(now);
    return status == CH_OK;
}

static void check_log(const uint8_t *bytes, size_t length) {
    char path[RUN_PATH];
    put(RUN_LOG, bytes, length);
    check_figure(false);
    path_of(path, RUN_LOG);
    bool sound = is_sound(path, bytes, length);
    size_t kept = cut_back(path, bytes, length), again = cut_back(path, bytes, length);
    ch_assert(kept == again && (kept > 0 || !sound));
}

static void check_gradients(const uint8_t *bytes, size_t length) {
    static const char log[] = "{\"schema\":1,\"step\":1,\"loss\":2.5,\"grad_norm\":1,\"lr\":0.1}\n";
    put(RUN_LOG, log, strlen(log));
    put(RUN_GRADIENTS, bytes, length);
    check_figure(true);
}

static void check_pointer(const uint8_t *bytes, size_t length) {
    char latest[RUN_PATH], model[RUN_PATH], start[RUN_PATH];
    ch_error error = {0};
    put(RUN_CHECKPOINTS "/" RUN_LATEST, bytes, length);
    ch_status status = run_latest(latest, folder, &error), whole = run_model_file(model, folder, NULL);
    ch_assert((status == CH_OK) == (whole == CH_OK));
    if (status != CH_OK) {
        check_sentence(status, &error);
        return;
    }
    path_of(start, RUN_CHECKPOINTS "/");
    ch_assert(strncmp(latest, start, strlen(start)) == 0);
    const char *name = latest + strlen(start);
    ch_assert(*name && strspn(name, "0123456789") == strlen(name));
    ch_assert(strncmp(model, latest, strlen(latest)) == 0);
}

static void check_checkpoint(const char *name, const uint8_t *bytes, size_t length) {
    char path[RUN_PATH];
    ch_error error = {0};
    put(name, bytes, length);
    path_of(path, RUN_CHECKPOINTS "/7");
    ch_status status = checkpoint_load(trainer, path, &error);
    if (status != CH_OK) {
        check_sentence(status, &error);
        return;
    }
    ch_assert(trainer->step >= 0 && trainer->best_step >= -1 && torch_rng_valid(&trainer->torch));
    ch_step step;
    status = ch_trainer_step(trainer, &step, &error);
    if (status != CH_OK) check_sentence(status, &error);
}

static void check_model(const uint8_t *bytes, size_t length) {
    check_checkpoint(RUN_CHECKPOINTS "/7/" RUN_MODEL, bytes, length);
    put_model();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    if (!trainer) set_up();
    if (!length) return 0;
    switch (bytes[0]) {
    case 'L':
        check_log(bytes + 1, length - 1);
        break;
    case 'G':
        check_gradients(bytes + 1, length - 1);
        break;
    case 'P':
        check_pointer(bytes + 1, length - 1);
        break;
    case 'T':
        check_checkpoint(RUN_CHECKPOINTS "/7/" RUN_TRAINER, bytes + 1, length - 1);
        break;
    case 'M':
        check_model(bytes + 1, length - 1);
        break;
    default:
        break;
    }
    return 0;
}
