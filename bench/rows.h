/* What cases of kernels over rows share: a table of kernels, and arrays for all that one of them may need. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "bench.h"
#include "kernels/kernels.h"

struct state {
    const struct kernel *kernel;
    int rows, channels;
    int heads;
    int group;    /* rows of the table */
    size_t count; /* rows * channels */
    real *in, *second, *third, *fourth, *out;
    real *weight, *bias, *sum_weight, *sum_bias, *mean, *rstd;
    real *table; /* (group, channels) */
    uint8_t *keep;
    int *token;
    struct batch_buffer batch; /* sequences of ROWS_EACH rows */
};

/* An activation, and what it and its slope are. */
struct curve {
    void (*forward)(real *y, const real *x, size_t count);
    void (*forward_slope)(real *y, real *x, size_t count);
    void (*backward)(real *dx, const real *dy, const real *x, size_t count);
    double (*value)(double x, double *slope);
};

struct kernel {
    const char *name;
    void (*shape)(const struct size *size, int *rows, int *channels);
    void (*run)(struct state *s);
    ch_status (*verify)(struct state *s, ch_error *error);
    double reals;              /* read and written for each element */
    double bytes;              /* and bytes */
    const struct curve *curve; /* of activations; else NULL */
};

enum { ROWS_EACH = 8 };

/* Row i of the kernels of exchangeable parts, or NULL past their end: rows_parts.c. */
const struct kernel *rows_part(size_t i);

/* For sums over the rows. */
double sum_tolerance(const struct state *s);
/* The shape (rows of a shard, width). */
void width_rows(const struct size *size, int *rows, int *channels);

#endif
