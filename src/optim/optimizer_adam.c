/* Adam with the lesson's constants; the formula is in kernels/optimiser.c. Kingma & Ba 2015. */
#include "kernels/kernels.h"
#include "optim/optimizer.h"

static const double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9;
static const char *const names[] = {"m", "v"};

static void update(real *value, real *const *moment, const real *grad, real grad_scale, double lr, int64_t t,
                   size_t from, size_t count) {
    double bias1 = 1 - pow(beta1, (double)t), bias2 = 1 - pow(beta2, (double)t);
    adam_update(value + from, moment[0] + from, moment[1] + from, grad + from, grad_scale, lr, beta1, beta2, epsilon,
                bias1, bias2, count);
}

const struct optimizer optimizer_adam = {
    .variant = {"adam", "betas 0.9 and 0.98, epsilon 1e-9"},
    .moments = 2,
    .moment_names = names,
    .update = update,
};
