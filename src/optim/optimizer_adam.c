/*
 * Adam, Kingma & Ba 2015, with the lesson's constants and with PyTorch's; and AdamW, Loshchilov & Hutter 2019, which is
 * Adam with weights that shrink beforehand (decay.c). The formula is in kernels/optimiser.c.
 */
#include "kernels/kernels.h"
#include "optim/optimizer.h"

static const char *const names[] = {"m", "v"};

static void update(const struct optimizer_constants *c, real *value, real *const *moment, const real *grad,
                   real grad_scale, double lr, int64_t t, size_t from, size_t count) {
    double bias1 = 1 - pow(c->beta1, (double)t), bias2 = 1 - pow(c->beta2, (double)t);
    adam_update(value + from, moment[0] + from, moment[1] + from, grad + from, grad_scale, lr, c->beta1, c->beta2,
                c->epsilon, bias1, bias2, count);
}

#define ADAM .moments = 2, .moment_names = names, .signed_moments = 1, .update = update

const struct optimizer optimizer_adam = {
    .variant = {"adam", "betas 0.9 and 0.98, epsilon 1e-9"},
    .own = {0.9, 0.98, 1e-9},
    ADAM,
};

const struct optimizer optimizer_adam_default = {
    .variant = {"adam-default", "betas 0.9 and 0.999, epsilon 1e-8: PyTorch's defaults"},
    .own = {0.9, 0.999, 1e-8},
    ADAM,
};

const struct optimizer optimizer_adamw = {
    .variant = {"adamw", "adam-default with decoupled weight decay of matrices; PyTorch's AdamW"},
    .own = {0.9, 0.999, 1e-8},
    .decays = true,
    ADAM,
};
