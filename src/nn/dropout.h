/* Dropout on rows: one of the lesson's places (embeddings, feed-forward, residual branches). */
#ifndef CH_NN_DROPOUT_H
#define CH_NN_DROPOUT_H

#include "nn/pass.h"

struct dropout_saved {
    struct dropout dropout;
    uint8_t *keep; /* (N, C) */
    int channels;
};

/* Gives x itself where nothing is dropped. */
real *dropout_layer_forward(struct pass *pass, uint32_t site, real *x, const struct batch *batch, int channels,
                            struct dropout_saved *saved);
/* x = dropout(x): where nobody needs x itself any more, half the memory is half the way from it. */
void dropout_layer_in_place(struct pass *pass, uint32_t site, real *x, const struct batch *batch, int channels,
                            struct dropout_saved *saved);
void dropout_layer_backward_in_place(struct pass *pass, real *dx, int rows, const struct dropout_saved *saved);
/* x = residual + dropout(x) */
void dropout_layer_add(struct pass *pass, uint32_t site, real *x, const real *residual, const struct batch *batch,
                       int channels, struct dropout_saved *saved);
/* Gives dy itself where nothing was dropped. */
real *dropout_layer_backward(struct pass *pass, real *dy, int rows, const struct dropout_saved *saved);

#endif
