/* Named tensors in an order: what a dump holds, and what a file of tensors is read into. */
#ifndef CH_INSPECT_TENSORS_H
#define CH_INSPECT_TENSORS_H

#include "base/error.h"
#include "base/real.h"

enum { TENSOR_RANK = 4 };

struct named_tensor {
    char *name;
    int rank;
    int64_t shape[TENSOR_RANK];
    size_t count;
    real *value; /* (count) */
};

struct ch_tensors {
    struct named_tensor *item;
    size_t count, capacity;
    bool ordered; /* they stand in the order of computation: made by a dump, or stated by the file */
};

/* Appends a tensor and gives its values to fill; NULL when memory runs out. */
real *tensors_add(struct ch_tensors *tensors, const char *name, int rank, const int64_t *shape);
/* The tensor of that name, or NULL. */
struct named_tensor *tensors_find(const struct ch_tensors *tensors, const char *name);

#endif
