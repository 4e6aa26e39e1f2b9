/* relu's two layers with gelu(x) = x Phi(x) between them. Hendrycks & Gimpel 2016; BERT's. */
#include "nn/ffn.h"

const struct ffn_variant ffn_gelu = {
    .variant = {"gelu", "two linear layers with a GELU (exact, by erf) between them"},
    .activation = {gelu_forward, gelu_forward_slope, gelu_backward},
    .declare = two_layers_declare,
    .forward = two_layers_forward,
    .backward = two_layers_backward,
};
