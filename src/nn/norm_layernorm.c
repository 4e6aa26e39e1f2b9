/* y = (x - mean) / sqrt(variance + 1e-5) * weight + bias. Ba et al. 2016; the formulas are in kernels/norms.c. */
#include "nn/norm.h"

static const double epsilon = 1e-5; /* PyTorch's default */

static ch_status declare(struct norm *norm, struct params *params, const char *name, ch_error *error) {
    struct param_spec spec = {.role = ROLE_NORM_WEIGHT, .rank = 1, .shape = {norm->width}};
    ch_status status = params_declare(params, name, "weight", spec, &norm->weight, error);
    if (status != CH_OK || !norm->biased) return status;
    spec.role = ROLE_NORM_BIAS;
    return params_declare(params, name, "bias", spec, &norm->bias, error);
}

static real *forward(struct pass *pass, const struct norm *norm, const real *x, int rows, struct norm_saved *saved) {
    real *y = pass_take(pass, (size_t)rows, (size_t)norm->width);
    *saved =
        (struct norm_saved){.x = x, .mean = pass_take(pass, (size_t)rows, 1), .rstd = pass_take(pass, (size_t)rows, 1)};
    if (pass_measures(pass)) return y;
    const real *bias = norm->biased ? pass_value(pass, norm->bias) : NULL;
    layernorm_forward(y, saved->mean, saved->rstd, x, pass_value(pass, norm->weight), bias, RC(epsilon), rows,
                      norm->width);
    return y;
}

static real *backward(struct pass *pass, const struct norm *norm, const real *dy, int rows,
                      const struct norm_saved *saved) {
    real *dx = pass_take(pass, (size_t)rows, (size_t)norm->width);
    if (pass_measures(pass)) return dx;
    real *dbias = norm->biased ? pass_grad(pass, norm->bias) : NULL;
    layernorm_backward(dx, pass_grad(pass, norm->weight), dbias, dy, saved->x, saved->mean, saved->rstd,
                       pass_value(pass, norm->weight), rows, norm->width);
    return dx;
}

const struct norm_variant norm_layernorm = {
    .variant = {"layernorm", "mean and variance of each row, with weight and bias"},
    .declare = declare,
    .forward = forward,
    .backward = backward,
};
