#include "nn/linear.h"
#include "kernels/gemm.h"

#include <stdio.h>

static ch_status declare_bias(struct linear *linear, struct params *params, const char *prefix, const char *name,
                              const struct linear *behind, ch_error *error) {
    char row[PARAM_NAME];
    snprintf(row, sizeof row, "%s.bias", name);
    struct param_spec spec = {.role = ROLE_LINEAR_BIAS,
                              .rank = 1,
                              .shape = {linear->out},
                              .fan_in = linear->in,
                              .together_plus_1 = behind ? behind->bias + 1 : 0};
    return params_declare(params, prefix, row, spec, &linear->bias, error);
}

ch_status linear_declare(struct linear *linear, struct params *params, const char *prefix, const char *name, int in,
                         int out, bool bias, const struct linear *behind, ch_error *error) {
    *linear = (struct linear){.bias = -1, .in = in, .out = out};
    char row[PARAM_NAME];
    snprintf(row, sizeof row, "%s.weight", name);
    struct param_spec spec = {.role = ROLE_LINEAR_WEIGHT,
                              .rank = 2,
                              .shape = {out, in},
                              .fan_in = in,
                              .together_plus_1 = behind ? behind->weight + 1 : 0};
    ch_status status = params_declare(params, prefix, row, spec, &linear->weight, error);
    return status == CH_OK && bias ? declare_bias(linear, params, prefix, name, behind, error) : status;
}

ch_status linear_declare_tied(struct linear *linear, struct params *params, const char *prefix, const char *name,
                              int in, int out, bool bias, int weight, ch_error *error) {
    *linear = (struct linear){.weight = weight, .bias = -1, .in = in, .out = out};
    params_share(params, weight, ROLE_LINEAR_WEIGHT);
    return bias ? declare_bias(linear, params, prefix, name, NULL, error) : CH_OK;
}

ch_status linear_declare_residual(struct linear *linear, struct params *params, const char *prefix, const char *name,
                                  int in, int out, bool bias, ch_error *error) {
    ch_status status = linear_declare(linear, params, prefix, name, in, out, bias, NULL, error);
    if (status == CH_OK) params->row[linear->weight].residual = true;
    return status;
}

struct linear linear_joined(const struct linear *first, int out) {
    struct linear joined = *first;
    joined.out = out;
    return joined;
}

/* y without the bias */
static void multiply(const struct pass *pass, const struct linear *linear, real *y, const real *x, int rows) {
    int in = linear->in, out = linear->out;
    if (pass->turned)
        gemm(GEMM_N, GEMM_N, rows, out, in, x, in, pass->turned + pass->params->row[linear->weight].offset, out, false,
             y, out);
    else
        gemm(GEMM_N, GEMM_T, rows, out, in, x, in, pass_value(pass, linear->weight), in, false, y, out);
}

real *linear_forward(struct pass *pass, const struct linear *linear, const real *x, int rows) {
    real *y = pass_take(pass, (size_t)rows, (size_t)linear->out);
    if (pass_measures(pass)) return y;
    const real *bias = linear->bias >= 0 ? pass_value(pass, linear->bias) : NULL;
    if (pass->turned && rows <= FEW_ROWS) {
        const real *weight = pass->turned + pass->params->row[linear->weight].offset;
        few_rows_product(y, x, weight, bias, rows, linear->in, linear->out);
        profile_lap(pass->profile, OPERATION_PRODUCTS);
        return y;
    }
    multiply(pass, linear, y, x, rows);
    profile_lap(pass->profile, OPERATION_PRODUCTS);
    if (bias) bias_forward(y, bias, rows, linear->out);
    profile_lap(pass->profile, OPERATION_BIAS);
    return y;
}

real *linear_backward(struct pass *pass, const struct linear *linear, const real *dy, const real *x, int rows) {
    int in = linear->in, out = linear->out;
    real *dx = pass_take(pass, (size_t)rows, (size_t)in);
    if (pass_measures(pass)) return dx;
    gemm(GEMM_N, GEMM_N, rows, in, out, dy, out, pass_value(pass, linear->weight), in, false, dx, in);
    gemm(GEMM_T, GEMM_N, out, in, rows, dy, out, x, in, !pass->fresh, pass_grad(pass, linear->weight), in);
    profile_lap(pass->profile, OPERATION_PRODUCTS);
    if (linear->bias >= 0) bias_backward(pass_grad(pass, linear->bias), dy, rows, out);
    profile_lap(pass->profile, OPERATION_BIAS);
    return dx;
}
