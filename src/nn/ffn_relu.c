/* y = dropout(relu(x W1t + b1)) W2t + b2. Vaswani et al. 2017. */
#include "nn/ffn.h"

const struct ffn_variant ffn_relu = {
    .variant = {"relu", "two linear layers with a ReLU between them"},
    .activation = {relu_forward, NULL, relu_backward},
    .declare = two_layers_declare,
    .forward = two_layers_forward,
    .backward = two_layers_backward,
};
