/* y = dropout(relu(x W1t + b1)) W2t + b2. Vaswani et al. 2017; names as in the lesson's nn.Sequential. */
#include "nn/ffn.h"

static ch_status declare(struct ffn *ffn, struct params *params, ch_error *error) {
    ch_status status = linear_declare(&ffn->up, params, ffn->name, "net.0", ffn->width, ffn->hidden, true, NULL, error);
    if (status != CH_OK) return status;
    return linear_declare(&ffn->down, params, ffn->name, "net.3", ffn->hidden, ffn->width, true, NULL, error);
}

static real *forward(struct pass *pass, const struct ffn *ffn, const real *x, const struct batch *batch,
                     struct ffn_saved *saved) {
    real *hidden = linear_forward(pass, &ffn->up, x, batch->rows);
    if (!pass_measures(pass)) relu_forward(hidden, hidden, (size_t)batch->rows * (size_t)ffn->hidden);
    profile_lap(pass->profile, OPERATION_BIAS);
    pass_show(pass, ffn->name, "hidden", hidden, ffn->hidden, ffn->hidden, batch);
    *saved = (struct ffn_saved){.x = x, .hidden = hidden};
    dropout_layer_in_place(pass, ffn->dropout_site, hidden, batch, ffn->hidden, &saved->dropout);
    return linear_forward(pass, &ffn->down, hidden, batch->rows);
}

/* What was dropped is 0 in hidden and has a gradient of 0 already, so ReLU's derivative can be read off it as it is. */
static real *backward(struct pass *pass, const struct ffn *ffn, const real *dy, int rows,
                      const struct ffn_saved *saved) {
    real *dhidden = linear_backward(pass, &ffn->down, dy, saved->hidden, rows);
    dropout_layer_backward_in_place(pass, dhidden, rows, &saved->dropout);
    pass_show_gradient(pass, ffn->name, "hidden", dhidden, ffn->hidden, ffn->hidden, rows);
    if (!pass_measures(pass)) relu_backward(dhidden, dhidden, saved->hidden, (size_t)rows * (size_t)ffn->hidden);
    profile_lap(pass->profile, OPERATION_BIAS);
    return linear_backward(pass, &ffn->up, dhidden, saved->x, rows);
}

const struct ffn_variant ffn_relu = {
    .variant = {"relu", "two linear layers with a ReLU between them"},
    .declare = declare,
    .forward = forward,
    .backward = backward,
};
