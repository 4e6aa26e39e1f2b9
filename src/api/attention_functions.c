/*
 * Attention as functions on plain arrays: the article's minimal pieces, forward and backward. They run on the explicit
 * core, whose weights are what a caller wants to see. A mask becomes the score descriptor's cut edges.
 */
#include "base/arena.h"
#include "base/error.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"

#include <string.h>

/* One call: its memory, and the batches that its sequences make. */
struct call {
    struct arena arena;
    struct batch_buffer queries, keys;
    struct scores scores;
    int *one_to_one; /* (H) head h is served by key/value head h */
    struct knockout *cut;
    real *saved, *scratch;
};

static void call_free(struct call *c) {
    arena_release(&c->arena);
    batch_buffer_free(&c->queries);
    batch_buffer_free(&c->keys);
}

/* Runs of hidden keys in the mask (sequences / repeat, T, S); `repeat` sequences share a part of it. With cut NULL it
 * only counts. */
static int cuts_of(struct knockout *cut, const unsigned char *mask, int sequences, int repeat, int queries, int keys) {
    int count = 0;
    for (int b = 0; b < sequences; b++)
        for (int i = 0; i < queries; i++) {
            const unsigned char *row = mask + ((size_t)(b / repeat) * (size_t)queries + (size_t)i) * (size_t)keys;
            for (int j = 0; j < keys; j++) {
                if (row[j]) continue;
                int from = j;
                while (j < keys && !row[j]) j++;
                if (cut) cut[count] = (struct knockout){b, i, i + 1, from, j};
                count++;
            }
        }
    return count;
}

struct call_sizes {
    int sequences, repeat, queries, keys, heads, d_head;
};

static bool fill_batches(struct call *c, const struct call_sizes *s) {
    int query_rows, key_rows;
    if (__builtin_mul_overflow(s->sequences, s->queries, &query_rows) ||
        __builtin_mul_overflow(s->sequences, s->keys, &key_rows))
        return false;
    if (!batch_buffer_new(&c->queries, s->sequences, query_rows) || !batch_buffer_new(&c->keys, s->sequences, key_rows))
        return false;
    for (int b = 0; b < s->sequences; b++) {
        batch_add(&c->queries, s->queries, 0, (uint32_t)b);
        batch_add(&c->keys, s->keys, 0, (uint32_t)b);
    }
    return true;
}

/* Takes what every call needs; with a measuring arena it only counts. */
static void take_parts(struct call *c, const struct call_sizes *s, int cuts) {
    c->scores = (struct scores){.query = &c->queries.view,
                                .key = &c->keys.view,
                                .heads = s->heads,
                                .kv_heads = s->heads,
                                .d_head = s->d_head,
                                .scale = RC(1.0 / sqrt(s->d_head)),
                                .knockout_count = cuts};
    c->one_to_one = arena_take(&c->arena, (size_t)s->heads, sizeof *c->one_to_one);
    c->cut = arena_take(&c->arena, (size_t)cuts, sizeof *c->cut);
    c->saved = arena_take(&c->arena, attention_explicit.saved_size(&c->scores), sizeof *c->saved);
    c->scratch = arena_take(&c->arena, attention_explicit.scratch_size(&c->scores), sizeof *c->scratch);
    c->scores.kv_of_head = c->scores.original_head = c->one_to_one;
    c->scores.knockouts = c->cut;
}

/* A call with room for `extra` numbers besides; they come from call_take. */
static ch_status call_new(struct call *c, const struct call_sizes *s, const unsigned char *mask, size_t extra,
                          ch_error *error) {
    *c = (struct call){.arena = arena_measure()};
    int cuts = mask ? cuts_of(NULL, mask, s->sequences, s->repeat, s->queries, s->keys) : 0;
    bool complete = fill_batches(c, s);
    if (complete) {
        take_parts(c, s, cuts);
        arena_take(&c->arena, extra, sizeof(real));
        complete = arena_reserve(&c->arena, c->arena.peak + 64 * 64); /* every array starts on a cache line */
    }
    if (!complete) {
        call_free(c);
        return fail_memory(error, "attention");
    }
    take_parts(c, s, cuts);
    for (int h = 0; h < s->heads; h++) c->one_to_one[h] = h;
    if (mask) cuts_of(c->cut, mask, s->sequences, s->repeat, s->queries, s->keys);
    return CH_OK;
}

static real *call_take(struct call *c, size_t count) {
    return arena_take(&c->arena, count, sizeof(real));
}

/* Floats as real: what the kernels compute in. */
static real *call_copy(struct call *c, const float *from, size_t count) {
    real *to = call_take(c, count);
    for (size_t i = 0; i < count; i++) to[i] = RC(from[i]);
    return to;
}

static void give(float *to, const real *from, size_t count) {
    for (size_t i = 0; to && i < count; i++) to[i] = (float)from[i];
}

static ch_status check_sizes(const ch_attention_sizes *s, ch_error *error) {
    const struct {
        const char *name;
        int value;
    } all[] = {
        {"batch", s->batch}, {"heads", s->heads}, {"queries", s->queries}, {"keys", s->keys}, {"d_head", s->d_head}};
    enum { MOST = 1 << 20 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value < 1 || all[i].value > MOST)
            return fail(error, CH_USAGE, "%s: expected 1 to %d, found %d", all[i].name, MOST, all[i].value);
    uint64_t maps = (uint64_t)s->batch * (uint64_t)s->heads, map = (uint64_t)s->queries * (uint64_t)s->keys;
    uint64_t rows = (uint64_t)s->heads * (uint64_t)s->d_head;
    if (maps > INT32_MAX || map > (1ULL << 40) / maps || rows > INT32_MAX ||
        (uint64_t)(s->queries > s->keys ? s->queries : s->keys) * maps > INT32_MAX)
        return fail(error, CH_NO_MEMORY, "attention: %d x %d maps of %d x %d numbers do not fit into memory", s->batch,
                    s->heads, s->queries, s->keys);
    return CH_OK;
}

/* ---- scaled dot-product attention: each batch member and head is a sequence of its own ---- */

static struct call_sizes dot_product_sizes(const ch_attention_sizes *s) {
    return (struct call_sizes){s->batch * s->heads, s->heads, s->queries, s->keys, 1, s->d_head};
}

struct dot_product {
    struct call call;
    size_t query_count, key_count, map_count;
    real *q, *k, *v, *out;
};

/* Copies the inputs and runs forward; room for `extra` numbers is left. */
static ch_status dot_product(struct dot_product *p, const ch_attention_sizes *s, const float *q, const float *k,
                             const float *v, const unsigned char *mask, bool backward, ch_error *error) {
    ch_assert(q && k && v);
    ch_status status = check_sizes(s, error);
    if (status != CH_OK) return status;
    struct call_sizes sizes = dot_product_sizes(s);
    size_t sequences = (size_t)sizes.sequences;
    p->query_count = sequences * (size_t)s->queries * (size_t)s->d_head;
    p->key_count = sequences * (size_t)s->keys * (size_t)s->d_head;
    p->map_count = sequences * (size_t)s->queries * (size_t)s->keys;
    size_t extra = 2 * p->query_count + 2 * p->key_count;
    if (backward) extra += 2 * p->query_count + 2 * p->key_count;
    status = call_new(&p->call, &sizes, mask, extra, error);
    if (status != CH_OK) return status;
    p->q = call_copy(&p->call, q, p->query_count);
    p->k = call_copy(&p->call, k, p->key_count);
    p->v = call_copy(&p->call, v, p->key_count);
    p->out = call_take(&p->call, p->query_count);
    attention_explicit.forward(p->out, p->call.saved, p->call.scratch, &p->call.scores, p->q, s->d_head, p->k,
                               s->d_head, p->v, s->d_head);
    return CH_OK;
}

ch_status ch_scaled_dot_product_attention(const ch_attention_sizes *sizes, const float *q, const float *k,
                                          const float *v, const unsigned char *mask, float *out, float *weights,
                                          ch_error *error) {
    struct dot_product p;
    ch_status status = dot_product(&p, sizes, q, k, v, mask, false, error);
    if (status != CH_OK) return status;
    give(out, p.out, p.query_count);
    give(weights, p.call.saved, p.map_count);
    call_free(&p.call);
    return CH_OK;
}

ch_status ch_scaled_dot_product_attention_backward(const ch_attention_sizes *sizes, const float *q, const float *k,
                                                   const float *v, const unsigned char *mask, const float *dout,
                                                   float *dq, float *dk, float *dv, ch_error *error) {
    struct dot_product p;
    ch_assert(dout);
    ch_status status = dot_product(&p, sizes, q, k, v, mask, true, error);
    if (status != CH_OK) return status;
    int d_head = sizes->d_head;
    const real *up = call_copy(&p.call, dout, p.query_count);
    real *rq = call_take(&p.call, p.query_count), *rk = call_take(&p.call, p.key_count);
    real *rv = call_take(&p.call, p.key_count);
    attention_explicit.backward(rq, rk, rv, p.call.scratch, &p.call.scores, up, p.out, p.call.saved, p.q, d_head, p.k,
                                d_head, p.v, d_head);
    give(dq, rq, p.query_count);
    give(dk, rk, p.key_count);
    give(dv, rv, p.key_count);
    call_free(&p.call);
    return CH_OK;
}

/* ---- multi-head attention ---- */

/* A linear layer without a table: y (rows, out) = x Wt + b. */
static real *project(struct call *c, const real *x, const real *w, const float *bias, int rows, int in, int out) {
    real *y = call_take(c, (size_t)rows * (size_t)out);
    gemm(GEMM_N, GEMM_T, rows, out, in, x, in, w, in, false, y, out);
    if (bias)
        for (int n = 0; n < rows; n++)
            for (int d = 0; d < out; d++) y[(size_t)n * (size_t)out + (size_t)d] += RC(bias[d]);
    return y;
}

/* dx, dW and db of it; dw and db are the caller's floats, NULL: not wanted. Gives dx. */
static real *project_backward(struct call *c, const real *dy, const real *x, const real *w, float *dw, float *db,
                              int rows, int in, int out) {
    real *dx = call_take(c, (size_t)rows * (size_t)in), *grad = call_take(c, (size_t)out * (size_t)in);
    real *sum = call_take(c, (size_t)out);
    gemm(GEMM_N, GEMM_N, rows, in, out, dy, out, w, in, false, dx, in);
    gemm(GEMM_T, GEMM_N, out, in, rows, dy, out, x, in, false, grad, in);
    memset(sum, 0, (size_t)out * sizeof *sum);
    bias_backward(sum, dy, rows, out);
    give(dw, grad, (size_t)out * (size_t)in);
    give(db, sum, (size_t)out);
    return dx;
}

struct multi_head {
    struct call call;
    int width, query_rows, key_rows;
    size_t query_count, key_count, map_count;
    const real *x, *memory, *wq, *wk, *wv, *wo;
    real *q, *k, *v, *heads, *out;
};

/* Numbers that forward, and backward if asked for, takes besides. */
static size_t multi_head_extra(const struct multi_head *m, bool backward) {
    size_t matrix = (size_t)m->width * (size_t)m->width, width = (size_t)m->width;
    size_t forward = 5 * m->query_count + 4 * m->key_count + 4 * matrix;
    return backward ? forward + 6 * m->query_count + 6 * m->key_count + 4 * (matrix + width) : forward;
}

static void multi_head_forward(struct multi_head *m, const ch_attention_parameters *w, const float *x,
                               const float *memory) {
    struct call *c = &m->call;
    size_t matrix = (size_t)m->width * (size_t)m->width;
    int d = m->width;
    m->x = call_copy(c, x, m->query_count);
    m->memory = call_copy(c, memory, m->key_count);
    m->wq = call_copy(c, w->w_q, matrix);
    m->wk = call_copy(c, w->w_k, matrix);
    m->wv = call_copy(c, w->w_v, matrix);
    m->wo = call_copy(c, w->w_o, matrix);
    m->q = project(c, m->x, m->wq, w->b_q, m->query_rows, d, d);
    m->k = project(c, m->memory, m->wk, w->b_k, m->key_rows, d, d);
    m->v = project(c, m->memory, m->wv, w->b_v, m->key_rows, d, d);
    m->heads = call_take(c, m->query_count);
    attention_explicit.forward(m->heads, c->saved, c->scratch, &c->scores, m->q, d, m->k, d, m->v, d);
    m->out = project(c, m->heads, m->wo, w->b_o, m->query_rows, d, d);
}

static ch_status multi_head(struct multi_head *m, const ch_attention_sizes *s, const ch_attention_parameters *w,
                            const float *x, const float *memory, const unsigned char *mask, bool backward,
                            ch_error *error) {
    ch_assert(x && w->w_q && w->w_k && w->w_v && w->w_o);
    ch_status status = check_sizes(s, error);
    if (status == CH_OK && !memory && s->queries != s->keys)
        status = fail(error, CH_USAGE, "keys: self-attention has as many keys as queries, %d, found %d", s->queries,
                      s->keys);
    if (status != CH_OK) return status;
    if (!memory) memory = x;
    *m = (struct multi_head){
        .width = s->heads * s->d_head, .query_rows = s->batch * s->queries, .key_rows = s->batch * s->keys};
    m->query_count = (size_t)m->query_rows * (size_t)m->width;
    m->key_count = (size_t)m->key_rows * (size_t)m->width;
    m->map_count = (size_t)s->batch * (size_t)s->heads * (size_t)s->queries * (size_t)s->keys;
    struct call_sizes sizes = {s->batch, 1, s->queries, s->keys, s->heads, s->d_head};
    status = call_new(&m->call, &sizes, mask, multi_head_extra(m, backward), error);
    if (status == CH_OK) multi_head_forward(m, w, x, memory);
    return status;
}

ch_status ch_multi_head_attention(const ch_attention_sizes *sizes, const ch_attention_parameters *parameters,
                                  const float *x, const float *memory, const unsigned char *mask, float *out,
                                  float *weights, ch_error *error) {
    struct multi_head m;
    ch_status status = multi_head(&m, sizes, parameters, x, memory, mask, false, error);
    if (status != CH_OK) return status;
    give(out, m.out, m.query_count);
    give(weights, m.call.saved, m.map_count);
    call_free(&m.call);
    return CH_OK;
}

ch_status ch_multi_head_attention_backward(const ch_attention_sizes *sizes, const ch_attention_parameters *parameters,
                                           const float *x, const float *memory, const unsigned char *mask,
                                           const float *dout, float *dx, float *dmemory,
                                           const ch_attention_gradients *gradients, ch_error *error) {
    static const ch_attention_gradients none = {0};
    const ch_attention_gradients *g = gradients ? gradients : &none;
    struct multi_head m;
    ch_assert(dout);
    ch_status status = multi_head(&m, sizes, parameters, x, memory, mask, true, error);
    if (status != CH_OK) return status;
    struct call *c = &m.call;
    int d = m.width;
    const real *up = call_copy(c, dout, m.query_count);
    real *dheads = project_backward(c, up, m.heads, m.wo, g->w_o, g->b_o, m.query_rows, d, d);
    real *dq = call_take(c, m.query_count), *dk = call_take(c, m.key_count), *dv = call_take(c, m.key_count);
    attention_explicit.backward(dq, dk, dv, c->scratch, &c->scores, dheads, m.heads, c->saved, m.q, d, m.k, d, m.v, d);
    real *from_q = project_backward(c, dq, m.x, m.wq, g->w_q, g->b_q, m.query_rows, d, d);
    real *from_k = project_backward(c, dk, m.memory, m.wk, g->w_k, g->b_k, m.key_rows, d, d);
    real *from_v = project_backward(c, dv, m.memory, m.wv, g->w_v, g->b_v, m.key_rows, d, d);
    add(from_k, from_v, m.key_count);
    if (!memory) add(from_q, from_k, m.query_count); /* queries and memory are the same rows */
    give(dx, from_q, m.query_count);
    give(memory ? dmemory : NULL, from_k, m.key_count);
    call_free(c);
    return CH_OK;
}
