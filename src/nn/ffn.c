#include "nn/ffn.h"

#include <stdio.h>

static const struct ffn_variant *const variants[] = {&ffn_relu,   &ffn_gelu,  &ffn_gelu_tanh,
                                                     &ffn_swiglu, &ffn_geglu, NULL};

const ch_variant *ffn_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}

ch_status ffn_declare(struct ffn *ffn, const struct ffn_variant *variant, struct params *params, const char *name,
                      int width, int hidden, bool biased, ch_error *error) {
    *ffn = (struct ffn){.variant = variant, .width = width, .hidden = hidden, .biased = biased};
    snprintf(ffn->name, sizeof ffn->name, "%s", name);
    ffn->dropout_site = pass_site(name, "hidden");
    return variant->declare(ffn, params, error);
}

/* ---- two layers ---- */

ch_status two_layers_declare(struct ffn *ffn, struct params *params, ch_error *error) {
    bool biased = ffn->biased;
    ch_status status =
        linear_declare(&ffn->up, params, ffn->name, "net.0", ffn->width, ffn->hidden, biased, NULL, error);
    if (status != CH_OK) return status;
    return linear_declare_residual(&ffn->down, params, ffn->name, "net.3", ffn->hidden, ffn->width, biased, error);
}

/* What stands between the activation and the last layer, in both skeletons. */
static real *end(struct pass *pass, const struct ffn *ffn, real *hidden, const struct batch *batch,
                 struct ffn_saved *saved) {
    profile_lap(pass->profile, OPERATION_BIAS);
    pass_show(pass, ffn->name, "hidden", hidden, ffn->hidden, ffn->hidden, batch);
    saved->hidden = hidden;
    dropout_layer_in_place(pass, ffn->dropout_site, hidden, batch, ffn->hidden, &saved->dropout);
    return linear_forward(pass, &ffn->down, hidden, batch->rows);
}

static real *end_backward(struct pass *pass, const struct ffn *ffn, const real *dy, int rows,
                          const struct ffn_saved *saved) {
    real *dhidden = linear_backward(pass, &ffn->down, dy, saved->hidden, rows);
    dropout_layer_backward_in_place(pass, dhidden, rows, &saved->dropout);
    pass_show_gradient(pass, ffn->name, "hidden", dhidden, ffn->hidden, ffn->hidden, rows);
    return dhidden;
}

real *two_layers_forward(struct pass *pass, const struct ffn *ffn, const real *x, const struct batch *batch,
                         struct ffn_saved *saved) {
    const struct activation *activation = &ffn->variant->activation;
    size_t count = (size_t)batch->rows * (size_t)ffn->hidden;
    real *before = linear_forward(pass, &ffn->up, x, batch->rows), *hidden = before;
    bool slope = pass->grad && activation->forward_slope;
    if (slope) hidden = pass_take(pass, (size_t)batch->rows, (size_t)ffn->hidden);
    if (!pass_measures(pass) && slope) activation->forward_slope(hidden, before, count);
    if (!pass_measures(pass) && !slope) activation->forward(hidden, before, count);
    *saved = (struct ffn_saved){.x = x, .before = before};
    return end(pass, ffn, hidden, batch, saved);
}

/* What was dropped has a gradient of 0 already, so that ReLU's derivative can be read off what dropout left. */
real *two_layers_backward(struct pass *pass, const struct ffn *ffn, const real *dy, int rows,
                          const struct ffn_saved *saved) {
    const struct activation *activation = &ffn->variant->activation;
    size_t count = (size_t)rows * (size_t)ffn->hidden;
    real *dhidden = end_backward(pass, ffn, dy, rows, saved);
    if (!pass_measures(pass) && activation->forward_slope) multiply_by(dhidden, saved->before, count);
    if (!pass_measures(pass) && !activation->forward_slope)
        activation->backward(dhidden, dhidden, saved->before, count);
    profile_lap(pass->profile, OPERATION_BIAS);
    return linear_backward(pass, &ffn->up, dhidden, saved->x, rows);
}

/* ---- gated: row by row, the gate's half of the joined product and then up's ---- */

ch_status gated_declare(struct ffn *ffn, struct params *params, ch_error *error) {
    int width = ffn->width, hidden = ffn->hidden;
    ch_status status = linear_declare(&ffn->gate, params, ffn->name, "gate", width, hidden, false, NULL, error);
    if (status == CH_OK)
        status = linear_declare(&ffn->up, params, ffn->name, "up", width, hidden, false, &ffn->gate, error);
    if (status != CH_OK) return status;
    ffn->joined = linear_joined(&ffn->gate, 2 * hidden);
    return linear_declare_residual(&ffn->down, params, ffn->name, "down", hidden, width, false, error);
}

real *gated_forward(struct pass *pass, const struct ffn *ffn, const real *x, const struct batch *batch,
                    struct ffn_saved *saved) {
    size_t channels = (size_t)ffn->hidden;
    const real *gate = linear_forward(pass, &ffn->joined, x, batch->rows), *up = gate + channels;
    real *hidden = pass_take(pass, (size_t)batch->rows, channels);
    pass_show(pass, ffn->name, "gate", gate, ffn->joined.out, ffn->hidden, batch);
    pass_show(pass, ffn->name, "up", up, ffn->joined.out, ffn->hidden, batch);
    *saved = (struct ffn_saved){.x = x, .before = gate};
    for (size_t n = 0; n < (size_t)batch->rows && !pass_measures(pass); n++) {
        ffn->variant->activation.forward(hidden + n * channels, gate + 2 * n * channels, channels);
        multiply_by(hidden + n * channels, up + 2 * n * channels, channels);
    }
    return end(pass, ffn, hidden, batch, saved);
}

/* dup = dhidden * act(gate), dgate = dhidden * up * act'(gate); dhidden is used up. */
static void gated_row_backward(const struct activation *activation, real *dgate, real *dhidden, const real *gate,
                               size_t channels) {
    real *dup = dgate + channels;
    activation->forward(dup, gate, channels);
    multiply_by(dup, dhidden, channels);
    multiply_by(dhidden, gate + channels, channels);
    activation->backward(dgate, dhidden, gate, channels);
}

real *gated_backward(struct pass *pass, const struct ffn *ffn, const real *dy, int rows,
                     const struct ffn_saved *saved) {
    size_t channels = (size_t)ffn->hidden;
    real *dhidden = end_backward(pass, ffn, dy, rows, saved);
    real *dgate = pass_take(pass, (size_t)rows, 2 * channels);
    for (size_t n = 0; n < (size_t)rows && !pass_measures(pass); n++)
        gated_row_backward(&ffn->variant->activation, dgate + 2 * n * channels, dhidden + n * channels,
                           saved->before + 2 * n * channels, channels);
    profile_lap(pass->profile, OPERATION_BIAS);
    pass_show_gradient(pass, ffn->name, "up", dgate + channels, ffn->joined.out, ffn->hidden, rows);
    pass_show_gradient(pass, ffn->name, "gate", dgate, ffn->joined.out, ffn->hidden, rows);
    return linear_backward(pass, &ffn->joined, dgate, saved->x, rows);
}
