/* y = dropout(silu(x Gt) * (x Ut)) Dt, silu(x) = x sigmoid(x). Shazeer 2020; Llama's. */
#include "nn/ffn.h"

const struct ffn_variant ffn_swiglu = {
    .variant = {"swiglu", "gated: SiLU of one linear layer times another, then a third"},
    .activation = {silu_forward, silu_forward_slope, silu_backward},
    .declare = gated_declare,
    .forward = gated_forward,
    .backward = gated_backward,
};
