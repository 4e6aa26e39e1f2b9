#include "nn/attention.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool attention_shape_uniform(struct attention_shape *shape, int heads, int kv_heads, int d_head) {
    *shape = (struct attention_shape){.heads = heads,
                                      .kv_heads = kv_heads,
                                      .d_head = d_head,
                                      .kv_of_head = mem_new((size_t)heads, sizeof(int)),
                                      .original_head = mem_new((size_t)heads, sizeof(int)),
                                      .original_heads = heads};
    if (!shape->kv_of_head || !shape->original_head) {
        attention_shape_free(shape);
        return false;
    }
    for (int h = 0; h < heads; h++) {
        shape->kv_of_head[h] = h / (heads / kv_heads);
        shape->original_head[h] = h;
    }
    return true;
}

bool attention_shape_copy(struct attention_shape *to, const struct attention_shape *from) {
    if (!attention_shape_uniform(to, from->heads, from->heads, from->d_head)) return false;
    to->kv_heads = from->kv_heads;
    to->original_heads = from->original_heads;
    memcpy(to->kv_of_head, from->kv_of_head, (size_t)from->heads * sizeof(int));
    memcpy(to->original_head, from->original_head, (size_t)from->heads * sizeof(int));
    return true;
}

void attention_shape_free(struct attention_shape *shape) {
    mem_free(shape->kv_of_head);
    mem_free(shape->original_head);
    *shape = (struct attention_shape){0};
}

/* The descriptor of this attention over two batches, with what the pass cuts and drops. */
static struct scores scores_of(struct pass *pass, const struct attention *a, const struct batch *queries,
                               const struct batch *keys, struct dropout dropout) {
    struct scores scores = {.query = queries,
                            .key = keys,
                            .heads = a->shape.heads,
                            .kv_heads = a->shape.kv_heads,
                            .d_head = a->shape.d_head,
                            .kv_of_head = a->shape.kv_of_head,
                            .original_head = a->shape.original_head,
                            .scale = RC(1.0 / sqrt(a->shape.d_head)),
                            .causal = a->causal,
                            .window = a->window,
                            .soft_cap = a->soft_cap,
                            .dropout = dropout};
    if (a->position && a->position->variant->bias) a->position->variant->bias(pass, a->bias, &scores);
    for (int i = 0; i < pass->cut_count; i++) {
        if (strcmp(pass->cuts[i].layer, a->name) != 0) continue;
        scores.knockouts = pass->cuts[i].knockouts;
        scores.knockout_count = pass->cuts[i].count;
    }
    return scores;
}

static ch_status declare_projections(struct attention *a, struct params *params, const char *name, int width,
                                     bool biased, ch_error *error) {
    const struct attention_shape *shape = &a->shape;
    int q = shape->heads * shape->d_head, kv = shape->kv_heads * shape->d_head;
    ch_status status = linear_declare(&a->query, params, name, "W_q", width, q, biased, NULL, error);
    if (status != CH_OK) return status;
    status = linear_declare(&a->key, params, name, "W_k", width, kv, biased, a->cross ? NULL : &a->query, error);
    if (status != CH_OK) return status;
    const struct linear *first = a->cross ? &a->key : &a->query;
    status = linear_declare(&a->value, params, name, "W_v", width, kv, biased, first, error);
    if (status != CH_OK) return status;
    a->joined = linear_joined(first, a->cross ? 2 * kv : q + 2 * kv);
    return linear_declare_residual(&a->output, params, name, "W_o", q, width, biased, error);
}

static ch_status declare_norm(struct norm *norm, struct params *params, const char *attention, const char *name,
                              const struct attention_parts *parts, ch_error *error) {
    char full[PARAM_NAME];
    int length = snprintf(full, sizeof full, "%s.%s", attention, name);
    ch_assert(length < PARAM_NAME);
    return norm_declare(norm, parts->head_norm, params, full, parts->shape->d_head, parts->norm_biased, error);
}

ch_status attention_declare(struct attention *a, struct params *params, const char *name,
                            const struct attention_parts *parts, ch_error *error) {
    *a = (struct attention){.shape = *parts->shape,
                            .causal = parts->causal,
                            .cross = parts->cross,
                            .normed = parts->head_norm,
                            .dropout_site = pass_site(name, "weights")};
    snprintf(a->name, sizeof a->name, "%s", name);
    ch_status status = declare_projections(a, params, name, parts->width, parts->biased, error);
    if (status == CH_OK && a->normed) status = declare_norm(&a->query_norm, params, name, "q_norm", parts, error);
    if (status == CH_OK && a->normed) status = declare_norm(&a->key_norm, params, name, "k_norm", parts, error);
    if (status != CH_OK || a->cross) return status;
    a->window = parts->window;
    a->soft_cap = RC(parts->soft_cap);
    a->position = parts->position;
    a->bias = (struct position_bias){.heads = a->shape.original_heads, .table = parts->bias_table};
    if (!a->position) return CH_OK;
    ch_assert(!a->position->variant->rotary || a->position->sizes.d_head == a->shape.d_head);
    return position_declare_bias(a->position, POSITION_OF_ATTENTION, params, name, a->bias.heads, &a->bias.table,
                                 error);
}

ch_status soft_cap_check(double soft_cap, ch_error *error) {
    static const double least = 0.001;
    if (soft_cap == 0 || soft_cap >= least) return CH_OK;
    return fail(error, CH_USAGE, "soft-cap: expected 0, for none, or at least %g, found %g", least, soft_cap);
}

/* ---- projections and cache ---- */

/* Copies keys and values of the batch's rows to their places in the cache. */
static void cache_append(struct kv_cache *cache, const struct batch *batch, const real *k, const real *v, int ld,
                         int channels) {
    const int *place = cache->place ? cache->place : batch->position;
    for (int n = 0; n < batch->rows; n++) {
        size_t to = (size_t)(cache->keys.offset[batch->sequence[n]] + place[n]) * (size_t)channels;
        memcpy(cache->key + to, k + (size_t)n * (size_t)ld, (size_t)channels * sizeof(real));
        memcpy(cache->value + to, v + (size_t)n * (size_t)ld, (size_t)channels * sizeof(real));
    }
}

static void read_from_cache(struct attention_saved *saved, const struct kv_cache *cache, int channels) {
    saved->k = cache->key;
    saved->v = cache->value;
    saved->ldkv = channels;
    saved->keys = &cache->keys;
}

static void copy_rows(real *to, int ldto, const real *from, int ldfrom, int rows, int channels) {
    for (int n = 0; n < rows; n++)
        memcpy(to + (size_t)n * (size_t)ldto, from + (size_t)n * (size_t)ldfrom, (size_t)channels * sizeof *to);
}

/* Heads of all rows, for a norm. So many that no int holds them need more memory than anyone has: a measuring walk
 * says so. */
static int head_rows(int rows, int heads) {
    int all;
    return __builtin_mul_overflow(rows, heads, &all) ? INT_MAX : all;
}

/* Each head's numbers normalised, x (N, heads, Dh) with rows ld apart; saved keeps them as they were. */
static void normalise(struct pass *pass, const struct norm *norm, real *x, int ld, int heads, const struct batch *batch,
                      struct norm_saved *saved) {
    size_t channels = (size_t)heads * (size_t)norm->width;
    real *before = pass_take(pass, (size_t)batch->rows, channels);
    if (!pass_measures(pass)) copy_rows(before, (int)channels, x, ld, batch->rows, (int)channels);
    const real *y = norm_forward(pass, norm, before, head_rows(batch->rows, heads), saved);
    if (!pass_measures(pass)) copy_rows(x, ld, y, (int)channels, batch->rows, (int)channels);
}

static void normalise_backward(struct pass *pass, const struct norm *norm, real *dx, int ld, int heads,
                               const struct batch *batch, const struct norm_saved *saved) {
    size_t mark = arena_mark(pass->arena), channels = (size_t)heads * (size_t)norm->width;
    real *dy = pass_take(pass, (size_t)batch->rows, channels);
    if (!pass_measures(pass)) copy_rows(dy, (int)channels, dx, ld, batch->rows, (int)channels);
    const real *before = norm_backward(pass, norm, dy, head_rows(batch->rows, heads), saved);
    if (!pass_measures(pass)) copy_rows(dx, ld, before, (int)channels, batch->rows, (int)channels);
    arena_reset(pass->arena, mark);
}

static bool rotates(const struct attention *a) {
    return a->position && a->position->variant->rotate;
}

static void rotate(struct pass *pass, const struct attention *a, real *x, int ld, int heads, const struct batch *batch,
                   bool back) {
    a->position->variant->rotate(pass, a->position, x, ld, heads, batch, back);
    profile_lap(pass->profile, OPERATION_ATTENTION);
}

/* From what the projection gave to what the scores take, in place. */
static void prepare_query(struct pass *pass, const struct attention *a, real *q, struct attention_saved *saved) {
    int heads = a->shape.heads, channels = a->query.out;
    saved->q = q;
    pass_show(pass, a->name, "query", q, saved->ldq, channels, saved->queries);
    if (a->normed) {
        normalise(pass, &a->query_norm, q, saved->ldq, heads, saved->queries, &saved->query_norm);
        pass_show(pass, a->name, "query_normed", q, saved->ldq, channels, saved->queries);
    }
    if (!rotates(a)) return;
    rotate(pass, a, q, saved->ldq, heads, saved->queries, false);
    pass_show(pass, a->name, "query_rotated", q, saved->ldq, channels, saved->queries);
}

static void prepare_key(struct pass *pass, const struct attention *a, real *k, struct attention_saved *saved) {
    int heads = a->shape.kv_heads, channels = a->key.out;
    saved->k = k;
    saved->v = k + channels;
    pass_show(pass, a->name, "key", k, saved->ldkv, channels, saved->keys);
    pass_show(pass, a->name, "value", saved->v, saved->ldkv, channels, saved->keys);
    if (a->normed) {
        normalise(pass, &a->key_norm, k, saved->ldkv, heads, saved->keys, &saved->key_norm);
        pass_show(pass, a->name, "key_normed", k, saved->ldkv, channels, saved->keys);
    }
    if (!rotates(a)) return;
    rotate(pass, a, k, saved->ldkv, heads, saved->keys, false);
    pass_show(pass, a->name, "key_rotated", k, saved->ldkv, channels, saved->keys);
}

static void use_cache(struct pass *pass, const struct attention *a, struct kv_cache *cache,
                      struct attention_saved *saved) {
    if (!pass_measures(pass)) cache_append(cache, saved->keys, saved->k, saved->v, saved->ldkv, a->key.out);
    read_from_cache(saved, cache, a->key.out);
}

static void project_self(struct pass *pass, const struct attention *a, struct kv_cache *cache,
                         struct attention_saved *saved) {
    real *joined = linear_forward(pass, &a->joined, saved->x, saved->queries->rows);
    saved->ldq = saved->ldkv = a->joined.out;
    saved->keys = saved->queries;
    prepare_query(pass, a, joined, saved);
    prepare_key(pass, a, joined + a->query.out, saved);
    if (cache) use_cache(pass, a, cache, saved);
}

static void project_cross(struct pass *pass, const struct attention *a, const struct batch *keys,
                          struct kv_cache *cache, struct attention_saved *saved) {
    saved->ldq = a->query.out;
    prepare_query(pass, a, linear_forward(pass, &a->query, saved->x, saved->queries->rows), saved);
    if (cache && cache->filled) {
        read_from_cache(saved, cache, a->key.out);
        return;
    }
    saved->ldkv = a->joined.out;
    saved->keys = keys;
    prepare_key(pass, a, linear_forward(pass, &a->joined, saved->memory, keys->rows), saved);
    if (cache) use_cache(pass, a, cache, saved);
}

/* ---- looking ---- */

typedef void (*fill_map)(real *map, real *scratch, const struct pass *pass, const struct scores *scores,
                         const struct attention_saved *saved, int b, int h);

static void fill_scores(real *map, real *scratch, const struct pass *pass, const struct scores *scores,
                        const struct attention_saved *saved, int b, int h) {
    (void)scratch, (void)pass;
    attention_scores(map, scores, b, h, saved->q, saved->ldq, saved->k, saved->ldkv);
}

static void fill_weights(real *map, real *scratch, const struct pass *pass, const struct scores *scores,
                         const struct attention_saved *saved, int b, int h) {
    pass->core->map(map, scratch, scores, saved->core, b, h, saved->q, saved->ldq, saved->k, saved->ldkv);
}

static void show_maps(struct pass *pass, const struct attention *a, const char *site, fill_map fill,
                      const struct scores *scores, const struct attention_saved *saved) {
    if (!pass_wants(pass, a->name, site)) return;
    size_t mark = arena_mark(pass->arena);
    real *map = pass_take(pass, (size_t)saved->queries->longest, (size_t)saved->keys->longest);
    real *scratch = pass_take(pass, pass->core->scratch_size(scores), 1);
    for (int b = 0; b < saved->queries->sequences; b++)
        for (int h = 0; h < a->shape.heads; h++) {
            fill(map, scratch, pass, scores, saved, b, h);
            pass->capture->map(pass->capture->context, a->name, site, b, h, map, saved->queries->length[b],
                               saved->keys->length[b]);
        }
    arena_reset(pass->arena, mark);
}

/* Memory that a capturing walk needs beyond the plain one. */
static void reserve_maps(struct pass *pass, const struct scores *scores, const struct attention_saved *saved) {
    if (!pass->capture || !pass_measures(pass)) return;
    size_t mark = arena_mark(pass->arena);
    pass_take(pass, (size_t)saved->queries->longest, (size_t)saved->keys->longest);
    pass_take(pass, pass->core->scratch_size(scores), 1);
    arena_reset(pass->arena, mark);
}

static void show(struct pass *pass, const struct attention *a, const struct scores *scores,
                 const struct attention_saved *saved) {
    reserve_maps(pass, scores, saved);
    show_maps(pass, a, "scores", fill_scores, scores, saved);
    show_maps(pass, a, "weights", fill_weights, scores, saved);
    pass_show(pass, a->name, "heads", saved->heads, a->query.out, a->query.out, saved->queries);
}

/* Working memory for the gradients of one map. */
struct map_space {
    real *map, *gradient; /* (T, S) */
    real *scratch;        /* the core's */
    real *row;            /* (S) */
};

/* Gradients of the weights, then of the scores. They are computed for whoever asked and for nobody else: the core's
 * backward goes its own way. */
static void show_map_gradient(struct pass *pass, const struct attention *a, const struct scores *scores,
                              const struct attention_saved *saved, const real *dheads, int b, int h,
                              struct map_space *space) {
    const struct capture *see = pass->capture;
    int queries = saved->queries->length[b], keys = saved->keys->length[b];
    attention_weights_gradient(space->gradient, space->row, scores, b, h, dheads, saved->v, saved->ldkv);
    if (pass_wants(pass, a->name, "weights"))
        see->map_gradient(see->context, a->name, "weights", b, h, space->gradient, queries, keys);
    if (!pass_wants(pass, a->name, "scores")) return;
    fill_weights(space->map, space->scratch, pass, scores, saved, b, h);
    attention_scores_gradient(space->gradient, space->row, scores, b, space->map);
    see->map_gradient(see->context, a->name, "scores", b, h, space->gradient, queries, keys);
}

static void show_map_gradients(struct pass *pass, const struct attention *a, const struct scores *scores,
                               const struct attention_saved *saved, const real *dheads) {
    if (!pass->capture || !pass->capture->map_gradient) return;
    size_t mark = arena_mark(pass->arena);
    size_t queries = (size_t)saved->queries->longest, keys = (size_t)saved->keys->longest;
    struct map_space space = {.map = pass_take(pass, queries, keys),
                              .gradient = pass_take(pass, queries, keys),
                              .scratch = pass_take(pass, pass->core->scratch_size(scores), 1),
                              .row = pass_take(pass, keys, 1)};
    bool wanted = pass_wants(pass, a->name, "weights") || pass_wants(pass, a->name, "scores");
    for (int b = 0; wanted && b < saved->queries->sequences; b++)
        for (int h = 0; h < a->shape.heads; h++) show_map_gradient(pass, a, scores, saved, dheads, b, h, &space);
    arena_reset(pass->arena, mark);
}

/* ---- gates ---- */

static const real *gate_of(const struct pass *pass, const char *layer) {
    for (int i = 0; i < pass->gate_count; i++)
        if (strcmp(pass->gates[i].layer, layer) == 0) return pass->gates[i].value;
    return NULL;
}

static void apply_gate(struct pass *pass, const struct attention *a, struct attention_saved *saved) {
    saved->gate = gate_of(pass, a->name);
    saved->gated = saved->heads;
    if (!saved->gate) return;
    size_t rows = (size_t)saved->queries->rows, channels = (size_t)a->query.out;
    saved->gated = pass_take(pass, rows, channels);
    if (pass_measures(pass)) return;
    memcpy(saved->gated, saved->heads, rows * channels * sizeof(real));
    head_gates(saved->gated, saved->gate, saved->queries->rows, a->shape.heads, a->shape.d_head);
}

/* ---- forward and backward ---- */

real *attention_forward(struct pass *pass, const struct attention *a, const real *x, const struct batch *queries,
                        const real *memory, const struct batch *keys, struct kv_cache *cache,
                        struct attention_saved *saved) {
    *saved = (struct attention_saved){.queries = queries, .x = x, .memory = memory};
    if (a->cross)
        project_cross(pass, a, keys, cache, saved);
    else
        project_self(pass, a, cache, saved);
    saved->dropout = pass_dropout_weights(pass, a->dropout_site, queries, saved->keys, a->shape.heads);
    struct batch placed = *queries;
    if (cache && cache->place) placed.position = cache->place;
    struct scores scores = scores_of(pass, a, &placed, saved->keys, saved->dropout);
    saved->core = pass_take(pass, pass->core->saved_size(&scores), 1);
    saved->heads = pass_take(pass, (size_t)queries->rows, (size_t)a->query.out);
    size_t mark = arena_mark(pass->arena);
    real *scratch = pass_take(pass, pass->core->scratch_size(&scores), 1);
    if (!pass_measures(pass))
        pass->core->forward(saved->heads, saved->core, scratch, &scores, saved->q, saved->ldq, saved->k, saved->ldkv,
                            saved->v, saved->ldkv);
    arena_reset(pass->arena, mark);
    profile_lap(pass->profile, OPERATION_ATTENTION);
    show(pass, a, &scores, saved);
    apply_gate(pass, a, saved);
    real *out = linear_forward(pass, &a->output, saved->gated, queries->rows);
    pass_show(pass, a->name, "out", out, a->output.out, a->output.out, queries);
    return out;
}

/* Gradients of q, k, v, laid out as project_self or project_cross laid out the values. */
struct projection_gradients {
    real *q, *k, *v;
    int ldq, ldkv;
};

static struct projection_gradients take_gradients(struct pass *pass, const struct attention *a,
                                                  const struct attention_saved *saved) {
    struct projection_gradients d = {.ldq = saved->ldq, .ldkv = saved->ldkv};
    int q = a->query.out, kv = a->key.out;
    d.q = pass_take(pass, (size_t)saved->queries->rows, (size_t)saved->ldq);
    d.k = a->cross ? pass_take(pass, (size_t)saved->keys->rows, (size_t)saved->ldkv) : d.q + q;
    d.v = d.k + kv;
    return d;
}

/* From gradients of what the scores took back to those of what the projections gave. */
static void prepare_backward(struct pass *pass, const struct attention *a, const struct projection_gradients *d,
                             const struct attention_saved *saved) {
    const struct batch *queries = saved->queries, *keys = saved->keys;
    int heads = a->shape.heads, kv_heads = a->shape.kv_heads, q = a->query.out, kv = a->key.out;
    if (rotates(a)) {
        pass_show_gradient(pass, a->name, "query_rotated", d->q, d->ldq, q, queries->rows);
        pass_show_gradient(pass, a->name, "key_rotated", d->k, d->ldkv, kv, keys->rows);
        rotate(pass, a, d->q, d->ldq, heads, queries, true);
        rotate(pass, a, d->k, d->ldkv, kv_heads, keys, true);
    }
    if (a->normed) {
        pass_show_gradient(pass, a->name, "query_normed", d->q, d->ldq, q, queries->rows);
        pass_show_gradient(pass, a->name, "key_normed", d->k, d->ldkv, kv, keys->rows);
        normalise_backward(pass, &a->query_norm, d->q, d->ldq, heads, queries, &saved->query_norm);
        normalise_backward(pass, &a->key_norm, d->k, d->ldkv, kv_heads, keys, &saved->key_norm);
    }
    pass_show_gradient(pass, a->name, "query", d->q, d->ldq, q, queries->rows);
    pass_show_gradient(pass, a->name, "key", d->k, d->ldkv, kv, keys->rows);
    pass_show_gradient(pass, a->name, "value", d->v, d->ldkv, kv, keys->rows);
}

real *attention_backward(struct pass *pass, const struct attention *a, const real *dy, real **dmemory,
                         const struct attention_saved *saved) {
    int rows = saved->queries->rows;
    pass_show_gradient(pass, a->name, "out", dy, a->output.out, a->output.out, rows);
    real *dheads = linear_backward(pass, &a->output, dy, saved->gated, rows);
    if (saved->gate && !pass_measures(pass)) head_gates(dheads, saved->gate, rows, a->shape.heads, a->shape.d_head);
    pass_show_gradient(pass, a->name, "heads", dheads, a->query.out, a->query.out, rows);
    struct scores scores = scores_of(pass, a, saved->queries, saved->keys, saved->dropout);
    show_map_gradients(pass, a, &scores, saved, dheads);
    struct projection_gradients d = take_gradients(pass, a, saved);
    size_t mark = arena_mark(pass->arena);
    real *scratch = pass_take(pass, pass->core->scratch_size(&scores), 1);
    if (!pass_measures(pass))
        pass->core->backward(d.q, d.k, d.v, scratch, &scores, dheads, saved->heads, saved->core, saved->q, saved->ldq,
                             saved->k, saved->ldkv, saved->v, saved->ldkv);
    arena_reset(pass->arena, mark);
    profile_lap(pass->profile, OPERATION_ATTENTION);
    prepare_backward(pass, a, &d, saved);
    if (!a->cross) return linear_backward(pass, &a->joined, d.q, saved->x, rows);
    *dmemory = linear_backward(pass, &a->joined, d.k, saved->memory, saved->keys->rows);
    return linear_backward(pass, &a->query, d.q, saved->x, rows);
}
