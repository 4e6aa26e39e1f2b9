#include "model/stack.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Self-attention of a block. */
static const struct attention_shape *self_shape(const struct config *config, const struct block_kind *kind, int layer) {
    return config_shape(config, kind->causal ? CONFIG_DECODER_SELF : CONFIG_ENCODER_SELF, layer);
}

/* A table of relative positions that the layers share, if they do: in front of them, a column for each head. */
static ch_status declare_bias(const struct stack *stack, struct params *params, const struct config *config,
                              const struct block_kind *kind, int *table, ch_error *error) {
    int heads = 0;
    for (int layer = 0; layer < config->layers; layer++) {
        int own = self_shape(config, kind, layer)->original_heads;
        heads = own > heads ? own : heads;
    }
    *table = -1;
    return position_declare_bias(stack->embedding.position, POSITION_OF_STACK, params, stack->name, heads, table,
                                 error);
}

static ch_status declare_block(struct stack *stack, struct params *params, const struct config *config,
                               const struct block_kind *kind, int layer, int bias_table, ch_error *error) {
    char name[PARAM_NAME];
    int length = snprintf(name, sizeof name, "%s.%d", stack->name, layer);
    ch_assert(length < PARAM_NAME);
    struct block_parts parts = {
        .width = config->d_model,
        .hidden = config->d_ff,
        .self = self_shape(config, kind, layer),
        .cross = kind->cross ? config_shape(config, CONFIG_DECODER_CROSS, layer) : NULL,
        .norm = config->norm,
        .placement = config->placement,
        .ffn = config->ffn,
        .bias = config->bias,
        .qk_norm = config->qk_norm,
        .window = config->window,
        .soft_cap = config->soft_cap,
        .position = stack->embedding.position,
        .bias_table = bias_table,
    };
    return block_declare(&stack->block[layer], params, name, kind, &parts, error);
}

ch_status stack_declare_blocks(struct stack *stack, struct params *params, const struct config *config,
                               const char *name, const struct block_kind *kind, ch_error *error) {
    stack->width = config->d_model;
    stack->layers = config->layers;
    stack->block = mem_new((size_t)config->layers, sizeof *stack->block);
    if (!stack->block) return fail_memory(error, "the model's layers");
    snprintf(stack->name, sizeof stack->name, "%s", name);
    int bias_table;
    ch_status status = declare_bias(stack, params, config, kind, &bias_table, error);
    for (int layer = 0; layer < stack->layers && status == CH_OK; layer++)
        status = declare_block(stack, params, config, kind, layer, bias_table, error);
    if (status != CH_OK || !config->placement->pre) return status;
    int length = snprintf(stack->norm_name, sizeof stack->norm_name, "%s_norm", name);
    ch_assert(length < PARAM_NAME);
    return norm_declare(&stack->norm, config->norm, params, stack->norm_name, stack->width, config->bias->others,
                        error);
}

void stack_free(struct stack *stack) {
    mem_free(stack->block);
    *stack = (struct stack){0};
}

bool stack_saved_new(struct stack_saved *saved, const struct stack *stack) {
    *saved = (struct stack_saved){.block = mem_new((size_t)stack->layers, sizeof *saved->block)};
    return saved->block;
}

void stack_saved_free(struct stack_saved *saved) {
    mem_free(saved->block);
    *saved = (struct stack_saved){0};
}

/* Without gradients to come, a block's memory is given back before the next. */
static real *blocks_forward(struct pass *pass, const struct stack *stack, real *x, struct memory memory,
                            const struct stack_caches *caches, struct stack_saved *saved) {
    const struct batch *batch = saved->batch;
    for (int layer = 0; layer < stack->layers; layer++) {
        struct kv_cache *self = caches ? &caches->self[layer] : NULL;
        struct kv_cache *cross = caches && caches->cross ? &caches->cross[layer] : NULL;
        size_t mark = arena_mark(pass->arena);
        real *y = block_forward(pass, &stack->block[layer], x, batch, memory, self, cross, &saved->block[layer]);
        if (pass->grad) {
            x = y;
            continue;
        }
        if (!pass_measures(pass)) memcpy(x, y, (size_t)batch->rows * (size_t)stack->width * sizeof *x);
        arena_reset(pass->arena, mark);
    }
    return x;
}

real *stack_forward(struct pass *pass, const struct stack *stack, const int *token, const struct batch *batch,
                    struct memory memory, const struct stack_caches *caches, struct stack_saved *saved) {
    saved->batch = batch;
    real *x = embedding_layer_forward(pass, &stack->embedding, token, batch, &saved->embedding);
    x = blocks_forward(pass, stack, x, memory, caches, saved);
    if (!stack->norm.variant) return x;
    x = norm_forward(pass, &stack->norm, x, batch->rows, &saved->norm);
    pass_show(pass, stack->norm_name, "out", x, stack->width, stack->width, batch);
    return x;
}

/* Upwards and in place; the memory of each block's gradients is given back. */
static void blocks_backward(struct pass *pass, const struct stack *stack, real *dx, real *dmemory,
                            const struct stack_saved *saved) {
    for (int layer = stack->layers - 1; layer >= 0; layer--) {
        size_t mark = arena_mark(pass->arena);
        real *d = block_backward(pass, &stack->block[layer], dx, dmemory, &saved->block[layer]);
        if (d != dx && !pass_measures(pass))
            memcpy(dx, d, (size_t)saved->batch->rows * (size_t)stack->width * sizeof *dx);
        profile_lap(pass->profile, OPERATION_OTHER);
        arena_reset(pass->arena, mark);
    }
}

void stack_backward(struct pass *pass, const struct stack *stack, real *dx, real *dmemory,
                    const struct stack_saved *saved) {
    int rows = saved->batch->rows;
    if (stack->norm.variant) {
        pass_show_gradient(pass, stack->norm_name, "out", dx, stack->width, stack->width, rows);
        dx = norm_backward(pass, &stack->norm, dx, rows, &saved->norm);
    }
    blocks_backward(pass, stack, dx, dmemory, saved);
    embedding_layer_backward(pass, &stack->embedding, dx, rows, &saved->embedding);
}
