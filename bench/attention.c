/*
 * Attention cores, every row of their table: many short sequences with many heads, and one long head. A core whose
 * memory would not fit in 64 MiB is left out where that is so. Besides all keys and those up to a query, each of what
 * else scores can do on top of that, and most of it at once; such a case is also told as a multiple of the plain causal
 * one's time.
 *
 * Work is the core's own arithmetic: forward two products (scores, weights times values), backward five (scores again,
 * and four gradients), 2 Dh each for every pair of a query and a key that it sees. The reference is the explicit core:
 * over all queries of short sequences, over eight blocks of a long one's queries, the gradient of whose other outputs
 * is 0, so that gradients of keys and values are whole.
 */
#include "bench.h"
#include "base/memory.h"
#include "kernels/kernels.h"

#include <string.h>

/* ---- the table: cores, shapes, what scores do, forward or backward ---- */

static const struct shape {
    const char *name;
    int sequences, length, heads, d_head;
} shapes[] = {
    {"T4", 64, 4, 8, 16},      {"T8", 64, 8, 8, 16},      {"T16", 32, 16, 8, 16},    {"T32", 16, 32, 8, 32},
    {"T64", 8, 64, 8, 32},     {"T128", 1, 128, 8, 64},   {"T512", 1, 512, 2, 64},   {"T1024", 1, 1024, 1, 64},
    {"T2048", 1, 2048, 1, 64}, {"T4096", 1, 4096, 1, 64}, {"T8192", 1, 8192, 1, 64}, {"T16384", 1, 16384, 1, 64},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST_HEADS = 8, BLOCKS = 8, BLOCK = 64 };
enum { TABLE = SCORE_BUCKETS * MOST_HEADS }; /* of buckets, at most */

static const struct manner {
    const char *name;
    bool causal, window;
    double soft_cap; /* 1: three deviations of the scores here */
    enum score_bias bias;
} manners[] = {
    {.name = "all"},
    {.name = "causal", .causal = true},
    {.name = "window", .causal = true, .window = true},
    {.name = "soft-cap", .causal = true, .soft_cap = 1},
    {.name = "alibi", .causal = true, .bias = SCORE_BIAS_ALIBI},
    {.name = "buckets", .causal = true, .bias = SCORE_BIAS_BUCKETS},
    {.name = "full", .causal = true, .window = true, .soft_cap = 1, .bias = SCORE_BIAS_BUCKETS},
};
enum { MANNERS = sizeof manners / sizeof *manners, PLAIN = 1 };

struct choice {
    const struct attention_core *core;
    const struct shape *shape;
    const struct manner *manner;
    bool backward;
};

/* A fourth of the sequence, as a model with a window has sequences that are longer. */
static int window_of(const struct choice *c) {
    return c->manner->window ? (c->shape->length + 3) / 4 : 0;
}

static bool fits(const struct choice *c) {
    struct batch batch = batch_sizes(c->shape->sequences, c->shape->length);
    struct scores scores = {.query = &batch,
                            .key = &batch,
                            .heads = c->shape->heads,
                            .causal = c->manner->causal,
                            .window = window_of(c),
                            .soft_cap = RC(c->manner->soft_cap),
                            .bias = c->manner->bias};
    return c->core->saved_size(&scores) * sizeof(real) <= (size_t)64 << 20;
}

static bool choose(size_t i, struct choice *choice) {
    for (size_t core = 0; attention_core_row(core); core++)
        for (size_t shape = 0; shape < SHAPES; shape++)
            for (int variant = 0; variant < 2 * MANNERS; variant++) {
                *choice = (struct choice){(const struct attention_core *)attention_core_row(core), &shapes[shape],
                                          &manners[variant / 2], variant % 2 == 1};
                if (fits(choice) && i-- == 0) return true;
            }
    return false;
}

static bool row(size_t i, char name[CASE_NAME]) {
    struct choice c;
    if (!choose(i, &c)) return false;
    snprintf(name, CASE_NAME, "%s/%s/%s/%s", c.core->variant.name, c.shape->name, c.manner->name,
             c.backward ? "backward" : "forward");
    return true;
}

/* Where a case fits, the causal one of its core, shape and direction does, which takes no more memory. */
static size_t plain(size_t i) {
    struct choice c, other;
    if (!choose(i, &c) || c.manner <= &manners[PLAIN]) return i;
    size_t at = i;
    while (choose(--at, &other) && (other.manner != &manners[PLAIN] || other.backward != c.backward)) continue;
    return at;
}

/* ---- a case ---- */

struct result {
    real *out, *saved, *scratch, *dq, *dk, *dv;
    real *dtable; /* (TABLE) added to */
};

struct state {
    struct choice choice;
    struct batch_buffer batch;
    struct scores scores;
    int head[MOST_HEADS]; /* each its own */
    real slope[MOST_HEADS];
    real table[TABLE];
    int channels; /* H * Dh */
    real *q, *k, *v, *dout;
    struct result result;
};

static void result_free(struct result *r) {
    real *const all[] = {r->out, r->saved, r->scratch, r->dq, r->dk, r->dv, r->dtable};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free_aligned(all[i]);
}

static bool result_new(struct result *r, const struct attention_core *core, const struct scores *s, size_t queries,
                       size_t keys, ch_error *error) {
    *r = (struct result){.out = input_reals(queries, error),
                         .saved = input_reals(core->saved_size(s), error),
                         .scratch = input_reals(core->scratch_size(s), error),
                         .dq = input_reals(queries, error),
                         .dk = input_reals(keys, error),
                         .dv = input_reals(keys, error),
                         .dtable = input_reals(TABLE, error)};
    if (r->out && r->saved && r->scratch && r->dq && r->dk && r->dv && r->dtable) return true;
    result_free(r);
    return false;
}

static void close_case(void *state) {
    struct state *s = state;
    if (!s) return;
    batch_buffer_free(&s->batch);
    mem_free_aligned(s->q);
    mem_free_aligned(s->k);
    mem_free_aligned(s->v);
    mem_free_aligned(s->dout);
    result_free(&s->result);
    mem_free(s);
}

static bool is_long(const struct shape *shape) {
    return shape->sequences == 1 && shape->length > BLOCKS * BLOCK;
}

/* The first query of each verified block. */
static int block_start(const struct shape *shape, int block) {
    return (shape->length - BLOCK) / (BLOCKS - 1) * block;
}

static void fill_gradient(struct state *s, size_t count) {
    size_t size = (size_t)BLOCK * (size_t)s->channels;
    if (!is_long(s->choice.shape)) {
        input_fill(s->dout, count, 4);
        return;
    }
    for (int b = 0; b < BLOCKS; b++)
        input_fill(s->dout + (size_t)block_start(s->choice.shape, b) * (size_t)s->channels, size, 4 + (uint64_t)b);
}

/* `sequences` of `length` from a position on: all of a case, or a block of one sequence. */
static bool fill_batch(struct batch_buffer *batch, int sequences, int length, int position) {
    if (!batch_buffer_new(batch, sequences, sequences * length)) return false;
    for (int b = 0; b < sequences; b++) batch_add(batch, length, position, (uint32_t)b);
    return true;
}

static void fill_scores(struct state *s) {
    const struct shape *shape = s->choice.shape;
    const struct manner *manner = s->choice.manner;
    for (int h = 0; h < shape->heads; h++) s->head[h] = h;
    alibi_slopes(s->slope, shape->heads);
    input_fill(s->table, TABLE, 5);
    s->scores = (struct scores){.query = &s->batch.view,
                                .key = &s->batch.view,
                                .heads = shape->heads,
                                .kv_heads = shape->heads,
                                .d_head = shape->d_head,
                                .kv_of_head = s->head,
                                .original_head = s->head,
                                .scale = RC(1 / sqrt(shape->d_head)),
                                .causal = manner->causal,
                                .window = window_of(&s->choice),
                                .soft_cap = RC(manner->soft_cap),
                                .bias = manner->bias,
                                .slope = s->slope,
                                .buckets = {.table = s->table,
                                            .heads = shape->heads,
                                            .count = SCORE_BUCKETS,
                                            .max_distance = SCORE_MAX_DISTANCE,
                                            .bidirectional = !manner->causal}};
}

static bool fill_inputs(struct state *s, ch_error *error) {
    size_t count = (size_t)s->batch.view.rows * (size_t)s->channels;
    s->q = input_reals(count, error);
    s->k = input_reals(count, error);
    s->v = input_reals(count, error);
    s->dout = input_reals(count, error);
    if (!s->q || !s->k || !s->v || !s->dout) return false;
    input_fill(s->q, count, 1);
    input_fill(s->k, count, 2);
    input_fill(s->v, count, 3);
    fill_gradient(s, count);
    fill_scores(s);
    return result_new(&s->result, s->choice.core, &s->scores, count, count, error);
}

static void forward(const struct attention_core *core, struct result *r, const struct state *s,
                    const struct scores *scores, const real *q) {
    int ld = s->channels;
    core->forward(r->out, r->saved, r->scratch, scores, q, ld, s->k, ld, s->v, ld);
}

static void backward(const struct attention_core *core, struct result *r, const struct state *s,
                     const struct scores *scores, const real *q, const real *dout) {
    int ld = s->channels;
    struct scores with_gradient = *scores;
    with_gradient.buckets.dtable = r->dtable;
    core->backward(r->dq, r->dk, r->dv, r->scratch, &with_gradient, dout, r->out, r->saved, q, ld, s->k, ld, s->v, ld);
}

static void *open_case(size_t i, int threads, ch_error *error) {
    struct state *s = mem_new(1, sizeof *s);
    (void)threads;
    if (!s) return fail_memory(error, "the inputs"), NULL;
    choose(i, &s->choice);
    const struct shape *shape = s->choice.shape;
    s->channels = shape->heads * shape->d_head;
    if (!fill_batch(&s->batch, shape->sequences, shape->length, 0)) {
        fail_memory(error, "the inputs");
        return close_case(s), NULL;
    }
    if (!fill_inputs(s, error)) return close_case(s), NULL;
    forward(s->choice.core, &s->result, s, &s->scores, s->q); /* what backward finds */
    return s;
}

static ch_status run(void *state, ch_error *error) {
    struct state *s = state;
    (void)error;
    if (s->choice.backward)
        backward(s->choice.core, &s->result, s, &s->scores, s->q, s->dout);
    else
        forward(s->choice.core, &s->result, s, &s->scores, s->q);
    return CH_OK;
}

/* Of a query and a key that it sees, in a sequence. */
static double pairs_of(const struct choice *c) {
    double length = c->shape->length, window = c->manner->window ? window_of(c) : length;
    return c->manner->causal ? window * (window + 1) / 2 + (length - window) * window : length * length;
}

static struct work work(const void *state) {
    const struct choice *c = &((const struct state *)state)->choice;
    double pairs = pairs_of(c);
    return (struct work){.flop = (c->backward ? 5 : 2) * 2 * pairs * c->shape->sequences * c->shape->heads *
                                 c->shape->d_head};
}

/* ---- the reference ---- */

/* The explicit core over `length` queries of each sequence from `first` on; adds its gradients of keys and values. */
static ch_status compare_block(const struct state *s, int first, int length, struct result *sums, ch_error *error) {
    const struct shape *shape = s->choice.shape;
    struct batch_buffer queries;
    struct result r = {0};
    struct scores scores = s->scores;
    size_t at = (size_t)first * (size_t)s->channels, keys = (size_t)s->batch.view.rows * (size_t)s->channels;
    size_t count = (size_t)shape->sequences * (size_t)length * (size_t)s->channels;
    if (!fill_batch(&queries, shape->sequences, length, first)) return fail_memory(error, "the reference");
    scores.query = &queries.view;
    ch_status status = CH_NO_MEMORY;
    if (result_new(&r, &attention_explicit, &scores, count, keys, error)) {
        forward(&attention_explicit, &r, s, &scores, s->q + at);
        backward(&attention_explicit, &r, s, &scores, s->q + at, s->dout + at);
        add(sums->dk, r.dk, keys);
        add(sums->dv, r.dv, keys);
        add(sums->dtable, r.dtable, TABLE);
        status = agree("out", s->result.out + at, r.out, count, usual_tolerance(), error);
        if (status == CH_OK && s->choice.backward)
            status = agree("dq", s->result.dq + at, r.dq, count, usual_tolerance(), error);
        result_free(&r);
    }
    batch_buffer_free(&queries);
    return status;
}

static ch_status compare(const struct state *s, struct result *sums, ch_error *error) {
    const struct shape *shape = s->choice.shape;
    size_t keys = (size_t)s->batch.view.rows * (size_t)s->channels;
    ch_status status = CH_OK;
    if (is_long(shape))
        for (int b = 0; b < BLOCKS && status == CH_OK; b++)
            status = compare_block(s, block_start(shape, b), BLOCK, sums, error);
    else
        status = compare_block(s, 0, shape->length, sums, error);
    if (status != CH_OK || !s->choice.backward) return status;
    status = agree("dk", s->result.dk, sums->dk, keys, usual_tolerance(), error);
    if (status == CH_OK) status = agree("dv", s->result.dv, sums->dv, keys, usual_tolerance(), error);
    return status == CH_OK ? agree("dtable", s->result.dtable, sums->dtable, TABLE, usual_tolerance(), error) : status;
}

static ch_status verify(void *state, ch_error *error) {
    struct state *s = state;
    size_t keys = (size_t)s->batch.view.rows * (size_t)s->channels;
    struct result sums = {
        .dk = input_reals(keys, error), .dv = input_reals(keys, error), .dtable = input_reals(TABLE, error)};
    ch_status status = sums.dk && sums.dv && sums.dtable ? run(s, error) : CH_NO_MEMORY;
    if (status == CH_OK) status = compare(s, &sums, error);
    result_free(&sums);
    return status;
}

const struct kind kind_attention = {.name = "attention",
                                    .row = row,
                                    .plain = plain,
                                    .open = open_case,
                                    .verify = verify,
                                    .run = run,
                                    .work = work,
                                    .close = close_case};
