#include "model/config_rows.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

struct attention_shape *config_shape(const struct config *config, enum config_attention which, int layer) {
    return &config->shape[(int)which * config->layers + layer];
}

struct position_sizes config_position(const struct config *config) {
    return (struct position_sizes){.width = config->d_model,
                                   .max_positions = config->max_positions,
                                   .d_head = config_shape(config, CONFIG_ENCODER_SELF, 0)->d_head,
                                   .rope = config->rope};
}

int config_longest(const struct config *config) {
    return config->position->can_extend ? MOST_POSITIONS : config->max_positions;
}

static int attentions(const struct config *config) {
    return CONFIG_ATTENTIONS * config->layers;
}

static ch_status new_shapes(struct config *config, ch_error *error) {
    config->shape = mem_new((size_t)attentions(config), sizeof *config->shape);
    return config->shape ? CH_OK : fail_memory(error, "the model's shapes");
}

ch_status config_shapes(struct config *config, int heads, int kv_heads, int d_head, ch_error *error) {
    ch_status status = new_shapes(config, error);
    for (int i = 0; i < attentions(config) && status == CH_OK; i++)
        if (!attention_shape_uniform(&config->shape[i], heads, kv_heads, d_head))
            status = fail_memory(error, "the model's shapes");
    if (status != CH_OK) config_free(config);
    return status;
}

ch_status config_uniform(struct config *config, int heads, ch_error *error) {
    return config_shapes(config, heads, heads, config->d_model / heads, error);
}

ch_status config_of_recipe(struct config *config, const ch_recipe *recipe, ch_error *error) {
    ch_status status = ch_recipe_check(recipe, error);
    if (status != CH_OK) return status;
    *config = (struct config){0};
    const struct config_row *row;
    for (size_t i = 0; (row = config_row(i)); i++) config_row_set(config, row, ch_recipe_get(recipe, row->option));
    snprintf(config->task, sizeof config->task, "%s", recipe->task->variant.name);
    return config_shapes(config, (int)recipe->heads, recipe_kv_heads(recipe), recipe_d_head(recipe), error);
}

ch_status config_copy(struct config *to, const struct config *from, ch_error *error) {
    *to = *from;
    ch_status status = new_shapes(to, error);
    for (int i = 0; i < attentions(from) && status == CH_OK; i++)
        if (!attention_shape_copy(&to->shape[i], &from->shape[i])) status = fail_memory(error, "the model's shapes");
    if (status != CH_OK) config_free(to);
    return status;
}

void config_free(struct config *config) {
    for (int i = 0; config->shape && i < attentions(config); i++) attention_shape_free(&config->shape[i]);
    mem_free(config->shape);
    config->shape = NULL;
}

static bool same_shape(const struct attention_shape *a, const struct attention_shape *b) {
    size_t list = (size_t)a->heads * sizeof(int);
    return a->heads == b->heads && a->kv_heads == b->kv_heads && a->d_head == b->d_head &&
           a->original_heads == b->original_heads && memcmp(a->kv_of_head, b->kv_of_head, list) == 0 &&
           memcmp(a->original_head, b->original_head, list) == 0;
}

bool config_same(const struct config *a, const struct config *b) {
    bool same = strcmp(a->task, b->task) == 0;
    const struct config_row *row;
    for (size_t i = 0; same && (row = config_row(i)); i++) same = config_row_same(a, b, row);
    for (int i = 0; same && i < attentions(a); i++) same = same_shape(&a->shape[i], &b->shape[i]);
    return same;
}
