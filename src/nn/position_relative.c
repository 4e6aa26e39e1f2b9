/*
 * s(i, j) + table[bucket(j - p_i)][h]: a trained number for each bucket of distances and each head. Raffel et al. 2020
 * (T5), whose layers share a table for each stack; with a table for each layer, too. An encoder's buckets know both
 * directions, a decoder's one. T5 does not divide its scores by sqrt(Dh); ours are divided, as everywhere here.
 */
#include "nn/position.h"

static void bias(struct pass *pass, struct position_bias own, struct scores *scores) {
    scores->bias = SCORE_BIAS_BUCKETS;
    scores->buckets = (struct score_buckets){.heads = (int)pass->params->row[own.table].shape[1],
                                             .count = SCORE_BUCKETS,
                                             .max_distance = SCORE_MAX_DISTANCE,
                                             .bidirectional = !scores->causal};
    if (pass_measures(pass)) return;
    scores->buckets.table = pass_value(pass, own.table);
    scores->buckets.dtable = pass->grad ? pass_grad(pass, own.table) : NULL;
}

const struct position_variant position_relative_bias = {
    .variant = {"relative-bias", "T5's: a trained number for each range of distances; layers of a stack share them"},
    .can_extend = true,
    .scope = POSITION_OF_STACK,
    .bias = bias,
};

const struct position_variant position_relative_bias_per_layer = {
    .variant = {"relative-bias-per-layer", "the same with numbers of each layer's own"},
    .can_extend = true,
    .scope = POSITION_OF_ATTENTION,
    .bias = bias,
};
