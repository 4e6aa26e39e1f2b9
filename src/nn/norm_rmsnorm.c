/* y = x / sqrt(mean(x^2) + 1e-5) * weight. Zhang & Sennrich 2019; the formulas are in kernels/norms.c. */
#include "nn/norm.h"

static const double epsilon = 1e-5; /* Llama's */

static ch_status declare(struct norm *norm, struct params *params, const char *name, ch_error *error) {
    struct param_spec spec = {.role = ROLE_NORM_WEIGHT, .rank = 1, .shape = {norm->width}};
    return params_declare(params, name, "weight", spec, &norm->weight, error);
}

static real *forward(struct pass *pass, const struct norm *norm, const real *x, int rows, struct norm_saved *saved) {
    real *y = pass_take(pass, (size_t)rows, (size_t)norm->width);
    *saved = (struct norm_saved){.x = x, .rstd = pass_take(pass, (size_t)rows, 1)};
    if (pass_measures(pass)) return y;
    rmsnorm_forward(y, saved->rstd, x, pass_value(pass, norm->weight), RC(epsilon), rows, norm->width);
    return y;
}

static real *backward(struct pass *pass, const struct norm *norm, const real *dy, int rows,
                      const struct norm_saved *saved) {
    real *dx = pass_take(pass, (size_t)rows, (size_t)norm->width);
    if (pass_measures(pass)) return dx;
    rmsnorm_backward(dx, pass_grad(pass, norm->weight), dy, saved->x, saved->rstd, pass_value(pass, norm->weight), rows,
                     norm->width);
    return dx;
}

const struct norm_variant norm_rmsnorm = {
    .variant = {"rmsnorm", "root mean square of each row, with weight; no mean, no bias"},
    .declare = declare,
    .forward = forward,
    .backward = backward,
};
