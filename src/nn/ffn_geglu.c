/* y = dropout(gelu(x Gt) * (x Ut)) Dt. Shazeer 2020. */
#include "nn/ffn.h"

const struct ffn_variant ffn_geglu = {
    .variant = {"geglu", "gated: GELU of one linear layer times another, then a third"},
    .activation = {gelu_forward, gelu_forward_slope, gelu_backward},
    .declare = gated_declare,
    .forward = gated_forward,
    .backward = gated_backward,
};
