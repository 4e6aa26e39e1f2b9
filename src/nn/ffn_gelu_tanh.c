/* relu's two layers with GELU's approximation by tanh between them. Hendrycks & Gimpel 2016; GPT-2's. */
#include "nn/ffn.h"

const struct ffn_variant ffn_gelu_tanh = {
    .variant = {"gelu-tanh", "two linear layers with the GELU that tanh approximates"},
    .activation = {gelu_tanh_forward, gelu_tanh_forward_slope, gelu_tanh_backward},
    .declare = two_layers_declare,
    .forward = two_layers_forward,
    .backward = two_layers_backward,
};
