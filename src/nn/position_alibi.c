/*
 * s(i, j) - m_h |p_i - j|: keys lose the farther away they stand, each head h by its own slope m_h. Press et al. 2022;
 * a decoder sees no keys ahead, so that its distance is p_i - j. Nothing is trained and nothing is kept in a file.
 */
#include "nn/position.h"

static void bias(struct pass *pass, struct position_bias own, struct scores *scores) {
    real *slope = pass_take(pass, (size_t)own.heads, 1);
    if (!pass_measures(pass)) alibi_slopes(slope, own.heads);
    scores->bias = SCORE_BIAS_ALIBI;
    scores->slope = slope;
}

const struct position_variant position_alibi = {
    .variant = {"alibi", "scores fall with distance, at a slope of each head's own"},
    .can_extend = true,
    .bias = bias,
};
