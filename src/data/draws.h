/* Random numbers for one thing after another, by either generator: Philox's are a function of a key and a number (of an
 * example, say), PyTorch's are the next of its generator. */
#ifndef CH_DATA_DRAWS_H
#define CH_DATA_DRAWS_H

#include "base/philox.h"
#include "base/torch_rng.h"

struct draws {
    struct torch_rng *torch; /* NULL: Philox */
    struct philox_key key;
    uint32_t counter[4], word[4];
    int used; /* of the words at the counter */
};

struct draws draws_philox(struct philox_key key, uint32_t number);
struct draws draws_torch(struct torch_rng *torch);
/* 0 to below 1, in steps of 2^-53. */
double draws_unit(struct draws *draws);
/* A whole number below a range, 1 to 2^31 - 1: by PyTorch's generator as randint draws it; else the bias is below
 * range / 2^53. */
int draws_below(struct draws *draws, int range);

#endif
