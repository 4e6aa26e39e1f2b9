/*
 * What whole models have in common: their recipes, and their work.
 *
 * Work is the useful arithmetic: all matrix products over real tokens, attention's over the pairs that a query sees,
 * 2 m n k each; backward is twice forward. For a source of s tokens and t decoder rows, D width, F hidden, V tokens:
 *   encoder layer  2 s D (3 D + D + 2 F) + 4 s s D
 *   decoder layer  2 t D (3 D + D + 2 F) + 4 (t (t + 1) / 2) D
 *   and its cross-attention, behind an encoder  2 t D 2 D + 2 s D 2 D + 4 t s D
 *   output         2 t D V
 * Decoding with a cache takes the same for t generated tokens, EOS included.
 */
#include "bench.h"
#include "base/memory.h"
#include "model/model.h"

double forward_flop(const ch_model *model, double s, double t) {
    const struct config *config = &model->config;
    double d = config->d_model, f = config->d_ff;
    double layer = 2 * t * d * (4 * d + 2 * f) + 4 * t * (t + 1) / 2 * d;
    if (config->arch->encoder) {
        layer += 2 * s * d * (4 * d + 2 * f) + 4 * s * s * d;
        layer += 4 * t * d * d + 4 * s * d * d + 4 * t * s * d;
    }
    return config->layers * layer + 2 * t * d * ch_model_get_info(model).vocab_size;
}

ch_status set_number(ch_recipe *recipe, const char *option, int value, ch_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%d", value);
    return ch_recipe_set(recipe, option, text, error);
}

ch_recipe *recipe_of_size(const struct size *size, int threads, ch_error *error) {
    const struct {
        const char *option;
        int value;
    } row[] = {
        {"symbols", size->symbols},
        {"min-len", size->shortest},
        {"max-len", size->longest},
        {"d-model", size->width},
        {"heads", size->heads},
        {"d-ff", size->hidden},
        {"layers", size->layers},
        {"batch-size", size->batch},
        {"threads", threads},
        {"validation", 0},
        {"average", 0}, /* as PyTorch's loop */
    };
    ch_recipe *recipe;
    ch_status status = ch_recipe_new(&recipe, error);
    for (size_t i = 0; i < sizeof row / sizeof *row && status == CH_OK; i++)
        status = set_number(recipe, row[i].option, row[i].value, error);
    if (status == CH_OK) return recipe;
    ch_recipe_free(recipe);
    return NULL;
}
