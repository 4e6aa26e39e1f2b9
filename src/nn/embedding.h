/*
 * Token embedding times a factor, then positions, then dropout: what enters a stack.
 *
 * Family embedding-scale: the factor. Vaswani et al. 2017 have sqrt(D), so that tokens are not lost beside positions;
 * GPT-2 and Llama have none. Family tie: which matrices of tokens are one. Press & Wolf 2017 read with the matrix that
 * they predict with; Vaswani et al. have one for the source, too. Gradients of all uses add up in it.
 */
#ifndef CH_NN_EMBEDDING_H
#define CH_NN_EMBEDDING_H

#include "nn/arch.h"
#include "nn/dropout.h"
#include "nn/position.h"

struct embedding_scale {
    ch_variant variant;
    bool root; /* sqrt(D), else 1 */
};
extern const struct embedding_scale embedding_scale_sqrt, embedding_scale_one;
const ch_variant *embedding_scale_row(size_t i);

struct tie {
    ch_variant variant;
    bool source, output; /* the target's embedding is the source's; the output's matrix is the last stack's embedding */
};
extern const struct tie tie_none, tie_source_target, tie_target_output, tie_all;
const ch_variant *tie_row(size_t i);

/* Why a model cannot be tied so, or NULL. */
const char *tie_clash(const struct tie *tie, const struct arch *arch, const struct head *head);

struct embedding {
    char name[PARAM_NAME]; /* of the site "<name>.embedded" */
    int weight;            /* row of the table, (V, D) */
    int width, pad;        /* the padding token's row gets no gradient from here; -1: none */
    real scale;
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
/* One whose matrix is another's. */
void embedding_share(struct embedding *embedding, struct params *params, const char *name,
                     const struct embedding *with);
/* sqrt(D) unless said otherwise. */
void embedding_set_scale(struct embedding *embedding, const struct embedding_scale *scale);
/* y (N, D) */
real *embedding_layer_forward(struct pass *pass, const struct embedding *embedding, const int *token,
                              const struct batch *batch, struct embedding_saved *saved);
void embedding_layer_backward(struct pass *pass, const struct embedding *embedding, real *dy, int rows,
                              const struct embedding_saved *saved);

#endif
