#include "model/config_rows.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

bool config_has(const struct config *config, enum config_attention which) {
    switch (which) {
    case CONFIG_ENCODER_SELF:
        return config->arch->encoder;
    case CONFIG_DECODER_SELF:
        return config->arch->decoder;
    case CONFIG_DECODER_CROSS:
        return config->arch->encoder && config->arch->decoder;
    case CONFIG_ATTENTIONS:
        break;
    }
    return false;
}

/* Kinds before `end` that the assembly has. */
static int kinds_before(const struct config *config, enum config_attention end) {
    int kinds = 0;
    for (enum config_attention which = CONFIG_ENCODER_SELF; which < end; which++) kinds += config_has(config, which);
    return kinds;
}

int config_attentions(const struct config *config) {
    return kinds_before(config, CONFIG_ATTENTIONS) * config->layers;
}

const char *config_attention_name(const struct config *config, enum config_attention which) {
    static const char *const names[CONFIG_ATTENTIONS] = {"enc.%d.attn", "dec.%d.self_attn", "dec.%d.cross_attn"};
    return which == CONFIG_DECODER_SELF && !config->arch->encoder ? "dec.%d.attn" : names[which];
}

struct attention_shape *config_shape(const struct config *config, enum config_attention which, int layer) {
    ch_assert(config_has(config, which));
    return &config->shape[kinds_before(config, which) * config->layers + layer];
}

const struct attention_shape *config_shape_of_all(const struct config *config) {
    return &config->shape[(kinds_before(config, CONFIG_ATTENTIONS) - 1) * config->layers];
}

struct position_sizes config_position(const struct config *config) {
    return (struct position_sizes){.width = config->d_model,
                                   .max_positions = config->max_positions,
                                   .d_head = config->shape[0].d_head,
                                   .rope = config->rope};
}

int config_longest(const struct config *config) {
    return config->position->can_extend ? MOST_POSITIONS : config->max_positions;
}

static ch_status new_shapes(struct config *config, ch_error *error) {
    config->shape = mem_new((size_t)config_attentions(config), sizeof *config->shape);
    return config->shape ? CH_OK : fail_memory(error, "the model's shapes");
}

ch_status config_shapes(struct config *config, int heads, int kv_heads, int d_head, ch_error *error) {
    ch_status status = new_shapes(config, error);
    for (int i = 0; i < config_attentions(config) && status == CH_OK; i++)
        if (!attention_shape_uniform(&config->shape[i], heads, kv_heads, d_head))
            status = fail_memory(error, "the model's shapes");
    if (status != CH_OK) config_free(config);
    return status;
}

ch_status config_uniform(struct config *config, int heads, ch_error *error) {
    return config_shapes(config, heads, heads, config->d_model / heads, error);
}

ch_status config_of_recipe(struct config *config, const ch_recipe *recipe, const struct vocab_plan *vocab,
                           ch_error *error) {
    ch_status status = ch_recipe_check(recipe, error);
    if (status != CH_OK) return status;
    *config = (struct config){0};
    const struct config_row *row;
    for (size_t i = 0; (row = config_row(i)); i++) config_row_set(config, row, ch_recipe_get(recipe, row->option));
    config->head = recipe_head(recipe);
    config->classes = config->head->classes ? recipe->task->classes : 0;
    snprintf(config->task, sizeof config->task, "%s",
             recipe_has_text(recipe) ? CONFIG_TEXT_TASK : recipe->task->variant.name);
    status = config_set_vocab(config, vocab, error);
    if (status != CH_OK) return status;
    return config_shapes(config, (int)recipe->heads, recipe_kv_heads(recipe), recipe_d_head(recipe), error);
}

ch_status config_copy(struct config *to, const struct config *from, ch_error *error) {
    *to = *from;
    to->shape = NULL;
    to->characters = NULL;
    struct vocab_plan plan = config_vocab(from);
    ch_status status = config_set_vocab(to, &plan, error);
    if (status == CH_OK) status = new_shapes(to, error);
    for (int i = 0; i < config_attentions(from) && status == CH_OK; i++)
        if (!attention_shape_copy(&to->shape[i], &from->shape[i])) status = fail_memory(error, "the model's shapes");
    if (status != CH_OK) config_free(to);
    return status;
}

void config_free(struct config *config) {
    for (int i = 0; config->shape && i < config_attentions(config); i++) attention_shape_free(&config->shape[i]);
    mem_free(config->shape);
    config->shape = NULL;
    mem_free(config->characters);
    config->characters = NULL;
}

static bool same_shape(const struct attention_shape *a, const struct attention_shape *b) {
    size_t list = (size_t)a->heads * sizeof(int);
    return a->heads == b->heads && a->kv_heads == b->kv_heads && a->d_head == b->d_head &&
           a->original_heads == b->original_heads && memcmp(a->kv_of_head, b->kv_of_head, list) == 0 &&
           memcmp(a->original_head, b->original_head, list) == 0;
}

static bool same_vocab(const struct config *a, const struct config *b) {
    struct vocab_plan x = config_vocab(a), y = config_vocab(b);
    bool same = x.tokens == y.tokens && x.symbols == y.symbols && x.specials == y.specials;
    return same && (!x.characters || strcmp(x.characters, y.characters) == 0);
}

bool config_same(const struct config *a, const struct config *b) {
    bool same = a->head == b->head && a->classes == b->classes && strcmp(a->task, b->task) == 0 && same_vocab(a, b);
    const struct config_row *row;
    for (size_t i = 0; same && (row = config_row(i)); i++) same = config_row_same(a, b, row);
    for (int i = 0; same && i < config_attentions(a); i++) same = same_shape(&a->shape[i], &b->shape[i]);
    return same;
}
