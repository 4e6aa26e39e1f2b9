/* Decoupled weight decay: before a step the matrices, and they alone, shrink. */
#ifndef CH_OPTIM_DECAY_H
#define CH_OPTIM_DECAY_H

#include "nn/params.h"

/* Where in the block of parameters the matrices lie: stretches in their order, as few as there can be. */
struct decay {
    struct stretch *stretch;
    int count;
};

/* false if memory runs out. */
bool decay_new(struct decay *decay, const struct params *params);
void decay_free(struct decay *decay);
/* Multiplies what is of matrices in the elements from..from + count - 1. */
void decay_apply(const struct decay *decay, real *value, real factor, size_t from, size_t count);

#endif
