#include "nn/block.h"

#include <stdio.h>

const struct block_kind block_encoder = {.self_name = "attn"};
const struct block_kind block_decoder = {
    .causal = true, .cross = true, .self_name = "self_attn", .cross_name = "cross_attn"};
const struct block_kind block_causal = {.causal = true, .self_name = "attn"};

const struct norm_placement norm_post = {{"post", "behind each residual addition, as in the lesson"}, false};
const struct norm_placement norm_pre = {{"pre", "before each sublayer, and one behind the last: trains without warmup"},
                                        true};

static const struct norm_placement *const placements[] = {&norm_post, &norm_pre, NULL};

const ch_variant *norm_placement_row(size_t i) {
    return placements[i] ? &placements[i]->variant : NULL;
}

static ch_status declare_branch(struct branch *branch, struct params *params, const char *block, int number,
                                const struct block_parts *parts, ch_error *error) {
    int length = snprintf(branch->name, sizeof branch->name, "%s.n%d", block, number);
    ch_assert(length < PARAM_NAME);
    branch->pre = parts->placement->pre;
    branch->dropout_site = pass_site(branch->name, "branch");
    return norm_declare(&branch->norm, parts->norm, params, branch->name, parts->width, parts->bias->others, error);
}

static struct attention_parts attention_parts(const struct block_parts *parts, const struct block_kind *kind,
                                              bool cross) {
    return (struct attention_parts){.width = parts->width,
                                    .shape = cross ? parts->cross : parts->self,
                                    .causal = kind->causal && !cross,
                                    .cross = cross,
                                    .biased = parts->bias->projections,
                                    .window = parts->window,
                                    .soft_cap = parts->soft_cap,
                                    .head_norm = parts->qk_norm ? parts->norm : NULL,
                                    .norm_biased = parts->bias->others,
                                    .position = parts->position,
                                    .bias_table = parts->bias_table};
}

static ch_status declare_sublayers(struct block *block, struct params *params, const char *name,
                                   const struct block_parts *parts, ch_error *error) {
    char part[PARAM_NAME];
    snprintf(part, sizeof part, "%s.%s", name, block->kind->self_name);
    struct attention_parts attention = attention_parts(parts, block->kind, false);
    ch_status status = attention_declare(&block->self, params, part, &attention, error);
    if (status == CH_OK && block->kind->cross) {
        snprintf(part, sizeof part, "%s.%s", name, block->kind->cross_name);
        attention = attention_parts(parts, block->kind, true);
        status = attention_declare(&block->cross, params, part, &attention, error);
    }
    if (status != CH_OK) return status;
    snprintf(part, sizeof part, "%s.ff", name);
    return ffn_declare(&block->ffn, parts->ffn, params, part, parts->width, parts->hidden, parts->bias->others, error);
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

static real *normalise(struct pass *pass, const struct branch *branch, const real *x, const struct batch *batch,
                       struct branch_saved *saved) {
    int width = branch->norm.width;
    real *y = norm_forward(pass, &branch->norm, x, batch->rows, &saved->norm);
    pass_show(pass, branch->name, "out", y, width, width, batch);
    return y;
}

static real *normalise_backward(struct pass *pass, const struct branch *branch, const real *dy, int rows,
                                const struct branch_saved *saved) {
    pass_show_gradient(pass, branch->name, "out", dy, branch->norm.width, branch->norm.width, rows);
    return norm_backward(pass, &branch->norm, dy, rows, &saved->norm);
}

/* What the sublayer sees of x. */
static const real *branch_enter(struct pass *pass, const struct branch *branch, const real *x,
                                const struct batch *batch, struct branch_saved *saved) {
    return branch->pre ? normalise(pass, branch, x, batch, saved) : x;
}

/* From what the sublayer made, which is written over, back to the stream. */
static real *branch_leave(struct pass *pass, const struct branch *branch, const real *x, real *y,
                          const struct batch *batch, struct branch_saved *saved) {
    int width = branch->norm.width;
    dropout_layer_add(pass, branch->dropout_site, y, x, batch, width, &saved->dropout);
    if (!branch->pre) return normalise(pass, branch, y, batch, saved);
    pass_show(pass, branch->name, "sum", y, width, width, batch);
    return y;
}

/* *dout becomes the gradient of the sum; gives that of what the sublayer made. */
static real *leave_backward(struct pass *pass, const struct branch *branch, real **dout, int rows,
                            const struct branch_saved *saved) {
    if (branch->pre)
        pass_show_gradient(pass, branch->name, "sum", *dout, branch->norm.width, branch->norm.width, rows);
    else
        *dout = normalise_backward(pass, branch, *dout, rows, saved);
    return dropout_layer_backward(pass, *dout, rows, &saved->dropout);
}

static void add_rows(struct pass *pass, real *y, const real *x, int rows, int width) {
    if (!pass_measures(pass)) add(y, x, (size_t)rows * (size_t)width);
    profile_lap(pass->profile, OPERATION_DROPOUT);
}

/* dx, which is the gradient of the sum, gets what came through the sublayer added. */
static void enter_backward(struct pass *pass, const struct branch *branch, real *dx, const real *dsublayer, int rows,
                           const struct branch_saved *saved) {
    if (branch->pre) dsublayer = normalise_backward(pass, branch, dsublayer, rows, saved);
    add_rows(pass, dx, dsublayer, rows, branch->norm.width);
}

real *block_forward(struct pass *pass, const struct block *block, const real *x, const struct batch *batch,
                    struct memory memory, struct kv_cache *self_cache, struct kv_cache *cross_cache,
                    struct block_saved *saved) {
    const real *in = branch_enter(pass, &block->self_branch, x, batch, &saved->self_branch);
    real *y = attention_forward(pass, &block->self, in, batch, NULL, NULL, self_cache, &saved->self);
    x = branch_leave(pass, &block->self_branch, x, y, batch, &saved->self_branch);
    if (block->kind->cross) {
        in = branch_enter(pass, &block->cross_branch, x, batch, &saved->cross_branch);
        y = attention_forward(pass, &block->cross, in, batch, memory.rows, memory.batch, cross_cache, &saved->cross);
        x = branch_leave(pass, &block->cross_branch, x, y, batch, &saved->cross_branch);
    }
    in = branch_enter(pass, &block->ffn_branch, x, batch, &saved->ffn_branch);
    y = block->ffn.variant->forward(pass, &block->ffn, in, batch, &saved->ffn);
    pass_show(pass, block->ffn.name, "out", y, block->width, block->width, batch);
    return branch_leave(pass, &block->ffn_branch, x, y, batch, &saved->ffn_branch);
}

real *block_backward(struct pass *pass, const struct block *block, real *dx, real *dmemory,
                     const struct block_saved *saved) {
    int rows = saved->self.queries->rows, width = block->width;
    real *dy = leave_backward(pass, &block->ffn_branch, &dx, rows, &saved->ffn_branch);
    pass_show_gradient(pass, block->ffn.name, "out", dy, width, width, rows);
    real *dz = block->ffn.variant->backward(pass, &block->ffn, dy, rows, &saved->ffn);
    enter_backward(pass, &block->ffn_branch, dx, dz, rows, &saved->ffn_branch);
    if (block->kind->cross) {
        real *from_keys;
        dy = leave_backward(pass, &block->cross_branch, &dx, rows, &saved->cross_branch);
        dz = attention_backward(pass, &block->cross, dy, &from_keys, &saved->cross);
        enter_backward(pass, &block->cross_branch, dx, dz, rows, &saved->cross_branch);
        add_rows(pass, dmemory, from_keys, saved->cross.keys->rows, width);
    }
    dy = leave_backward(pass, &block->self_branch, &dx, rows, &saved->self_branch);
    dz = attention_backward(pass, &block->self, dy, NULL, &saved->self);
    enter_backward(pass, &block->self_branch, dx, dz, rows, &saved->self_branch);
    return dx;
}
