/* Stack: an embedding, blocks, and a norm behind the last where norms stand before sublayers. */
#ifndef CH_MODEL_STACK_H
#define CH_MODEL_STACK_H

#include "model/config.h"
#include "nn/block.h"
#include "nn/embedding.h"

struct stack {
    int width, layers;
    struct embedding embedding;
    struct block *block; /* (L) */
    struct norm norm;    /* behind the last, "enc_norm"; its variant is NULL where there is none */
    char name[PARAM_NAME], norm_name[PARAM_NAME];
};

/* What backward needs of a forward pass. */
struct stack_saved {
    struct embedding_saved embedding;
    struct block_saved *block; /* (L) */
    struct norm_saved norm;
    const struct batch *batch;
};

/* The caches of a stack, one for each layer. */
struct stack_caches {
    struct kv_cache *self, *cross; /* (L); cross: NULL where there is no memory */
};

/* The embedding has its own place in the order of registration. */
ch_status stack_declare_blocks(struct stack *stack, struct params *params, const struct config *config,
                               const char *name, const struct block_kind *kind, ch_error *error);
void stack_free(struct stack *stack);

bool stack_saved_new(struct stack_saved *saved, const struct stack *stack);
void stack_saved_free(struct stack_saved *saved);

/* (N, D). memory: what its blocks attend to besides; all NULL: nothing. caches: NULL: none. */
real *stack_forward(struct pass *pass, const struct stack *stack, const int *token, const struct batch *batch,
                    struct memory memory, const struct stack_caches *caches, struct stack_saved *saved);
/* dx (N, D) is written over. dmemory (M, D) is added to, if there was a memory. */
void stack_backward(struct pass *pass, const struct stack *stack, real *dx, real *dmemory,
                    const struct stack_saved *saved);

#endif
