/* Family position: how the order of tokens enters. One instance serves source and target. */
#ifndef CH_NN_POSITION_H
#define CH_NN_POSITION_H

#include "nn/pass.h"

struct position;

struct position_variant {
    ch_variant variant;
    ch_status (*declare)(struct position *position, struct params *params, ch_error *error);
    /* Fills buffers once the parameters have memory; NULL: there are none. */
    void (*fill)(const struct position *position, struct params *params);
    /* Adds to the embedded rows x (N, D), in place. */
    void (*forward)(struct pass *pass, const struct position *position, real *x, const struct batch *batch);
    /* Adds to the gradients of what is learned, from that of the embedded rows; NULL: nothing is. */
    void (*backward)(struct pass *pass, const struct position *position, const real *dx, const struct batch *batch);
};

struct position {
    const struct position_variant *variant;
    int width, max_positions;
    int table; /* row of the parameter table; -1: none */
};

extern const struct position_variant position_sinusoidal, position_learned, position_none;
const ch_variant *position_row(size_t i);

ch_status position_declare(struct position *position, const struct position_variant *variant, struct params *params,
                           int width, int max_positions, ch_error *error);

#endif
