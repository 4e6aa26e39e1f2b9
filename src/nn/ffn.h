/* Family ffn: the network applied to every position alike. */
#ifndef CH_NN_FFN_H
#define CH_NN_FFN_H

#include "nn/dropout.h"
#include "nn/linear.h"

struct ffn;

struct ffn_saved {
    const real *x;      /* (N, D) */
    const real *hidden; /* (N, F) after activation and dropout: what the second layer saw */
    struct dropout_saved dropout;
};

struct ffn_variant {
    ch_variant variant;
    ch_status (*declare)(struct ffn *ffn, struct params *params, ch_error *error);
    real *(*forward)(struct pass *pass, const struct ffn *ffn, const real *x, const struct batch *batch,
                     struct ffn_saved *saved);
    real *(*backward)(struct pass *pass, const struct ffn *ffn, const real *dy, int rows,
                      const struct ffn_saved *saved);
};

struct ffn {
    const struct ffn_variant *variant;
    char name[PARAM_NAME];
    int width, hidden;
    struct linear up, down;
    uint32_t dropout_site;
};

extern const struct ffn_variant ffn_relu;
const ch_variant *ffn_row(size_t i);

ch_status ffn_declare(struct ffn *ffn, const struct ffn_variant *variant, struct params *params, const char *name,
                      int width, int hidden, ch_error *error);

#endif
