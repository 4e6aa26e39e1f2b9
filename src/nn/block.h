/*
 * Block: self-attention, cross-attention if there is a memory, feed-forward; each a sublayer on a residual branch with
 * dropout and a norm. One block serves every assembly.
 *   post: x = norm(x + dropout(sublayer(x)))     Vaswani et al. 2017
 *   pre:  x = x + dropout(sublayer(norm(x)))     Xiong et al. 2020; a stack of them ends in a norm
 */
#ifndef CH_NN_BLOCK_H
#define CH_NN_BLOCK_H

#include "nn/attention.h"
#include "nn/bias.h"
#include "nn/ffn.h"
#include "nn/norm.h"

struct block_kind {
    bool causal;                        /* its self-attention */
    bool cross;                         /* has cross-attention */
    const char *self_name, *cross_name; /* of the attentions' parameters */
};
/* The lesson's encoder and decoder layers, and the layer of a decoder that has nothing else to attend to. */
extern const struct block_kind block_encoder, block_decoder, block_causal;

/* Family norm placement. */
struct norm_placement {
    ch_variant variant;
    bool pre;
};
extern const struct norm_placement norm_post, norm_pre;
const ch_variant *norm_placement_row(size_t i);

/* A residual branch: dropout, addition, norm. */
struct branch {
    char name[PARAM_NAME]; /* of the norm: "enc.0.n1" */
    struct norm norm;
    bool pre; /* the norm stands before the sublayer */
    uint32_t dropout_site;
};

struct branch_saved {
    struct dropout_saved dropout;
    struct norm_saved norm;
};

struct block {
    const struct block_kind *kind;
    int width;
    struct attention self, cross;
    struct ffn ffn;
    struct branch self_branch, cross_branch, ffn_branch;
};

struct block_saved {
    struct attention_saved self, cross;
    struct ffn_saved ffn;
    struct branch_saved self_branch, cross_branch, ffn_branch;
};

struct block_parts {
    int width, hidden;
    const struct attention_shape *self, *cross;
    const struct norm_variant *norm;
    const struct norm_placement *placement;
    const struct ffn_variant *ffn;
    const struct bias_variant *bias;
    /* of attentions, as in struct attention_parts */
    bool qk_norm;
    int window;
    double soft_cap;
    const struct position *position;
    int bias_table;
};

ch_status block_declare(struct block *block, struct params *params, const char *name, const struct block_kind *kind,
                        const struct block_parts *parts, ch_error *error);

/* What a block attends to besides its own rows; all NULL for an encoder. */
struct memory {
    const real *rows;          /* (M, D) */
    const struct batch *batch; /* of the memory */
};

/* (N, D); memory and caches as in attention.h. */
real *block_forward(struct pass *pass, const struct block *block, const real *x, const struct batch *batch,
                    struct memory memory, struct kv_cache *self_cache, struct kv_cache *cross_cache,
                    struct block_saved *saved);
/* From the gradient of what it made to that of x, both (N, D); dx is written over, and may be what is given. dmemory
 * (M, D) is added to if the block has cross-attention. */
real *block_backward(struct pass *pass, const struct block *block, real *dx, real *dmemory,
                     const struct block_saved *saved);

#endif
