/* Token embedding times sqrt(D), then positions, then dropout: what enters a stack. */
#ifndef CH_NN_EMBEDDING_H
#define CH_NN_EMBEDDING_H

#include "nn/dropout.h"
#include "nn/position.h"

struct embedding {
    char name[PARAM_NAME]; /* of the site "<name>.embedded" */
    int weight;            /* row of the table, (V, D) */
    int width, pad;        /* the padding token's row gets no gradient; -1: none */
    const struct position *position;
    uint32_t dropout_site;
};

struct embedding_saved {
    const int *token;
    const struct batch *batch;
    struct dropout_saved dropout;
};

/* The parameter is "<parameter>.weight", (vocab, width). */
ch_status embedding_declare(struct embedding *embedding, struct params *params, const char *name, const char *parameter,
                            int vocab, int width, int pad, const struct position *position, ch_error *error);
/* y (N, D) */
real *embedding_layer_forward(struct pass *pass, const struct embedding *embedding, const int *token,
                              const struct batch *batch, struct embedding_saved *saved);
void embedding_layer_backward(struct pass *pass, const struct embedding *embedding, real *dy, int rows,
                              const struct embedding_saved *saved);

#endif
