#include "nn/dropout.h"

/* Memory for the mask; false where nothing is dropped. */
static bool begin(struct pass *pass, uint32_t site, const struct batch *batch, int channels,
                  struct dropout_saved *saved) {
    *saved = (struct dropout_saved){.channels = channels};
    saved->dropout = pass_dropout_rows(pass, site, batch, channels);
    if (saved->dropout.rate == 0) return false;
    saved->keep = arena_take(pass->arena, (size_t)batch->rows, (size_t)channels);
    return true;
}

real *dropout_layer_forward(struct pass *pass, uint32_t site, real *x, const struct batch *batch, int channels,
                            struct dropout_saved *saved) {
    if (!begin(pass, site, batch, channels, saved)) return x;
    real *y = pass_take(pass, (size_t)batch->rows, (size_t)channels);
    if (!pass_measures(pass)) dropout_forward(y, saved->keep, x, &saved->dropout, batch, channels);
    profile_lap(pass->profile, OPERATION_DROPOUT);
    return y;
}

void dropout_layer_in_place(struct pass *pass, uint32_t site, real *x, const struct batch *batch, int channels,
                            struct dropout_saved *saved) {
    if (!begin(pass, site, batch, channels, saved) || pass_measures(pass)) return;
    dropout_forward(x, saved->keep, x, &saved->dropout, batch, channels);
    profile_lap(pass->profile, OPERATION_DROPOUT);
}

void dropout_layer_backward_in_place(struct pass *pass, real *dx, int rows, const struct dropout_saved *saved) {
    if (saved->dropout.rate == 0 || pass_measures(pass)) return;
    dropout_backward(dx, dx, saved->keep, &saved->dropout, (size_t)rows * (size_t)saved->channels);
    profile_lap(pass->profile, OPERATION_DROPOUT);
}

void dropout_layer_add(struct pass *pass, uint32_t site, real *x, const real *residual, const struct batch *batch,
                       int channels, struct dropout_saved *saved) {
    bool drops = begin(pass, site, batch, channels, saved);
    if (pass_measures(pass)) return;
    if (drops)
        dropout_add_forward(x, saved->keep, x, residual, &saved->dropout, batch, channels);
    else
        add(x, residual, (size_t)batch->rows * (size_t)channels);
    profile_lap(pass->profile, OPERATION_DROPOUT);
}

real *dropout_layer_backward(struct pass *pass, real *dy, int rows, const struct dropout_saved *saved) {
    if (saved->dropout.rate == 0) return dy;
    real *dx = pass_take(pass, (size_t)rows, (size_t)saved->channels);
    if (pass_measures(pass)) return dx;
    dropout_backward(dx, dy, saved->keep, &saved->dropout, (size_t)rows * (size_t)saved->channels);
    profile_lap(pass->profile, OPERATION_DROPOUT);
    return dx;
}
