/* A recipe that says what a model is: its parts and sizes, and of a run also what its training was told of its data. */
#include "io/run_folder.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

static ch_status set_number(ch_recipe *recipe, const char *option, double value, ch_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%.15g", value); /* as a person would write it, if that is the same number */
    if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
    return ch_recipe_set(recipe, option, text, error);
}

static ch_status set_sizes(ch_recipe *recipe, const struct config *config, ch_error *error) {
    const struct attention_shape *shape = config_shape(config, CONFIG_DECODER_CROSS, 0);
    bool plain = shape->heads * shape->d_head == config->d_model, own = shape->kv_heads == shape->heads;
    const struct {
        const char *option;
        double value;
    } row[] = {
        {"symbols", config->symbols},
        {"d-model", config->d_model},
        {"heads", shape->heads},
        {"kv-heads", own ? 0 : shape->kv_heads},
        {"d-head", plain ? 0 : shape->d_head},
        {"d-ff", config->d_ff},
        {"layers", config->layers},
        {"max-positions", config->max_positions},
        {"dropout", config->dropout},
    };
    ch_status status = CH_OK;
    for (size_t i = 0; i < sizeof row / sizeof *row && status == CH_OK; i++)
        status = set_number(recipe, row[i].option, row[i].value, error);
    return status;
}

static ch_status set_parts(ch_recipe *recipe, const struct config *config, ch_error *error) {
    ch_status status = ch_recipe_set(recipe, "norm", config->norm->variant.name, error);
    if (status == CH_OK) status = ch_recipe_set(recipe, "norm-placement", config->placement->variant.name, error);
    if (status == CH_OK) status = ch_recipe_set(recipe, "position", config->position->variant.name, error);
    return status == CH_OK ? ch_recipe_set(recipe, "ffn", config->ffn->variant.name, error) : status;
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
    static const char *const known[] = {"min-len", "max-len", "init"};
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
    status = set_sizes(*out, &model->config, error);
    if (status == CH_OK) status = set_parts(*out, &model->config, error);
    if (status == CH_OK) ch_recipe_set(*out, "task", model->config.task, NULL); /* one that this build knows */
    if (status == CH_OK && path) status = set_data(*out, path, error);
    if (status == CH_OK) return CH_OK;
    ch_recipe_free(*out);
    *out = NULL;
    return status;
}
