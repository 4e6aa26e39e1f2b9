#include "nn/norm.h"

static const struct norm_variant *const variants[] = {&norm_layernorm, &norm_rmsnorm, NULL};

const ch_variant *norm_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}

ch_status norm_declare(struct norm *norm, const struct norm_variant *variant, struct params *params, const char *name,
                       int width, bool biased, ch_error *error) {
    *norm = (struct norm){.variant = variant, .width = width, .biased = biased, .weight = -1, .bias = -1};
    return variant->declare(norm, params, name, error);
}

real *norm_forward(struct pass *pass, const struct norm *norm, const real *x, int rows, struct norm_saved *saved) {
    real *y = norm->variant->forward(pass, norm, x, rows, saved);
    profile_lap(pass->profile, OPERATION_NORM);
    return y;
}

real *norm_backward(struct pass *pass, const struct norm *norm, const real *dy, int rows,
                    const struct norm_saved *saved) {
    real *dx = norm->variant->backward(pass, norm, dy, rows, saved);
    profile_lap(pass->profile, OPERATION_NORM);
    return dx;
}
