/*
 * The attention cores: every row of the table against the explicit one, and the weights of all of them against the
 * definition in long double.
 *
 * Outputs and gradients agree to 84 epsilons of max(1, |b|), which is 1e-5 in float; weights, which are at most 1,
 * to 1e-6, 8.4 epsilons. Behind saved and scratch lie canaries, between the rows numbers that must stay.
 */
#include "kernels/kernels.h"
#include "support.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static const double epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;

enum { CANARIES = 16, MOST_HEADS = 4, MOST_KEYS = 70, Q_GAP = 5, K_GAP = 3, V_GAP = 2 };
static const real canary = -12345, between = 54321;

/* ---- a problem: a descriptor and the arrays it speaks of ---- */

struct problem {
    struct batch_buffer query, key;
    struct scores scores;
    int kv_of_head[MOST_HEADS], original_head[MOST_HEADS];
    int ldq, ldk, ldv, ldo;
    real *q, *k, *v, *dout;
    uint8_t *drawn;
};

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
static struct problem problem_new(struct batch_buffer query, struct batch_buffer key, int heads, int kv_heads,
                                  int d_head) {
    struct problem p = {.query = query, .key = key};
    p.scores =
        (struct scores){.heads = heads, .kv_heads = kv_heads, .d_head = d_head, .scale = RC(1 / sqrt((double)d_head))};
    return p;
}

/* Only now, since the descriptor points into the problem. */
static void problem_fill(struct problem *p, uint64_t seed) {
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

static void set_dropout(struct problem *p, double rate, bool drawn) {
    p->scores.dropout = (struct dropout){.rate = RC(rate), .key = philox_derive(3, PHILOX_DROPOUT, 4), .site = 5};
    if (!drawn) return;
    size_t count = scores_packed_size(&p->scores);
    p->drawn = malloc(count);
    assert_non_null(p->drawn);
    for (size_t i = 0; i < count; i++) p->drawn[i] = (uint8_t)(random_int(6, i, 0, 99) >= (int)(100 * rate));
    p->scores.dropout.drawn = p->drawn;
}

static void problem_free(struct problem *p) {
    batch_buffer_free(&p->query);
    batch_buffer_free(&p->key);
    free(p->q);
    free(p->k);
    free(p->v);
    free(p->dout);
    free(p->drawn);
}

/* ---- what a core makes of it ---- */

struct result {
    real *out, *dq, *dk, *dv, *saved, *scratch;
    size_t saved_size, scratch_size;
};

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

static struct result run_core(const struct attention_core *core, const struct problem *p) {
    const struct scores *s = &p->scores;
    int queries = s->query->rows, keys = s->key->rows;
    struct result r = {.saved_size = core->saved_size(s), .scratch_size = core->scratch_size(s)};
    r.saved = new_filled(r.saved_size + CANARIES, canary);
    r.scratch = new_filled(r.scratch_size + CANARIES, canary);
    r.out = new_filled((size_t)queries * (size_t)p->ldo, between);
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
    return r;
}

static void result_free(struct result *r) {
    free(r->out);
    free(r->dq);
    free(r->dk);
    free(r->dv);
    free(r->saved);
    free(r->scratch);
}

/* ---- the definition ---- */

static bool is_hidden(const struct scores *s, int b, int i, int j) {
    int position = s->query->position[s->query->offset[b] + i];
    if (s->causal && j > position) return true;
    for (int c = 0; c < s->knockout_count; c++) {
        const struct knockout *cut = &s->knockouts[c];
        if ((cut->sequence == -1 || cut->sequence == b) && position >= cut->query_from && position < cut->query_to &&
            j >= cut->key_from && j < cut->key_to)
            return true;
    }
    return false;
}

/* The weights of one query; gives whether it sees anything. */
static bool exact_weights(real *row, const struct problem *p, int b, int h, int i) {
    const struct scores *s = &p->scores;
    const real *q = p->q + (s->query->offset[b] + i) * p->ldq + h * s->d_head;
    long double e[MOST_KEYS], sum = 0;
    for (int j = 0; j < s->key->length[b]; j++) {
        const real *k = p->k + (s->key->offset[b] + j) * p->ldk + s->kv_of_head[h] * s->d_head;
        long double dot = 0;
        for (int d = 0; d < s->d_head; d++) dot += (long double)q[d] * (long double)k[d];
        e[j] = is_hidden(s, b, i, j) ? 0 : expl(dot * (long double)s->scale);
        sum += e[j];
    }
    for (int j = 0; j < s->key->length[b]; j++) row[j] = sum > 0 ? (real)(e[j] / sum) : 0;
    return sum > 0;
}

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

static struct { struct figure out, dq, dk, dv, map, values; } figures;

static void check_maps(const struct attention_core *core, const struct problem *p, const struct result *r) {
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

static void check_problem(const struct problem *p) {
    const struct scores *s = &p->scores;
    struct result reference = run_core(&attention_explicit, p);
    for (size_t i = 0; attention_core_row(i); i++) {
        const struct attention_core *core = (const struct attention_core *)attention_core_row(i);
        struct result r = run_core(core, p);
        figure_check(&figures.out, r.out, reference.out, (size_t)s->query->rows * (size_t)p->ldo);
        figure_check(&figures.dq, r.dq, reference.dq, (size_t)s->query->rows * (size_t)p->ldq);
        figure_check(&figures.dk, r.dk, reference.dk, (size_t)s->key->rows * (size_t)p->ldk);
        figure_check(&figures.dv, r.dv, reference.dv, (size_t)s->key->rows * (size_t)p->ldv);
        check_maps(core, p, &r);
        result_free(&r);
    }
    result_free(&reference);
}

static int start_figures(void **state) {
    (void)state;
    figures.out = (struct figure){"out, core against explicit", 84 * epsilon, 0};
    figures.dq = (struct figure){"dq", 84 * epsilon, 0};
    figures.dk = (struct figure){"dk", 84 * epsilon, 0};
    figures.dv = (struct figure){"dv", 84 * epsilon, 0};
    figures.map = (struct figure){"map against the definition", 8.4 * epsilon, 0};
    figures.values = (struct figure){"map times V against out", 84 * epsilon, 0};
    return 0;
}

static int show_figures(void **state) {
    (void)state;
    figure_show(&figures.out);
    figure_show(&figures.dq);
    figure_show(&figures.dk);
    figure_show(&figures.dv);
    figure_show(&figures.map);
    figure_show(&figures.values);
    return 0;
}

/* ---- tests ---- */

static const int mixed[] = {1, 33, 70, 16, 2}, other[] = {40, 1, 17, 70, 5};
enum { SEQUENCES = 5 };

static void every_width_mask_and_rate(void **state) {
    (void)state;
    static const int d_head[] = {1, 3, 8, 16, 17, 64};
    static const double rate[] = {0, 0.1, 0.5};
    for (uint64_t i = 0; i < 6 * 3 * 4; i++) {
        bool causal = i / 18 & 1, drawn = i / 36 & 1;
        if (drawn && rate[i / 6 % 3] == 0) continue;
        struct problem p = problem_new(packed_batch(mixed, SEQUENCES, 0, 10),
                                       packed_batch(causal ? mixed : other, SEQUENCES, 0, 10), 2, 2, d_head[i % 6]);
        p.scores.causal = causal;
        problem_fill(&p, 100 * i);
        set_dropout(&p, rate[i / 6 % 3], drawn);
        check_problem(&p);
        problem_free(&p);
    }
}

static void every_length(void **state) {
    (void)state;
    for (int length = 1; length <= 70; length++) {
        int queries[] = {length, 71 - length};
        struct problem p =
            problem_new(packed_batch(queries, 2, 0, 0), packed_batch(queries, 2, 0, 0), 1, 1, 1 + length % 7);
        p.scores.causal = length % 2;
        problem_fill(&p, (uint64_t)length);
        set_dropout(&p, length % 3 ? 0 : 0.5, false);
        check_problem(&p);
        problem_free(&p);
    }
}

static void heads_that_share_keys_and_values(void **state) {
    (void)state;
    for (int kv_heads = 1; kv_heads <= 4; kv_heads *= 2)
        for (int dropout = 0; dropout < 2; dropout++) {
            struct problem p =
                problem_new(packed_batch(mixed, SEQUENCES, 0, 0), packed_batch(mixed, SEQUENCES, 0, 0), 4, kv_heads, 5);
            p.scores.causal = true;
            problem_fill(&p, (uint64_t)kv_heads);
            set_dropout(&p, dropout ? 0.1 : 0, dropout);
            check_problem(&p);
            problem_free(&p);
        }
}

/* Queries that continue a prefix of five keys; of the keys two more stand behind the last query. */
static void queries_behind_a_prefix(void **state) {
    (void)state;
    static const int queries[] = {1, 3, 20}, keys[] = {6, 10, 25};
    for (int causal = 0; causal < 2; causal++) {
        struct problem p = problem_new(packed_batch(queries, 3, 5, 0), packed_batch(keys, 3, 0, 0), 2, 1, 8);
        p.scores.causal = causal;
        problem_fill(&p, 7);
        set_dropout(&p, 0.1, false);
        check_problem(&p);
        problem_free(&p);
    }
}

/* Edges cut: a block, one that reaches past the end, every key of a query, every key of a whole sequence. */
static void knocked_out_edges(void **state) {
    (void)state;
    static const struct knockout cuts[] = {
        {1, 4, 9, 2, 30}, {-1, 12, 14, 5, 1000}, {2, 7, 8, 0, 70}, {3, 0, 1000, 0, 1000}};
    for (int causal = 0; causal < 2; causal++)
        for (int dropout = 0; dropout < 2; dropout++) {
            struct problem p = problem_new(packed_batch(mixed, SEQUENCES, 0, 0),
                                           packed_batch(causal ? mixed : other, SEQUENCES, 0, 0), 2, 2, 6);
            p.scores.causal = causal;
            p.scores.knockouts = cuts;
            p.scores.knockout_count = 4;
            problem_fill(&p, 8);
            set_dropout(&p, dropout ? 0.5 : 0, false);
            check_problem(&p);
            problem_free(&p);
        }
}

static void nothing_to_attend_to(void **state) {
    (void)state;
    static const struct knockout all = {-1, 1, 3, 0, 1000};
    for (size_t i = 0; attention_core_row(i); i++) {
        struct problem p = problem_new(packed_batch((int[]){4}, 1, 0, 0), packed_batch((int[]){20}, 1, 0, 0), 2, 1, 3);
        p.scores.knockouts = &all;
        p.scores.knockout_count = 1;
        problem_fill(&p, 9);
        struct result r = run_core((const struct attention_core *)attention_core_row(i), &p);
        for (int n = 0; n < 4; n++)
            for (int c = 0; c < 6; c++) {
                bool cut = n == 1 || n == 2;
                assert_true(cut ? r.out[n * p.ldo + c] == 0 : r.out[n * p.ldo + c] != 0);
                assert_true(cut ? r.dq[n * p.ldq + c] == 0 : r.dq[n * p.ldq + c] != 0);
            }
        for (int n = 0; n < 20; n++)
            for (int c = 0; c < 3; c++) assert_true(isfinite(r.dk[n * p.ldk + c]) && isfinite(r.dv[n * p.ldv + c]));
        result_free(&r);
        problem_free(&p);
    }
}

/* Rows from..to - 1 of a padded array are padding: NaN there. */
static void spoil_padding(real *x, const struct batch_buffer *padded, int longest, int ld) {
    for (int b = 0; b < padded->view.sequences; b++)
        for (int n = padded->length[b]; n < longest; n++) fill_value(x + (b * longest + n) * ld, (size_t)ld, RC(NAN));
}

/* The rows of `packed` to their places in a padded array. */
static void spread(real *padded, const real *packed, const struct batch_buffer *to, const struct batch_buffer *from,
                   int ld) {
    for (int b = 0; b < to->view.sequences; b++)
        memcpy(padded + to->offset[b] * ld, packed + from->offset[b] * ld,
               (size_t)(to->length[b] * ld) * sizeof *padded);
}

static void check_real_rows(const char *what, const real *padded, const real *packed, const struct problem *to,
                            const struct problem *from, bool of_keys, int ld) {
    const struct batch_buffer *a = of_keys ? &to->key : &to->query, *b = of_keys ? &from->key : &from->query;
    for (int s = 0; s < a->view.sequences; s++)
        check_same(what, padded + a->offset[s] * ld, packed + b->offset[s] * ld, (size_t)(a->length[s] * ld));
}

/* A padded layout, its padding NaN, gives every real row the same bits as the packed one, and no gradient elsewhere. */
static void padding_does_not_matter(void **state) {
    (void)state;
    enum { LONGEST = 73 };
    for (size_t i = 0; attention_core_row(i); i++) {
        const struct attention_core *core = (const struct attention_core *)attention_core_row(i);
        struct problem a =
            problem_new(packed_batch(mixed, SEQUENCES, 0, 3), packed_batch(other, SEQUENCES, 0, 3), 2, 1, 9);
        struct problem b = problem_new(padded_batch(mixed, SEQUENCES, LONGEST, 0, 3),
                                       padded_batch(other, SEQUENCES, LONGEST, 0, 3), 2, 1, 9);
        problem_fill(&a, 11);
        problem_fill(&b, 12);
        spread(b.q, a.q, &b.query, &a.query, a.ldq);
        spread(b.k, a.k, &b.key, &a.key, a.ldk);
        spread(b.v, a.v, &b.key, &a.key, a.ldv);
        spread(b.dout, a.dout, &b.query, &a.query, a.ldo);
        spoil_padding(b.q, &b.query, LONGEST, b.ldq);
        spoil_padding(b.k, &b.key, LONGEST, b.ldk);
        spoil_padding(b.v, &b.key, LONGEST, b.ldv);
        spoil_padding(b.dout, &b.query, LONGEST, b.ldo);
        set_dropout(&a, 0.1, false);
        set_dropout(&b, 0.1, false);
        struct result packed = run_core(core, &a), padded = run_core(core, &b);
        check_real_rows("padded out", padded.out, packed.out, &b, &a, false, a.ldo);
        check_real_rows("padded dq", padded.dq, packed.dq, &b, &a, false, a.ldq);
        check_real_rows("padded dk", padded.dk, packed.dk, &b, &a, true, a.ldk);
        check_real_rows("padded dv", padded.dv, packed.dv, &b, &a, true, a.ldv);
        check_maps(core, &b, &padded);
        for (int n = 0; n < b.key.view.rows; n++)
            for (int c = 0; c < 9 && n % LONGEST >= b.key.length[n / LONGEST]; c++)
                assert_true(padded.dk[n * b.ldk + c] == 0 && padded.dv[n * b.ldv + c] == 0);
        result_free(&packed);
        result_free(&padded);
        problem_free(&a);
        problem_free(&b);
    }
}

/* ---- numbers that are none ---- */

static void nan_in_a_query_reaches_its_output_alone(void **state) {
    (void)state;
    for (size_t i = 0; attention_core_row(i); i++)
        for (int causal = 0; causal < 2; causal++) {
            struct problem p =
                problem_new(packed_batch((int[]){9}, 1, 0, 0), packed_batch((int[]){9}, 1, 0, 0), 2, 2, 4);
            p.scores.causal = causal;
            problem_fill(&p, 13);
            p.q[5 * p.ldq + 4 + 1] = RC(NAN); /* query 5, head 1 */
            struct result r = run_core((const struct attention_core *)attention_core_row(i), &p);
            for (int n = 0; n < 9; n++)
                for (int c = 0; c < 8; c++) {
                    bool touched = n == 5 && c >= 4;
                    assert_true(isnan(r.out[n * p.ldo + c]) ? touched : !touched);
                    assert_true(isnan(r.dq[n * p.ldq + c]) ? touched : !touched);
                }
            for (int n = 0; n <= 5; n++) assert_true(isnan(r.dk[n * p.ldk + 4]) && isnan(r.dv[n * p.ldv + 4]));
            result_free(&r);
            problem_free(&p);
        }
}

/* A score of -infinity is a key that is not seen; one of +infinity has no softmax. */
static void infinite_scores(void **state) {
    (void)state;
    static const struct knockout cut = {-1, 0, 4, 7, 8};
    for (size_t i = 0; attention_core_row(i); i++) {
        const struct attention_core *core = (const struct attention_core *)attention_core_row(i);
        struct problem p = problem_new(packed_batch((int[]){8}, 1, 0, 0), packed_batch((int[]){19}, 1, 0, 0), 1, 1, 3);
        problem_fill(&p, 14);
        for (int n = 0; n < 8; n++) p.q[n * p.ldq] = n < 4 ? -1 : 1;
        p.k[7 * p.ldk] = RC(INFINITY);
        struct result r = run_core(core, &p);
        real map[8 * 19];
        core->map(map, r.scratch, &p.scores, r.saved, 0, 0, p.q, p.ldq, p.k, p.ldk);
        for (int n = 0; n < 4; n++) assert_true(map[n * 19 + 7] == 0);
        for (int n = 4; n < 8; n++) assert_true(isnan(r.out[n * p.ldo]) && isnan(map[n * 19]));
        p.k[7 * p.ldk] = 0;
        p.scores.knockouts = &cut;
        p.scores.knockout_count = 1;
        struct result knocked_out = run_core(core, &p);
        check_same("out beside a score of -infinity", r.out, knocked_out.out, 4 * 3);
        result_free(&r);
        result_free(&knocked_out);
        problem_free(&p);
    }
}

/* ---- what lies beside the cores ---- */

static void raw_scores_and_gates(void **state) {
    (void)state;
    struct problem p = problem_new(packed_batch((int[]){2, 6}, 2, 0, 0), packed_batch((int[]){3, 5}, 2, 0, 0), 4, 2, 7);
    p.scores.causal = true; /* hides nothing here */
    problem_fill(&p, 15);
    real x[30], gated[8 * 28], gate[4] = {0, 1, 2, -RC(0.5)};
    attention_scores(x, &p.scores, 1, 3, p.q, p.ldq, p.k, p.ldk);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 5; j++) {
            double sum = 0;
            for (int d = 0; d < 7; d++)
                sum += (double)p.q[(2 + i) * p.ldq + 21 + d] * (double)p.k[(3 + j) * p.ldk + 7 + d];
            real expected = (real)(sum / sqrt(7));
            check_close("a raw score", &x[i * 5 + j], &expected, 1, 8 * epsilon); /* seven sums and a product */
        }
    memcpy(gated, p.dout, sizeof gated);
    head_gates(gated, gate, 8, 4, 7);
    for (int i = 0; i < 8 * 28; i++) assert_true(gated[i] == p.dout[i] * gate[i % 28 / 7]);
    problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_mask_and_rate),
        cmocka_unit_test(every_length),
        cmocka_unit_test(heads_that_share_keys_and_values),
        cmocka_unit_test(queries_behind_a_prefix),
        cmocka_unit_test(knocked_out_edges),
        cmocka_unit_test(nothing_to_attend_to),
        cmocka_unit_test(padding_does_not_matter),
        cmocka_unit_test(nan_in_a_query_reaches_its_output_alone),
        cmocka_unit_test(infinite_scores),
        cmocka_unit_test(raw_scores_and_gates),
    };
    return cmocka_run_group_tests(tests, start_figures, show_figures);
}
