/* No positions: only a causal mask tells the order of tokens, and an encoder sees a bag of them. */
#include "nn/position.h"

static ch_status declare(struct position *position, struct params *params, ch_error *error) {
    (void)position, (void)params, (void)error;
    return CH_OK;
}

static void forward(struct pass *pass, const struct position *position, real *x, const struct batch *batch) {
    (void)pass, (void)position, (void)x, (void)batch;
}

const struct position_variant position_none = {
    .variant = {"none", "no positions: only a causal mask tells the order"},
    .declare = declare,
    .forward = forward,
};
