/* Family optimizer: how a gradient moves the parameters. Walks the parameter table's block, which is one array. */
#ifndef CH_OPTIM_OPTIMIZER_H
#define CH_OPTIM_OPTIMIZER_H

#include "base/family.h"
#include "nn/params.h"

struct optimizer_constants {
    double beta1, beta2, epsilon;
};

struct optimizer {
    ch_variant variant;
    int moments;                     /* blocks of state that it keeps */
    const char *const *moment_names; /* (moments) for the checkpoint */
    int signed_moments;              /* that come first; the others are means of squares, which are 0 or more */
    bool decays;                     /* weights shrink before each step (optim/decay.h) */
    struct optimizer_constants own;  /* where nothing else is asked for */
    /* Elements from..from + count - 1 of the block, at step t = 1, 2, ...; the gradient counts grad_scale times. */
    void (*update)(const struct optimizer_constants *constants, real *value, real *const *moment, const real *grad,
                   real grad_scale, double lr, int64_t t, size_t from, size_t count);
};

extern const struct optimizer optimizer_adam, optimizer_adam_default, optimizer_adamw;
const ch_variant *optimizer_row(size_t i);

/* What was asked for, the optimiser's own where that is 0. */
struct optimizer_constants optimizer_resolve(const struct optimizer *optimizer, struct optimizer_constants asked);

#endif
