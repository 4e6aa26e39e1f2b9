/* Family bias: which layers have one. */
#ifndef CH_NN_BIAS_H
#define CH_NN_BIAS_H

#include "base/family.h"

#include <stdbool.h>

struct bias_variant {
    ch_variant variant;
    bool projections; /* W_q, W_k, W_v and W_o of every attention */
    bool others;      /* feed-forwards and norms that know one */
    bool output;      /* the layer that gives logits */
};

extern const struct bias_variant bias_all, bias_no_attention, bias_no_output, bias_none;
const ch_variant *bias_row(size_t i);

#endif
