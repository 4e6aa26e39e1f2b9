/* A recipe that says what a model is: its parts and sizes, and of a run also what its training was told of its data. */
#include "io/run_folder.h"
#include "model/config_rows.h"
#include "model/model.h"

#include <stdio.h>

static ch_status set_size(ch_recipe *recipe, const char *option, int value, ch_error *error) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return ch_recipe_set(recipe, option, text, error);
}

/* Those of all attentions, where they differ those of the first. */
static ch_status set_heads(ch_recipe *recipe, const struct config *config, ch_error *error) {
    const struct attention_shape *shape = config_shape_of_all(config);
    bool plain = shape->heads * shape->d_head == config->d_model, own = shape->kv_heads == shape->heads;
    ch_status status = set_size(recipe, "heads", shape->heads, error);
    if (status == CH_OK) status = set_size(recipe, "kv-heads", own ? 0 : shape->kv_heads, error);
    return status == CH_OK ? set_size(recipe, "d-head", plain ? 0 : shape->d_head, error) : status;
}

static ch_status set_rows(ch_recipe *recipe, const struct config *config, ch_error *error) {
    const struct config_row *row;
    ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && (row = config_row(i)); i++) {
        char text[CONFIG_TEXT];
        config_row_text(config, row, text);
        status = ch_recipe_set(recipe, row->option, text, error);
    }
    return status;
}

/* The recipe of a run folder, or of the run whose checkpoint's folder it is; "" if there is none. */
static ch_status find_recipe(char *file, const char *path, ch_error *error) {
    ch_status status = run_path(file, path, RUN_TRAINER, error);
    const char *place = status == CH_OK && run_exists(file) ? "../../" RUN_RECIPE : RUN_RECIPE;
    if (status == CH_OK) status = run_path(file, path, place, error);
    if (status == CH_OK && !run_exists(file)) *file = '\0';
    return status;
}

/* What a run's recipe knows and its model does not. */
static ch_status set_data(ch_recipe *recipe, const char *path, ch_error *error) {
    static const char *const known[] = {"min-len", "max-len", "init", "text", "tokens", "framing", "held-out"};
    char file[RUN_PATH];
    ch_recipe *run;
    ch_status status = find_recipe(file, path, error);
    if (status != CH_OK || !*file) return status;
    status = ch_recipe_new(&run, error);
    if (status != CH_OK) return status;
    status = ch_recipe_read(run, file, error);
    for (size_t i = 0; i < sizeof known / sizeof *known && status == CH_OK; i++)
        status = ch_recipe_set(recipe, known[i], ch_recipe_get(run, known[i]), error);
    ch_recipe_free(run);
    return status;
}

ch_status ch_model_recipe(const ch_model *model, const char *path, ch_recipe **out, ch_error *error) {
    ch_status status = ch_recipe_new(out, error);
    if (status != CH_OK) return status;
    status = set_rows(*out, &model->config, error);
    if (status == CH_OK) status = set_heads(*out, &model->config, error);
    if (status == CH_OK) ch_recipe_set(*out, "task", model->config.task, NULL); /* one that this build knows */
    if (status == CH_OK && path) status = set_data(*out, path, error);
    if (status == CH_OK) return CH_OK;
    ch_recipe_free(*out);
    *out = NULL;
    return status;
}
