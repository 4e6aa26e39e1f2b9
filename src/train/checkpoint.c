/*
 * Checkpoints: model.safetensors and trainer.safetensors in checkpoints/<step>/. The folder is filled under a temporary
 * name and renamed, then `latest` is pointed at it: whatever dies on the way, `latest` names a complete checkpoint, and
 * so does its best_step.
 */
#include "base/memory.h"
#include "io/file.h"
#include "io/run_folder.h"
#include "train/trainer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRAINER_SCHEMA = 2, ITEM_NAME = PARAM_NAME + 32, TEXT_MARK = 17 };

#define TORCH_STATE "rng.torch"
static const int64_t torch_words = sizeof(struct torch_rng) / sizeof(uint32_t);

/* ---- trainer.safetensors: of each parameter the moments and, where the model is a mean, the weight; the generator's
 * words ---- */

/* The blocks that it holds, in the layout of the parameters. */
static int blocks_of(const struct ch_trainer *t) {
    return t->recipe.optimizer->moments + (t->result != t->model);
}

static real *block_of(const struct ch_trainer *t, int block) {
    return block < t->recipe.optimizer->moments ? t->moment[block] : t->model->params.value;
}

static void item_name(char *out, const struct ch_trainer *t, int block, const struct param *row) {
    const struct optimizer *optimizer = t->recipe.optimizer;
    if (block < optimizer->moments)
        snprintf(out, ITEM_NAME, "%s.%s.%s", optimizer->variant.name, optimizer->moment_names[block], row->name);
    else
        snprintf(out, ITEM_NAME, "weights.%s", row->name);
}

static size_t fill_items(const struct ch_trainer *t, struct st_item *item, char *names) {
    size_t count = 0;
    for (int block = 0; block < blocks_of(t); block++)
        for (int i = 0; i < t->model->params.count; i++) {
            const struct param *row = &t->model->params.row[i];
            if (!param_is_trained(row)) continue;
            char *name = names + count * ITEM_NAME;
            item_name(name, t, block, row);
            item[count++] = (struct st_item){
                .name = name, .rank = row->rank, .shape = row->shape, .data = block_of(t, block) + row->offset};
        }
    if (t->recipe.rng->torch)
        item[count++] =
            (struct st_item){.name = TORCH_STATE, .dtype = "U32", .rank = 1, .shape = &torch_words, .data = &t->torch};
    return count;
}

/* What a text is known by; empty for a task. */
static void text_mark(const struct ch_trainer *t, char out[TEXT_MARK]) {
    out[0] = '\0';
    if (t->material.mark) snprintf(out, TEXT_MARK, "%016llx", (unsigned long long)t->material.mark);
}

static ch_status save_trainer(const struct ch_trainer *t, const char *path, ch_error *error) {
    size_t most = (size_t)t->model->params.count * (size_t)blocks_of(t) + 1;
    struct st_item *item = mem_new(most, sizeof *item);
    char *names = mem_new(most, ITEM_NAME), step[24], best_step[24], best_loss[32], schema[8], mark[TEXT_MARK];
    snprintf(step, sizeof step, "%lld", (long long)t->step);
    snprintf(best_step, sizeof best_step, "%lld", (long long)t->best_step);
    snprintf(best_loss, sizeof best_loss, "%.17g", t->best_loss);
    snprintf(schema, sizeof schema, "%d", TRAINER_SCHEMA);
    text_mark(t, mark);
    struct st_pair metadata[] = {{"format", "clearhead trainer"}, {"schema", schema},       {"step", step},
                                 {"best_step", best_step},        {"best_loss", best_loss}, {"text", mark}};
    ch_status status = item && names ? st_write(path, item, fill_items(t, item, names), metadata,
                                                sizeof metadata / sizeof *metadata, error)
                                     : fail_memory(error, "saving a checkpoint");
    mem_free(item);
    mem_free(names);
    return status;
}

static ch_status load_blocks(struct ch_trainer *t, const struct st_file *file, ch_error *error) {
    for (int block = 0; block < blocks_of(t); block++)
        for (int i = 0; i < t->model->params.count; i++) {
            const struct param *row = &t->model->params.row[i];
            const struct st_tensor *tensor;
            char name[ITEM_NAME];
            if (!param_is_trained(row)) continue;
            item_name(name, t, block, row);
            ch_status status = st_expect(file, name, row->rank, row->shape, &tensor, error);
            bool is_signed = block < t->recipe.optimizer->signed_moments || block >= t->recipe.optimizer->moments;
            if (status == CH_OK)
                status = st_read_finite(file, tensor, is_signed, block_of(t, block) + row->offset, error);
            if (status != CH_OK) return status;
        }
    return CH_OK;
}

static ch_status load_torch(struct ch_trainer *t, const struct st_file *file, const char *where, ch_error *error) {
    const struct st_tensor *tensor;
    ch_status status = st_expect_dtype(file, TORCH_STATE, "U32", 1, &torch_words, &tensor, error);
    if (status == CH_OK) status = st_read_bytes(file, tensor, &t->torch, error);
    if (status == CH_OK && !torch_rng_valid(&t->torch))
        status = fail(error, CH_FAILED, "%s: '%s' is no state of PyTorch's generator", where, TORCH_STATE);
    return status;
}

/* A whole number of the metadata, none too large for JSON to hold exactly. */
static bool read_number(const struct st_file *file, const char *key, long long least, long long most, int64_t *out) {
    const char *text = st_metadata(file, key);
    if (!text || strspn(text, "-0123456789") != strlen(text)) return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most) return false;
    *out = value;
    return true;
}

static bool read_loss(const struct st_file *file, double *out) {
    const char *text = st_metadata(file, "best_loss");
    char *end;
    if (!text) return false;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && *out >= 0;
}

static ch_status refuse_entry(const struct st_file *file, const char *where, const char *key, const char *expected,
                              ch_error *error) {
    const char *text = st_metadata(file, key);
    return fail(error, CH_FAILED, "%s: '%s': expected %s, found %s%.40s%s", where, key, expected, text ? "'" : "",
                text ? text : "none", text ? "'" : "");
}

static ch_status load_best(struct ch_trainer *t, const struct st_file *file, const char *where, ch_error *error) {
    if (!read_number(file, "best_step", -1, t->step, &t->best_step) || t->best_step == 0) {
        char expected[64];
        snprintf(expected, sizeof expected, "-1, or 1 to its step, %lld", (long long)t->step);
        return refuse_entry(file, where, "best_step", expected, error);
    }
    if (read_loss(file, &t->best_loss)) return CH_OK;
    return refuse_entry(file, where, "best_loss", "a finite number of at least 0", error);
}

/* step: what the checkpoint's folder is named for. */
static ch_status load_step(struct ch_trainer *t, const struct st_file *file, int64_t step, const char *where,
                           ch_error *error) {
    const char *format = st_metadata(file, "format"), *schema = st_metadata(file, "schema");
    int64_t version;
    if (!format || strcmp(format, "clearhead trainer") != 0)
        return fail(error, CH_FAILED, "%s: expected the trainer's half of a checkpoint, found another file", where);
    if (!read_number(file, "schema", TRAINER_SCHEMA, TRAINER_SCHEMA, &version))
        return fail(error, CH_FAILED, "%s: expected schema %d, found %s", where, TRAINER_SCHEMA,
                    schema ? schema : "none");
    if (read_number(file, "step", step, step, &t->step)) return load_best(t, file, where, error);
    char expected[64];
    snprintf(expected, sizeof expected, "its step, %lld as its folder says", (long long)step);
    return refuse_entry(file, where, "step", expected, error);
}

/* A run goes on with the text that it began with. */
static ch_status check_text(const struct ch_trainer *t, const struct st_file *file, const char *where,
                            ch_error *error) {
    const char *found = st_metadata(file, "text");
    char mark[TEXT_MARK];
    text_mark(t, mark);
    if (strcmp(mark, found ? found : "") == 0) return CH_OK;
    return fail(error, CH_FAILED, "%s: expected a run on the tokens of %s as they are now, found one on others", where,
                t->recipe.text_file);
}

static ch_status load_trainer(struct ch_trainer *t, const char *path, int64_t step, ch_error *error) {
    struct st_file *file;
    ch_status status = st_open(path, &file, error);
    if (status != CH_OK) return status;
    status = load_step(t, file, step, path, error);
    if (status == CH_OK) status = check_text(t, file, path, error);
    if (status == CH_OK) status = load_blocks(t, file, error);
    if (status == CH_OK && t->recipe.rng->torch) status = load_torch(t, file, path, error);
    st_close(file);
    return status;
}

/* ---- model.safetensors ---- */

static ch_status load_model(struct ch_trainer *t, const char *path, ch_error *error) {
    ch_model *saved;
    ch_status status = ch_model_open(path, 0, &saved, error);
    if (status != CH_OK) return status;
    if (config_same(&saved->config, &t->result->config))
        memcpy(t->result->params.value, saved->params.value, saved->params.block * sizeof(real));
    else
        status = fail(error, CH_FAILED, "%s is not the model of this run's %s", path, RUN_RECIPE);
    ch_model_free(saved);
    return status;
}

ch_status checkpoint_load(struct ch_trainer *t, const char *folder, ch_error *error) {
    char path[RUN_PATH];
    const char *name = strrchr(folder, '/');
    ch_assert(name && run_step_of(name + 1) >= 0);
    ch_status status = run_path(path, folder, RUN_TRAINER, error);
    if (status == CH_OK) status = load_trainer(t, path, run_step_of(name + 1), error);
    if (status == CH_OK) status = run_path(path, folder, RUN_MODEL, error);
    if (status == CH_OK) status = load_model(t, path, error);
    if (status == CH_OK) t->saved_step = t->step;
    return status;
}

/* ---- the folder ---- */

/* Removes a checkpoint folder of ours; one that is not there is fine. */
static ch_status remove_checkpoint(const char *folder, ch_error *error) {
    static const char *const files[] = {RUN_MODEL, RUN_TRAINER};
    char path[RUN_PATH];
    if (!run_exists(folder)) return CH_OK;
    for (int i = 0; i < 2; i++) {
        ch_status status = run_path(path, folder, files[i], error);
        if (status != CH_OK) return status;
        unlink(path);
    }
    file_remove_leftovers(folder);
    if (rmdir(folder) != 0 && errno != ENOENT) return fail_errno(error, "cannot replace %s", folder);
    return CH_OK;
}

static ch_status fill_folder(const struct ch_trainer *t, const char *folder, ch_error *error) {
    char path[RUN_PATH];
    ch_status status = file_make_folder(folder, error);
    if (status == CH_OK) status = run_path(path, folder, RUN_MODEL, error);
    if (status == CH_OK) status = ch_model_save(t->result, path, error);
    if (status == CH_OK) status = run_path(path, folder, RUN_TRAINER, error);
    if (status == CH_OK) status = save_trainer(t, path, error);
    return status == CH_OK ? file_sync_folder(folder, error) : status;
}

/* Points `latest` or `best` at a step. */
static ch_status point(const char *checkpoints, const char *name, int64_t step, ch_error *error) {
    char path[RUN_PATH], text[32];
    int length = snprintf(text, sizeof text, "%lld\n", (long long)step);
    ch_status status = run_path(path, checkpoints, name, error);
    return status == CH_OK ? file_write(path, text, (size_t)length, error) : status;
}

/* Removes all checkpoints but this one and the best. */
static ch_status prune(const struct ch_trainer *t, const char *checkpoints, ch_error *error) {
    DIR *listing = opendir(checkpoints);
    if (!listing) return fail_errno(error, "cannot read %s", checkpoints);
    ch_status status = CH_OK;
    for (struct dirent *entry; status == CH_OK && (entry = readdir(listing));) {
        int64_t step = run_step_of(entry->d_name);
        char path[RUN_PATH];
        if (step < 0 || step == t->step || step == t->best_step) continue;
        status = run_path(path, checkpoints, entry->d_name, error);
        if (status == CH_OK) status = remove_checkpoint(path, error);
    }
    closedir(listing);
    return status;
}

/* Fills checkpoints/unfinished and gives it its name. */
static ch_status place_checkpoint(const struct ch_trainer *t, const char *checkpoints, ch_error *error) {
    char temporary[RUN_PATH], final[RUN_PATH];
    ch_status status = run_path(temporary, checkpoints, "unfinished", error);
    if (status == CH_OK) status = run_checkpoint(final, t->folder, t->step, error);
    if (status == CH_OK) status = remove_checkpoint(temporary, error);
    if (status != CH_OK) return status;
    status = fill_folder(t, temporary, error);
    if (status == CH_OK) status = remove_checkpoint(final, error); /* complete, but not yet pointed at when we died */
    if (status == CH_OK) status = file_rename(temporary, final, error);
    if (status != CH_OK) remove_checkpoint(temporary, NULL);
    return status;
}

ch_status checkpoint_save(struct ch_trainer *t, ch_error *error) {
    char checkpoints[RUN_PATH];
    ch_status status = run_path(checkpoints, t->folder, RUN_CHECKPOINTS, error);
    if (status != CH_OK) return status;
    if (t->saved_step == t->step) return prune(t, checkpoints, error); /* a run that died may not have come to it */
    status = file_make_folder(checkpoints, error);
    if (status == CH_OK) file_remove_leftovers(checkpoints);
    if (status == CH_OK) status = place_checkpoint(t, checkpoints, error);
    if (status == CH_OK && t->best_step == t->step) status = point(checkpoints, RUN_BEST, t->step, error);
    if (status == CH_OK) status = point(checkpoints, RUN_LATEST, t->step, error);
    if (status != CH_OK) return status;
    t->saved_step = t->step;
    return prune(t, checkpoints, error);
}
