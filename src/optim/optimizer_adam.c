/* Adam with two sets of constants: the lesson's and PyTorch's defaults. The formula is in kernels/optimiser.c. Kingma &
 * Ba 2015. */
#include "kernels/kernels.h"
#include "optim/optimizer.h"

struct constants {
    double beta1, beta2, epsilon;
};
static const struct constants lesson = {0.9, 0.98, 1e-9}, pytorch = {0.9, 0.999, 1e-8};
static const char *const names[] = {"m", "v"};

static void step(const struct constants *c, real *value, real *const *moment, const real *grad, real grad_scale,
                 double lr, int64_t t, size_t from, size_t count) {
    double bias1 = 1 - pow(c->beta1, (double)t), bias2 = 1 - pow(c->beta2, (double)t);
    adam_update(value + from, moment[0] + from, moment[1] + from, grad + from, grad_scale, lr, c->beta1, c->beta2,
                c->epsilon, bias1, bias2, count);
}

static void update(real *value, real *const *moment, const real *grad, real grad_scale, double lr, int64_t t,
                   size_t from, size_t count) {
    step(&lesson, value, moment, grad, grad_scale, lr, t, from, count);
}

static void update_default(real *value, real *const *moment, const real *grad, real grad_scale, double lr, int64_t t,
                           size_t from, size_t count) {
    step(&pytorch, value, moment, grad, grad_scale, lr, t, from, count);
}

const struct optimizer optimizer_adam = {
    .variant = {"adam", "betas 0.9 and 0.98, epsilon 1e-9"},
    .moments = 2,
    .moment_names = names,
    .signed_moments = 1,
    .update = update,
};

const struct optimizer optimizer_adam_default = {
    .variant = {"adam-default", "betas 0.9 and 0.999, epsilon 1e-8: PyTorch's defaults"},
    .moments = 2,
    .moment_names = names,
    .signed_moments = 1,
    .update = update_default,
};
