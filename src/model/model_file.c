/* Models as safetensors: the tensors by the lesson's names, the config in the metadata. */
#include "base/memory.h"
#include "base/text.h"
#include "io/run_folder.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- saving ---- */

static struct st_item *items_of(const struct params *params) {
    struct st_item *items = mem_new((size_t)params->count, sizeof *items);
    for (int i = 0; items && i < params->count; i++) {
        const struct param *row = &params->row[i];
        items[i] = (struct st_item){
            .name = row->name, .rank = row->rank, .shape = row->shape, .data = params->value + row->offset};
    }
    return items;
}

ch_status ch_model_save(const ch_model *model, const char *path, ch_error *error) {
    struct js_value *object = config_to_json(&model->config);
    char *config = object ? js_dump(object, 0) : NULL, heads[16];
    struct st_item *items = items_of(&model->params);
    snprintf(heads, sizeof heads, "%d", ch_model_get_info(model).heads);
    struct st_pair metadata[] = {{"format", "clearhead"}, {"config", config}, {"heads", heads}};
    ch_status status = config && items ? st_write(path, items, (size_t)model->params.count, metadata,
                                                  sizeof metadata / sizeof *metadata, error)
                                       : fail_memory(error, "saving the model");
    mem_free(items);
    mem_free(config);
    js_free(object);
    return status;
}

/* ---- opening ---- */

static ch_status read_values(struct ch_model *model, const struct st_file *file, ch_error *error) {
    for (int i = 0; i < model->params.count; i++) {
        const struct param *row = &model->params.row[i];
        const struct st_tensor *tensor;
        if (!param_is_trained(row) && !st_find(file, row->name)) continue; /* a buffer: computed */
        ch_status status = st_expect(file, row->name, row->rank, row->shape, &tensor, error);
        if (status == CH_OK) status = st_read_finite(file, tensor, true, model->params.value + row->offset, error);
        if (status != CH_OK) return status;
    }
    return CH_OK;
}

/* A buffer that the file leaves out is computed, unless it is so large that a small file would take much memory. */
enum { MOST_COMPUTED = 1 << 20 };

static bool may_be_missing(const struct param *row) {
    return !param_is_trained(row) && row->count <= MOST_COMPUTED;
}

/* Every tensor that the model needs is there in its shape, and none besides: before any memory is taken. */
static ch_status check_names(const struct ch_model *model, const struct st_file *file, const char *where,
                             ch_error *error) {
    for (int i = 0; i < model->params.count; i++) {
        const struct param *row = &model->params.row[i];
        const struct st_tensor *tensor;
        if (may_be_missing(row) && !st_find(file, row->name)) continue;
        ch_status status = st_expect(file, row->name, row->rank, row->shape, &tensor, error);
        if (status != CH_OK) return status;
    }
    for (size_t i = 0; i < st_count(file); i++)
        if (!params_find(&model->params, st_tensor(file, i)->name))
            return fail(error, CH_FAILED, "%s: holds a tensor '%s' that this model has no place for", where,
                        st_tensor(file, i)->name);
    return CH_OK;
}

static ch_status read_heads(const struct st_file *file, const char *where, int *heads, ch_error *error) {
    const char *text = st_metadata(file, "heads");
    if (*heads || !text) return CH_OK;
    char *end;
    long value = strtol(text, &end, 10);
    if (!*text || *end || value < 1 || value > MOST_HEADS)
        return fail(error, CH_FAILED, "%s: metadata 'heads': expected a number of heads, found '%.40s'", where, text);
    *heads = (int)value;
    return CH_OK;
}

static ch_status read_config(struct config *config, const struct st_file *file, int heads, const char *where,
                             ch_error *error) {
    const char *text = st_metadata(file, "config"), *format = st_metadata(file, "format");
    if (format && strcmp(format, "clearhead") == 0 && text) {
        ch_status status = config_from_json(config, text, where, error);
        if (status != CH_OK || !heads || config_shape_of_all(config)->heads == heads) return status;
        int its = config_shape_of_all(config)->heads;
        status = fail(error, CH_USAGE, "%s has %d head%s, and --heads says %d", where, its, text_plural((uint64_t)its),
                      heads);
        config_free(config);
        return status;
    }
    ch_status status = read_heads(file, where, &heads, error);
    return status == CH_OK ? config_from_shapes(config, file, heads, where, error) : status;
}

static ch_status open_file(const struct st_file *file, int heads, const char *where, struct ch_model **model,
                           ch_error *error) {
    struct config config;
    ch_status status = read_config(&config, file, heads, where, error);
    if (status == CH_OK) status = model_build(&config, model, error);
    if (status != CH_OK) return status;
    status = check_names(*model, file, where, error);
    if (status == CH_OK) status = model_allocate(*model, error);
    if (status == CH_OK) status = read_values(*model, file, error);
    if (status == CH_OK) status = model_turn(*model, error);
    if (status == CH_OK) return CH_OK;
    ch_model_free(*model);
    *model = NULL;
    return status;
}

ch_status ch_model_open(const char *path, int heads, ch_model **model, ch_error *error) {
    *model = NULL;
    ch_assert(heads >= 0);
    char where[RUN_PATH];
    struct st_file *file;
    ch_status status = run_model_file(where, path, error);
    if (status == CH_OK) status = st_open(where, &file, error);
    if (status != CH_OK) return status;
    status = open_file(file, heads, where, model, error);
    st_close(file);
    return status;
}
