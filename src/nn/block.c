#include "nn/block.h"

#include <stdio.h>

const struct block_kind block_encoder = {.self_name = "attn"};
const struct block_kind block_decoder = {
    .causal = true, .cross = true, .self_name = "self_attn", .cross_name = "cross_attn"};

static ch_status declare_branch(struct branch *branch, struct params *params, const char *block, int number,
                                const struct block_parts *parts, ch_error *error) {
    int length = snprintf(branch->name, sizeof branch->name, "%s.n%d", block, number);
    ch_assert(length < PARAM_NAME);
    branch->dropout_site = pass_site(branch->name, "branch");
    return norm_declare(&branch->norm, parts->norm, params, branch->name, parts->width, error);
}

static ch_status declare_sublayers(struct block *block, struct params *params, const char *name,
                                   const struct block_parts *parts, ch_error *error) {
    char part[PARAM_NAME];
    snprintf(part, sizeof part, "%s.%s", name, block->kind->self_name);
    ch_status status =
        attention_declare(&block->self, params, part, parts->width, parts->self, block->kind->causal, false, error);
    if (status == CH_OK && block->kind->cross) {
        snprintf(part, sizeof part, "%s.%s", name, block->kind->cross_name);
        status = attention_declare(&block->cross, params, part, parts->width, parts->cross, false, true, error);
    }
    if (status != CH_OK) return status;
    snprintf(part, sizeof part, "%s.ff", name);
    return ffn_declare(&block->ffn, parts->ffn, params, part, parts->width, parts->hidden, error);
}

/* In the lesson's order of registration: attentions, feed-forward, norms. */
ch_status block_declare(struct block *block, struct params *params, const char *name, const struct block_kind *kind,
                        const struct block_parts *parts, ch_error *error) {
    *block = (struct block){.kind = kind, .width = parts->width};
    ch_status status = declare_sublayers(block, params, name, parts, error);
    int number = 1;
    if (status == CH_OK) status = declare_branch(&block->self_branch, params, name, number++, parts, error);
    if (status == CH_OK && kind->cross)
        status = declare_branch(&block->cross_branch, params, name, number++, parts, error);
    if (status == CH_OK) status = declare_branch(&block->ffn_branch, params, name, number, parts, error);
    return status;
}

/* norm(x + dropout(y)); y is overwritten by the sum. */
static real *branch_forward(struct pass *pass, const struct branch *branch, const real *x, real *y,
                            const struct batch *batch, struct branch_saved *saved) {
    int width = branch->norm.width;
    dropout_layer_add(pass, branch->dropout_site, y, x, batch, width, &saved->dropout);
    real *out = norm_forward(pass, &branch->norm, y, batch->rows, &saved->norm);
    pass_show(pass, branch->name, "out", out, width, width, batch);
    return out;
}

/* Gives the gradient of the sum, which is that of x; *dy gets the gradient of the sublayer's output. */
static real *branch_backward(struct pass *pass, const struct branch *branch, const real *dout, int rows, real **dy,
                             const struct branch_saved *saved) {
    pass_show_gradient(pass, branch->name, "out", dout, branch->norm.width, branch->norm.width, rows);
    real *dsum = norm_backward(pass, &branch->norm, dout, rows, &saved->norm);
    *dy = dropout_layer_backward(pass, dsum, rows, &saved->dropout);
    return dsum;
}

real *block_forward(struct pass *pass, const struct block *block, const real *x, const struct batch *batch,
                    struct memory memory, struct kv_cache *self_cache, struct kv_cache *cross_cache,
                    struct block_saved *saved) {
    real *y = attention_forward(pass, &block->self, x, batch, NULL, NULL, self_cache, &saved->self);
    real *z = branch_forward(pass, &block->self_branch, x, y, batch, &saved->self_branch);
    if (block->kind->cross) {
        y = attention_forward(pass, &block->cross, z, batch, memory.rows, memory.batch, cross_cache, &saved->cross);
        z = branch_forward(pass, &block->cross_branch, z, y, batch, &saved->cross_branch);
    }
    y = block->ffn.variant->forward(pass, &block->ffn, z, batch, &saved->ffn);
    pass_show(pass, block->ffn.name, "out", y, block->width, block->width, batch);
    return branch_forward(pass, &block->ffn_branch, z, y, batch, &saved->ffn_branch);
}

static void add_rows(struct pass *pass, real *y, const real *x, int rows, int width) {
    if (!pass_measures(pass)) add(y, x, (size_t)rows * (size_t)width);
    profile_lap(pass->profile, OPERATION_DROPOUT);
}

real *block_backward(struct pass *pass, const struct block *block, real *dout, real *dmemory,
                     const struct block_saved *saved) {
    int rows = saved->self.queries->rows, width = block->width;
    real *dy;
    real *dz = branch_backward(pass, &block->ffn_branch, dout, rows, &dy, &saved->ffn_branch);
    pass_show_gradient(pass, block->ffn.name, "out", dy, width, width, rows);
    add_rows(pass, dz, block->ffn.variant->backward(pass, &block->ffn, dy, rows, &saved->ffn), rows, width);
    if (block->kind->cross) {
        real *from_keys;
        dz = branch_backward(pass, &block->cross_branch, dz, rows, &dy, &saved->cross_branch);
        add_rows(pass, dz, attention_backward(pass, &block->cross, dy, &from_keys, &saved->cross), rows, width);
        add_rows(pass, dmemory, from_keys, saved->cross.keys->rows, width);
    }
    real *dx = branch_backward(pass, &block->self_branch, dz, rows, &dy, &saved->self_branch);
    add_rows(pass, dx, attention_backward(pass, &block->self, dy, NULL, &saved->self), rows, width);
    return dx;
}
