/*
 * Multi-head attention: o = concat(heads) W_ot + b_o,  heads = softmax(q kt / sqrt(Dh)) v,  q = xq W_qt + b_q and so
 * on. Vaswani et al. 2017. Self-attention takes queries, keys and values from the same rows, cross-attention takes
 * keys and values from the memory. Between projections and scores queries and keys of each head may be normalised
 * (Henry et al. 2020, Dehghani et al. 2023) and, in self-attention, turned by their positions.
 */
#ifndef CH_NN_ATTENTION_H
#define CH_NN_ATTENTION_H

#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/position.h"

/* Shape of one attention. H heads need not be D / Dh, and heads may share keys and values (K < H). */
struct attention_shape {
    int heads, kv_heads, d_head;
    int *kv_of_head;    /* (H) */
    int *original_head; /* (H) numbers before heads were removed */
    int original_heads; /* how many there were then */
};

bool attention_shape_uniform(struct attention_shape *shape, int heads, int kv_heads, int d_head);
bool attention_shape_copy(struct attention_shape *to, const struct attention_shape *from);
void attention_shape_free(struct attention_shape *shape);

struct attention {
    char name[PARAM_NAME];
    struct attention_shape shape; /* borrowed from the config */
    bool causal, cross;
    struct linear query, key, value, output;
    struct linear joined; /* q, k and v of self-attention; k and v of cross-attention */
    bool normed;          /* queries and keys are normalised over the Dh numbers of each head */
    struct norm query_norm, key_norm;
    int window;                      /* as in struct scores; self-attention alone has one */
    real soft_cap;                   /* likewise */
    const struct position *position; /* NULL: it knows none */
    struct position_bias bias;
    uint32_t dropout_site;
};

/* What an attention is made of. Cross-attention has neither window, soft cap nor positions, whatever stands here. */
struct attention_parts {
    int width;
    const struct attention_shape *shape;
    bool causal, cross;
    bool biased; /* the projections */
    int window;
    double soft_cap;
    const struct norm_variant *head_norm; /* of queries and keys; NULL: none */
    bool norm_biased;
    const struct position *position; /* NULL: none */
    int bias_table;                  /* of its stack's relative positions, -1: there is none */
};

/* Fails with a sentence where it is too small to divide by. */
ch_status soft_cap_check(double soft_cap, ch_error *error);

/* In the lesson's order of registration, W_q, W_k, W_v, W_o; then q_norm, k_norm; then rel_bias. */
ch_status attention_declare(struct attention *attention, struct params *params, const char *name,
                            const struct attention_parts *parts, ch_error *error);

/*
 * Keys and values of earlier positions. Row keys.offset[b] + place belongs to sequence b of the batch at hand.
 * Self-attention appends the rows of the batch; cross-attention fills the rows of the memory once (filled).
 * Scores go by distance alone, so they count from the first row that is kept; embeddings and rotary positions count
 * from the beginning of the sequence, as the batch does.
 */
struct kv_cache {
    real *key, *value; /* (rows, K * Dh) */
    struct batch keys; /* offset and length of each sequence's keys, those of this step included */
    const int *place;  /* (N) of the batch's rows among those kept; NULL: their positions */
    bool filled;
};

struct attention_saved {
    const struct batch *queries, *keys;
    const real *x, *memory; /* (N, D), (M, D); memory is NULL for self-attention */
    const real *q, *k, *v;  /* as the scores take them */
    int ldq, ldkv;
    struct norm_saved query_norm, key_norm;
    struct dropout dropout;
    real *core;  /* what the core saved */
    real *heads; /* (N, H * Dh) before gates */
    real *gated; /* (N, H * Dh) what the output projection saw */
    const real *gate;
};

/* out (N, D). memory and its batch: NULL for self-attention. cache may be NULL. */
real *attention_forward(struct pass *pass, const struct attention *attention, const real *x,
                        const struct batch *queries, const real *memory, const struct batch *keys,
                        struct kv_cache *cache, struct attention_saved *saved);
/* dx (N, D); *dmemory gets (M, D) for cross-attention. */
real *attention_backward(struct pass *pass, const struct attention *attention, const real *dy, real **dmemory,
                         const struct attention_saved *saved);

#endif
