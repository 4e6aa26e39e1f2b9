/*
 * Multi-head attention: o = concat(heads) W_ot + b_o,  heads = softmax(q kt / sqrt(Dh)) v,  q = xq W_qt + b_q and so
 * on. Vaswani et al. 2017. Self-attention takes queries, keys and values from the same rows, cross-attention takes
 * keys and values from the memory.
 */
#ifndef CH_NN_ATTENTION_H
#define CH_NN_ATTENTION_H

#include "nn/linear.h"

/* Shape of one attention. H heads need not be D / Dh, and heads may share keys and values (K < H). */
struct attention_shape {
    int heads, kv_heads, d_head;
    int *kv_of_head;    /* (H) */
    int *original_head; /* (H) numbers before heads were removed */
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
    uint32_t dropout_site;
};

ch_status attention_declare(struct attention *attention, struct params *params, const char *name, int width,
                            const struct attention_shape *shape, bool causal, bool cross, ch_error *error);

/*
 * Keys and values of earlier positions. Row keys.offset[b] + position belongs to sequence b of the batch at hand.
 * Self-attention appends the rows of the batch; cross-attention fills the rows of the memory once (filled).
 */
struct kv_cache {
    real *key, *value; /* (rows, K * Dh) */
    struct batch keys; /* offset and length of each sequence's keys, those of this step included */
    bool filled;
};

struct attention_saved {
    const struct batch *queries, *keys;
    const real *x, *memory; /* (N, D), (M, D); memory is NULL for self-attention */
    const real *q, *k, *v;
    int ldq, ldkv;
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
