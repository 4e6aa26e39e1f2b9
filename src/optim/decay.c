/*
 * Loshchilov & Hutter 2019: w -= lr decay w before Adam's own step, so that the decay does not pass through Adam's
 * division as the gradient of a penalty would. Matrices decay (linear weights, embeddings, learned positions), and
 * vectors do not (biases, norms): GPT-2's rule as most write it, two groups of parameters in PyTorch.
 */
#include "optim/decay.h"
#include "base/memory.h"
#include "kernels/kernels.h"

#include <stdlib.h>

struct stretch {
    size_t begin, end;
};

static int earlier(const void *a, const void *b) {
    const struct stretch *left = a, *right = b;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

/* Sorted stretches that touch become one. */
static int join(struct stretch *stretch, int count) {
    int joined = 0;
    for (int i = 0; i < count; i++)
        if (joined && stretch[joined - 1].end == stretch[i].begin)
            stretch[joined - 1].end = stretch[i].end;
        else
            stretch[joined++] = stretch[i];
    return joined;
}

bool decay_new(struct decay *decay, const struct params *params) {
    *decay = (struct decay){.stretch = mem_new((size_t)params->count, sizeof *decay->stretch)};
    if (!decay->stretch) return false;
    int count = 0;
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (param_is_trained(row) && row->rank >= 2)
            decay->stretch[count++] = (struct stretch){row->offset, row->offset + row->count};
    }
    qsort(decay->stretch, (size_t)count, sizeof *decay->stretch, earlier);
    decay->count = join(decay->stretch, count);
    return true;
}

void decay_free(struct decay *decay) {
    mem_free(decay->stretch);
    *decay = (struct decay){0};
}

void decay_apply(const struct decay *decay, real *value, real factor, size_t from, size_t count) {
    size_t to = from + count;
    for (int i = 0; i < decay->count && decay->stretch[i].begin < to; i++) {
        size_t begin = decay->stretch[i].begin > from ? decay->stretch[i].begin : from;
        size_t end = decay->stretch[i].end < to ? decay->stretch[i].end : to;
        if (begin < end) scale_by(value + begin, factor, end - begin);
    }
}
