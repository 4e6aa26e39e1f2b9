/* The list of families, and who draws random numbers. */
#include "plot/format.h"
#include "recipe/recipe.h"

#include <string.h>

static const struct rng_variant philox_rng = {{"philox", "counter-based: the same numbers on any number of threads"},
                                              false};
static const struct rng_variant torch_rng = {{"torch", "PyTorch's CPU generator in PyTorch's order, one thread"}, true};
static const struct rng_variant *const rngs[] = {&philox_rng, &torch_rng, NULL};

const ch_variant *rng_row(size_t i) {
    return rngs[i] ? &rngs[i]->variant : NULL;
}

static const struct {
    const char *name;
    family_row row;
} families[] = {
    {"task", task_row},
    {"tokens", text_tokens_row},
    {"framing", framing_row},
    {"preset", preset_row},
    {"arch", arch_row},
    {"head", head_row},
    {"norm", norm_row},
    {"norm-placement", norm_placement_row},
    {"position", position_row},
    {"rope-scaling", rope_scaling_row},
    {"ffn", ffn_row},
    {"embedding-scale", embedding_scale_row},
    {"tie", tie_row},
    {"bias", bias_row},
    {"attention", attention_core_row},
    {"init", init_row},
    {"optimizer", optimizer_row},
    {"schedule", schedule_row},
    {"rng", rng_row},
    {"plot", plot_format_row},
};

enum { FAMILIES = sizeof families / sizeof *families };

const char *ch_family_name(size_t i) {
    return i < FAMILIES ? families[i].name : NULL;
}

const ch_variant *ch_family_variant(const char *family, size_t i) {
    for (size_t f = 0; f < FAMILIES; f++) {
        if (strcmp(families[f].name, family) != 0) continue;
        const ch_variant *row = families[f].row(0);
        for (size_t at = 0; row && at < i;) row = families[f].row(++at);
        return row;
    }
    return NULL;
}
