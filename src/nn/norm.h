/* Family norm: what normalises a row. */
#ifndef CH_NN_NORM_H
#define CH_NN_NORM_H

#include "nn/pass.h"

struct norm;

struct norm_saved {
    const real *x;     /* (N, D) */
    real *mean, *rstd; /* (N); mean: NULL where the variant takes none */
};

struct norm_variant {
    ch_variant variant;
    ch_status (*declare)(struct norm *norm, struct params *params, const char *name, ch_error *error);
    real *(*forward)(struct pass *pass, const struct norm *norm, const real *x, int rows, struct norm_saved *saved);
    real *(*backward)(struct pass *pass, const struct norm *norm, const real *dy, int rows,
                      const struct norm_saved *saved);
};

struct norm {
    const struct norm_variant *variant;
    int width;
    bool biased;      /* has a bias, if the variant knows one */
    int weight, bias; /* rows of the table; -1: none */
};

extern const struct norm_variant norm_layernorm, norm_rmsnorm;
const ch_variant *norm_row(size_t i);

/* Declares the parameters "<name>.weight" and, unless it shall have none, what bias the variant knows. */
ch_status norm_declare(struct norm *norm, const struct norm_variant *variant, struct params *params, const char *name,
                       int width, bool biased, ch_error *error);
real *norm_forward(struct pass *pass, const struct norm *norm, const real *x, int rows, struct norm_saved *saved);
real *norm_backward(struct pass *pass, const struct norm *norm, const real *dy, int rows,
                    const struct norm_saved *saved);

#endif
