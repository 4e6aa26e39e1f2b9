/* See cores.h. Behind saved and scratch lie canaries, between the rows numbers that must stay. */
#include "cores.h"
#include "definition.h"
#include "kernels/fused.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static const double epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;

enum { CANARIES = 16, Q_GAP = 5, K_GAP = 3, V_GAP = 2 };
static const real canary = -12345, between = 54321, table_before = 2;

/* ---- a problem: a descriptor and the arrays it speaks of ---- */

static int head_channels(const struct problem *p) {
    return p->scores.heads * p->scores.d_head;
}

static int kv_channels(const struct problem *p) {
    return p->scores.kv_heads * p->scores.d_head;
}

static real *new_random(int rows, int ld, uint64_t seed) {
    real *x = new_reals((size_t)rows * (size_t)ld);
    fill_random(x, (size_t)rows * (size_t)ld, seed, 1);
    return x;
}

/* Over two batches, which it takes; everything else is the caller's to set, then problem_fill. */
struct problem problem_new(struct batch_buffer query, struct batch_buffer key, int heads, int kv_heads, int d_head) {
    struct problem p = {.query = query, .key = key};
    p.scores =
        (struct scores){.heads = heads, .kv_heads = kv_heads, .d_head = d_head, .scale = RC(1 / sqrt((double)d_head))};
    return p;
}

/* Only now, since the descriptor points into the problem. */
void problem_fill(struct problem *p, uint64_t seed) {
    struct scores *s = &p->scores;
    for (int h = 0; h < s->heads; h++) {
        p->kv_of_head[h] = h * s->kv_heads / s->heads;
        p->original_head[h] = 3 * h + 1; /* as if heads had been removed */
    }
    s->query = &p->query.view;
    s->key = &p->key.view;
    s->kv_of_head = p->kv_of_head;
    s->original_head = p->original_head;
    p->ldo = head_channels(p);
    p->ldq = head_channels(p) + Q_GAP;
    p->ldk = kv_channels(p) + K_GAP;
    p->ldv = kv_channels(p) + V_GAP;
    p->q = new_random(s->query->rows, p->ldq, seed);
    p->k = new_random(s->key->rows, p->ldk, seed + 1);
    p->v = new_random(s->key->rows, p->ldv, seed + 2);
    p->dout = new_random(s->query->rows, p->ldo, seed + 3);
}

void set_dropout(struct problem *p, double rate, bool drawn) {
    p->scores.dropout = (struct dropout){.rate = RC(rate), .key = philox_derive(3, PHILOX_DROPOUT, 4), .site = 5};
    if (!drawn) return;
    size_t count = scores_packed_size(&p->scores);
    p->drawn = malloc(count);
    assert_non_null(p->drawn);
    for (size_t i = 0; i < count; i++) p->drawn[i] = (uint8_t)(random_int(6, i, 0, 99) >= (int)(100 * rate));
    p->scores.dropout.drawn = p->drawn;
}

static size_t table_size(const struct problem *p) {
    return (size_t)p->scores.buckets.count * ORIGINAL_HEADS;
}

void set_alibi(struct problem *p, int heads) {
    assert_in_range(heads, 1, ORIGINAL_HEADS);
    for (int h = 0; h < ORIGINAL_HEADS; h++) p->slope[h] = RC(NAN);
    alibi_slopes(p->slope, heads);
    p->scores.bias = SCORE_BIAS_ALIBI;
    p->scores.slope = p->slope;
}

void set_buckets(struct problem *p, int count, int max_distance, bool bidirectional) {
    p->table = new_random(count, ORIGINAL_HEADS, 99);
    p->scores.bias = SCORE_BIAS_BUCKETS;
    p->scores.buckets = (struct score_buckets){.table = p->table,
                                               .heads = ORIGINAL_HEADS,
                                               .count = count,
                                               .max_distance = max_distance,
                                               .bidirectional = bidirectional};
}

void problem_free(struct problem *p) {
    batch_buffer_free(&p->query);
    batch_buffer_free(&p->key);
    free(p->q);
    free(p->k);
    free(p->v);
    free(p->dout);
    free(p->drawn);
    free(p->table);
}

/* ---- the paths of the fused core, each as a core of its own that never leaves it ---- */

static const struct fused_path *path;

static size_t path_saved_size(const struct scores *s) {
    return 2 * (size_t)s->query->rows * (size_t)s->heads;
}

static size_t path_scratch_size(const struct scores *s) {
    return path->scratch_size(s);
}

static struct fused_head path_head(real *scratch, const struct scores *s, const real *saved, int b, int h,
                                   const real *q, int ldq, const real *k, int ldk) {
    int first = s->query->offset[b], key = s->key->offset[b], kv = s->kv_of_head[h] * s->d_head;
    return (struct fused_head){.scores = s,
                               .b = b,
                               .h = h,
                               .queries = s->query->length[b],
                               .keys = s->key->length[b],
                               .q = q + first * ldq + h * s->d_head,
                               .k = k + key * ldk + kv,
                               .ldq = ldq,
                               .ldk = ldk,
                               .ldo = s->heads * s->d_head,
                               .maximum = saved + first * s->heads + h,
                               .sum = saved + (s->query->rows + first) * s->heads + h,
                               .scratch = scratch};
}

static void path_forward(real *out, real *saved, real *scratch, const struct scores *s, const real *q, int ldq,
                         const real *k, int ldk, const real *v, int ldv) {
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct fused_head head = path_head(scratch, s, saved, b, h, q, ldq, k, ldk);
            head.v = v + s->key->offset[b] * ldv + s->kv_of_head[h] * s->d_head;
            head.ldv = ldv;
            path->forward(out + s->query->offset[b] * head.ldo + h * s->d_head, saved + (head.maximum - saved),
                          saved + (head.sum - saved), NULL, &head);
        }
}

static void path_backward(real *dq, real *dk, real *dv, real *scratch, const struct scores *s, const real *dout,
                          const real *out, const real *saved, const real *q, int ldq, const real *k, int ldk,
                          const real *v, int ldv) {
    clear_rows(dq, ldq, s->query->rows, s->heads * s->d_head);
    clear_rows(dk, ldk, s->key->rows, s->kv_heads * s->d_head);
    clear_rows(dv, ldv, s->key->rows, s->kv_heads * s->d_head);
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct fused_head head = path_head(scratch, s, saved, b, h, q, ldq, k, ldk);
            int kv = s->kv_of_head[h] * s->d_head, o = s->query->offset[b] * head.ldo + h * s->d_head;
            head.v = v + s->key->offset[b] * ldv + kv;
            head.ldv = ldv;
            struct fused_gradients g = {dq + (head.q - q), dk + (head.k - k), dv + (head.v - v), dout + o, out + o};
            path->backward(&g, &head);
        }
}

static void path_map(real *weights, real *scratch, const struct scores *s, const real *saved, int b, int h,
                     const real *q, int ldq, const real *k, int ldk) {
    struct fused_head head = path_head(scratch, s, saved, b, h, q, ldq, k, ldk);
    path->map(weights, &head);
}

static const struct attention_core path_core = {
    {"path", "one path of the fused core"}, path_saved_size, path_scratch_size, path_forward, path_backward, path_map};

/* Every row of the table, then each path; NULL past the end. */
const struct attention_core *core_at(size_t i) {
    static const struct fused_path *const paths[] = {&fused_short, &fused_long};
    size_t rows = 0;
    while (attention_core_row(rows)) rows++;
    if (i < rows) return (const struct attention_core *)attention_core_row(i);
    if (i >= rows + sizeof paths / sizeof *paths) return NULL;
    path = paths[i - rows];
    return &path_core;
}

/* ---- what a core makes of it ---- */

static real *new_filled(size_t count, real value) {
    real *x = new_reals(count);
    fill_value(x, count, value);
    return x;
}

static void check_canaries(const struct result *r) {
    for (int i = 0; i < CANARIES; i++)
        assert_true(r->saved[r->saved_size + (size_t)i] == canary && r->scratch[r->scratch_size + (size_t)i] == canary);
}

/* What lies between the rows of a gradient is not the core's. */
static void check_between(const real *x, int rows, int ld, int channels) {
    for (int n = 0; n < rows; n++)
        for (int c = channels; c < ld; c++) assert_true(x[n * ld + c] == between);
}

struct result run_core(const struct attention_core *core, const struct problem *p) {
    struct scores given = p->scores, *s = &given;
    int queries = s->query->rows, keys = s->key->rows;
    struct result r = {.saved_size = core->saved_size(s), .scratch_size = core->scratch_size(s)};
    r.saved = new_filled(r.saved_size + CANARIES, canary);
    r.scratch = new_filled(r.scratch_size + CANARIES, canary);
    r.out = new_filled((size_t)queries * (size_t)p->ldo, RC(NAN)); /* what was there before does not matter */
    if (p->table) r.dtable = new_filled(table_size(p), table_before);
    given.buckets.dtable = r.dtable;
    r.dq = new_filled((size_t)queries * (size_t)p->ldq, between);
    r.dk = new_filled((size_t)keys * (size_t)p->ldk, between);
    r.dv = new_filled((size_t)keys * (size_t)p->ldv, between);
    core->forward(r.out, r.saved, r.scratch, s, p->q, p->ldq, p->k, p->ldk, p->v, p->ldv);
    fill_value(r.scratch, r.scratch_size, RC(NAN)); /* nothing may be left there for later */
    core->backward(r.dq, r.dk, r.dv, r.scratch, s, p->dout, r.out, r.saved, p->q, p->ldq, p->k, p->ldk, p->v, p->ldv);
    fill_value(r.scratch, r.scratch_size, RC(NAN));
    check_canaries(&r);
    check_between(r.dq, queries, p->ldq, head_channels(p));
    check_between(r.dk, keys, p->ldk, kv_channels(p));
    check_between(r.dv, keys, p->ldv, kv_channels(p));
    for (size_t i = 0; r.dtable && i < table_size(p); i++) r.dtable[i] -= table_before;
    return r;
}

void result_free(struct result *r) {
    free(r->out);
    free(r->dq);
    free(r->dk);
    free(r->dv);
    free(r->dtable);
    free(r->saved);
    free(r->scratch);
}

/* ---- maps ---- */

/* map (T, S) of a core against the definition: close, rows summing to 1 or nothing, hidden entries exactly 0. */
static void check_map(struct figure *figure, const struct problem *p, const real *map, int b, int h) {
    int keys = p->scores.key->length[b];
    real *exact = new_reals((size_t)keys);
    for (int i = 0; i < p->scores.query->length[b]; i++) {
        const real *row = map + i * keys;
        bool sees = exact_weights(exact, p, b, h, i);
        figure_check(figure, row, exact, (size_t)keys);
        double sum = 0;
        for (int j = 0; j < keys; j++) {
            sum += (double)row[j];
            if (is_hidden(&p->scores, b, i, j)) assert_true(row[j] == 0);
        }
        /* roundings of the sum in 16 lanes and of each quotient */
        assert_true(fabs(sum - sees) <= (keys / 16 + 20) * epsilon / 2);
    }
    free(exact);
}

/* map times V is the head's output, where nothing is dropped. */
static void check_map_times_values(struct figure *figure, const struct problem *p, const real *map, const real *out,
                                   int b, int h) {
    const struct scores *s = &p->scores;
    int keys = s->key->length[b];
    for (int i = 0; i < s->query->length[b]; i++)
        for (int d = 0; d < s->d_head; d++) {
            double sum = 0;
            for (int j = 0; j < keys; j++)
                sum += (double)map[i * keys + j] *
                       (double)p->v[(s->key->offset[b] + j) * p->ldv + s->kv_of_head[h] * s->d_head + d];
            real expected = (real)sum;
            figure_check(figure, out + (s->query->offset[b] + i) * p->ldo + h * s->d_head + d, &expected, 1);
        }
}

/* ---- all checks of one problem ---- */

static struct { struct figure out, dq, dk, dv, dtable, map, values, gradients; } figures;

void check_maps(const struct attention_core *core, const struct problem *p, const struct result *r) {
    const struct scores *s = &p->scores;
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            size_t count = (size_t)s->query->length[b] * (size_t)s->key->length[b];
            real *map = new_filled(count + 1, canary);
            core->map(map, r->scratch, s, r->saved, b, h, p->q, p->ldq, p->k, p->ldk);
            assert_true(map[count] == canary);
            check_map(&figures.map, p, map, b, h);
            if (s->dropout.rate == 0) check_map_times_values(&figures.values, p, map, r->out, b, h);
            free(map);
        }
    check_canaries(r);
}

/* A row's gradients of weights (dp) and scores (dx) say what the core itself gave: sum p dp = dout . out, and
 * scale * dx k = dq, with the derivative of a soft cap between. Hidden entries of dx are exactly 0. */
static void check_gradient_row(const struct problem *p, const struct result *r, const real *weights, const real *dp,
                               const real *dx, int b, int h, int i) {
    const struct scores *s = &p->scores;
    int query = s->query->offset[b] + i, keys = s->key->length[b];
    double mean = 0, expected = 0;
    for (int j = 0; j < keys; j++) mean += (double)weights[j] * (double)dp[j];
    for (int d = 0; d < s->d_head; d++) {
        int at = query * p->ldo + h * s->d_head + d;
        expected += (double)p->dout[at] * (double)r->out[at];
    }
    figure_check(&figures.gradients, &(real){(real)mean}, &(real){(real)expected}, 1);
    for (int d = 0; d < s->d_head; d++) {
        double sum = 0;
        for (int j = 0; j < keys; j++)
            sum += (double)dx[j] * (double)exact_cap(p, b, h, i, j) *
                   (double)p->k[(s->key->offset[b] + j) * p->ldk + s->kv_of_head[h] * s->d_head + d];
        real dq = (real)(sum * (double)s->scale);
        figure_check(&figures.gradients, &dq, r->dq + query * p->ldq + h * s->d_head + d, 1);
    }
    for (int j = 0; j < keys; j++)
        if (is_hidden(s, b, i, j)) assert_true(dx[j] == 0);
}

/* The gradients of the maps, which no core keeps. */
static void check_map_gradients(const struct attention_core *core, const struct problem *p, const struct result *r) {
    const struct scores *s = &p->scores;
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            size_t keys = (size_t)s->key->length[b], count = (size_t)s->query->length[b] * keys;
            real *map = new_reals(count), *dp = new_filled(count + 1, canary), *dx = new_filled(count + 1, canary);
            real *scratch = new_filled(keys + 1, canary);
            core->map(map, r->scratch, s, r->saved, b, h, p->q, p->ldq, p->k, p->ldk);
            attention_weights_gradient(dp, scratch, s, b, h, p->dout, p->v, p->ldv);
            memcpy(dx, dp, count * sizeof *dx);
            attention_scores_gradient(dx, scratch, s, b, map);
            assert_true(dp[count] == canary && dx[count] == canary && scratch[keys] == canary);
            for (int i = 0; i < s->query->length[b]; i++) {
                size_t row = (size_t)i * keys;
                check_gradient_row(p, r, map + row, dp + row, dx + row, b, h, i);
            }
            free(map), free(dp), free(dx), free(scratch);
        }
}

/* Every core against what it should give. */
static void check_cores(const struct problem *p, const struct result *expected) {
    const struct scores *s = &p->scores;
    for (size_t i = 0; core_at(i); i++) {
        const struct attention_core *core = core_at(i);
        struct result r = run_core(core, p);
        figure_check(&figures.out, r.out, expected->out, (size_t)s->query->rows * (size_t)p->ldo);
        figure_check(&figures.dq, r.dq, expected->dq, (size_t)s->query->rows * (size_t)p->ldq);
        figure_check(&figures.dk, r.dk, expected->dk, (size_t)s->key->rows * (size_t)p->ldk);
        figure_check(&figures.dv, r.dv, expected->dv, (size_t)s->key->rows * (size_t)p->ldv);
        if (p->table) figure_check(&figures.dtable, r.dtable, expected->dtable, table_size(p));
        check_maps(core, p, &r);
        check_map_gradients(core, p, &r);
        result_free(&r);
    }
}

void check_problem(const struct problem *p) {
    struct result explicit = run_core(&attention_explicit, p);
    check_cores(p, &explicit);
    result_free(&explicit);
}

void check_problem_exactly(const struct problem *p) {
    struct result exact = {.out = new_filled((size_t)(p->scores.query->rows * p->ldo), between),
                           .dq = new_filled((size_t)(p->scores.query->rows * p->ldq), between),
                           .dk = new_filled((size_t)(p->scores.key->rows * p->ldk), between),
                           .dv = new_filled((size_t)(p->scores.key->rows * p->ldv), between),
                           .dtable = p->table ? new_filled(table_size(p), 0) : NULL};
    exact_attention(&exact, p);
    check_cores(p, &exact);
    result_free(&exact);
}

int start_figures(void **state) {
    (void)state;
    figures.out = (struct figure){"out, core against explicit or the definition", 84 * epsilon, 0};
    figures.dq = (struct figure){"dq", 84 * epsilon, 0};
    figures.dk = (struct figure){"dk", 84 * epsilon, 0};
    figures.dv = (struct figure){"dv", 84 * epsilon, 0};
    figures.dtable = (struct figure){"dtable", 84 * epsilon, 0};
    figures.map = (struct figure){"map against the definition", 8.4 * epsilon, 0};
    figures.values = (struct figure){"map times V against out", 84 * epsilon, 0};
    figures.gradients = (struct figure){"gradients of maps against dq and out", 84 * epsilon, 0};
    return 0;
}

int show_figures(void **state) {
    (void)state;
    figure_show(&figures.out);
    figure_show(&figures.dq);
    figure_show(&figures.dk);
    figure_show(&figures.dv);
    figure_show(&figures.dtable);
    figure_show(&figures.map);
    figure_show(&figures.values);
    figure_show(&figures.gradients);
    return 0;
}
