/* Family init: the first values of the parameters. */
#ifndef CH_NN_INIT_H
#define CH_NN_INIT_H

#include "base/family.h"
#include "base/torch_rng.h"
#include "nn/params.h"

struct init {
    ch_variant variant;
    /* Fills every trained row of the table. torch: draw in PyTorch's order; NULL: Philox from the seed. */
    void (*fill)(struct params *params, uint64_t seed, struct torch_rng *torch);
    /* The variance that it is meant to give the elements of a matrix (out, in) and of the bias of that linear layer:
     * what a check of fresh weights compares with. */
    double (*matrix_variance)(int64_t out, int64_t in);
    double (*bias_variance)(int64_t in);
};

extern const struct init init_xavier;
const ch_variant *init_row(size_t i);

#endif
