/* Linear layer: y = x Wt + b,  dx = dy W,  dW += dyt x,  db += sum of dy. */
#ifndef CH_NN_LINEAR_H
#define CH_NN_LINEAR_H

#include "nn/pass.h"

struct linear {
    int weight, bias; /* rows of the table; bias -1: none */
    int in, out;
};

/* Declares "<prefix>.<name>.weight" and ".bias". behind: a layer with the same input that this one lies behind, so
 * that linear_joined can serve both; NULL: it stands alone. */
ch_status linear_declare(struct linear *linear, struct params *params, const char *prefix, const char *name, int in,
                         int out, bool bias, const struct linear *behind, ch_error *error);
/* The same, alone, for the matrix that ends a residual branch: what it gives is added to the rows that the branch got.
 */
ch_status linear_declare_residual(struct linear *linear, struct params *params, const char *prefix, const char *name,
                                  int in, int out, bool bias, ch_error *error);
/* The same, alone, with a row (out, in) of the table for its weight, and only a bias of its own. */
ch_status linear_declare_tied(struct linear *linear, struct params *params, const char *prefix, const char *name,
                              int in, int out, bool bias, int weight, ch_error *error);
/* `first` and what was declared behind it, as one layer with `out` outputs. */
struct linear linear_joined(const struct linear *first, int out);

/* y (rows, out) */
real *linear_forward(struct pass *pass, const struct linear *linear, const real *x, int rows);
/* dx (rows, in); x is what forward had. */
real *linear_backward(struct pass *pass, const struct linear *linear, const real *dy, const real *x, int rows);

#endif
