/* Family optimizer: how a gradient moves the parameters. Walks the parameter table's block, which is one array. */
#ifndef CH_OPTIM_OPTIMIZER_H
#define CH_OPTIM_OPTIMIZER_H

#include "base/family.h"
#include "nn/params.h"

struct optimizer {
    ch_variant variant;
    int moments;                     /* blocks of state that it keeps */
    const char *const *moment_names; /* (moments) for the checkpoint */
    int signed_moments;              /* that come first; the others are means of squares, which are 0 or more */
    /* Elements from..from + count - 1 of the block, at step t = 1, 2, ...; the gradient counts grad_scale times. */
    void (*update)(real *value, real *const *moment, const real *grad, real grad_scale, double lr, int64_t t,
                   size_t from, size_t count);
};

extern const struct optimizer optimizer_adam, optimizer_adam_default;
const ch_variant *optimizer_row(size_t i);

#endif
