/*
 * What scores can do besides being hidden: window, soft cap, ALiBi, buckets. Every core and path against the
 * definition, and the laws that hold whatever the numbers.
 */
#include "cores.h"
#include "definition.h"
#include "kernels/columns.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const double epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;

/* ---- what is compared with the definition ---- */

enum bias { NO_BIAS, ALIBI, FROM_BOTH_SIDES, FROM_BEHIND, BIASES };

struct wanted {
    int window;
    double soft_cap;
    enum bias bias;
};

static void set_wanted(struct problem *p, const struct wanted *wanted) {
    p->scores.window = wanted->window;
    p->scores.soft_cap = RC(wanted->soft_cap);
    if (wanted->bias == ALIBI) set_alibi(p, ORIGINAL_HEADS);
    if (wanted->bias == FROM_BOTH_SIDES || wanted->bias == FROM_BEHIND)
        set_buckets(p, SCORE_BUCKETS, SCORE_MAX_DISTANCE, wanted->bias == FROM_BOTH_SIDES);
}

/* Gradients that are sums over queries stay near 1, which 84 epsilons of rounding are meant for. */
static void shrink_dout(struct problem *p) {
    real factor = (real)(1 / sqrt(p->scores.query->longest));
    for (int n = 0; n < p->scores.query->rows * p->ldo; n++) p->dout[n] *= factor;
}

static struct problem self_attention(int length, int heads, int kv_heads, int d_head, bool causal) {
    struct problem p =
        problem_new(packed_batch(&length, 1, 0, 3), packed_batch(&length, 1, 0, 3), heads, kv_heads, d_head);
    p.scores.causal = causal;
    return p;
}

static void check_wanted(struct problem *p, const struct wanted *wanted, uint64_t seed) {
    problem_fill(p, seed);
    set_wanted(p, wanted);
    shrink_dout(p);
    if (seed % 3) set_dropout(p, seed % 3 == 1 ? 0.1 : 0.5, seed % 2);
    check_problem_exactly(p);
    problem_free(p);
}

/* Each alone and all together, keys ahead seen and hidden, with and without dropout. */
static void everything_in_every_combination(void **state) {
    (void)state;
    static const int window[] = {0, 1, 2, 5, 64}, length[] = {7, 33, 70};
    static const double soft_cap[] = {0, 0.5, 5, 50};
    for (int i = 0; i < 5 * 4 * BIASES * 2; i++) {
        struct wanted wanted = {window[i % 5], soft_cap[i / 5 % 4], (enum bias)(i / 20 % BIASES)};
        struct problem p = self_attention(length[i % 3], 2, 1, i % 2 ? 8 : 5, i / (20 * BIASES));
        check_wanted(&p, &wanted, (uint64_t)(100 + i));
    }
}

/* Lengths on both sides of all that cores divide sequences by. */
static void every_length(void **state) {
    (void)state;
    static const struct wanted wanted[] = {
        {5, 0, NO_BIAS}, {0, 5, ALIBI}, {64, 0, FROM_BOTH_SIDES}, {33, 50, FROM_BEHIND}, {0, 0.5, NO_BIAS}};
    for (int length = 1; length <= 200; length += length < 20 || length % 16 > 13 || length % 16 < 2 ? 1 : 5) {
        struct problem p = self_attention(length, 1, 1, 4, length % 2);
        check_wanted(&p, &wanted[length % 5], (uint64_t)length);
    }
}

/* Where the fused core changes its way, on both sides and with windows narrower and wider than all. */
static void both_sides_of_where_the_path_changes(void **state) {
    (void)state;
    static const int length[] = {90, 91, 150}, window[] = {0, 40, 90, 91, 1000};
    for (int i = 0; i < 15; i++) {
        struct wanted wanted = {window[i / 3], i % 2 ? 5 : 0, (enum bias)(i % BIASES)};
        struct problem p = self_attention(length[i % 3], 1, 1, 64, false);
        check_wanted(&p, &wanted, (uint64_t)(300 + i));
    }
}

/* Slopes of any number of heads, all of them and some whose neighbours were removed. */
static void alibi_for_any_number_of_heads(void **state) {
    (void)state;
    static const int heads[] = {1, 3, 4, 6, 12};
    for (int i = 0; i < 5 * 4; i++) {
        bool removed = i / 10;
        struct problem p = self_attention(21, heads[i % 5], 1, 3, i / 5 % 2);
        problem_fill(&p, (uint64_t)(400 + i));
        set_alibi(&p, removed ? 3 * heads[i % 5] : heads[i % 5]);
        for (int h = 0; h < heads[i % 5] && !removed; h++) p.original_head[h] = h;
        check_problem_exactly(&p);
        problem_free(&p);
    }
}

static void buckets_of_any_size(void **state) {
    (void)state;
    static const struct { int count, max_distance; } size[] = {{32, 128}, {8, 20}, {4, 16}, {10, 100}, {6, 30}, {2, 9}};
    for (int i = 0; i < 6 * 4; i++) {
        bool causal = i / 12;
        struct problem p = self_attention(150, 2, 2, 3, causal);
        problem_fill(&p, (uint64_t)(500 + i));
        set_buckets(&p, size[i % 6].count, size[i % 6].max_distance, i / 6 % 2);
        shrink_dout(&p);
        check_problem_exactly(&p);
        problem_free(&p);
    }
}

/* One query or two, as decoding has them, and more: behind a prefix, with keys beyond the last of them and edges cut.
 * Heads share keys and values. */
static void cached_queries(void **state) {
    (void)state;
    static const struct knockout cuts[] = {{-1, 46, 49, 40, 44}, {1, 0, 1000, 2, 9}, {2, 47, 48, 0, 1000}};
    static const int windows[] = {0, 1, 2, 5, 64};
    for (int i = 0; i < 5 * BIASES * 2; i++) {
        int queries[] = {1 + i % 3, 2, 20}, keys[] = {70, 47, 65};
        struct wanted wanted = {windows[i % 5], i % 3 ? 0 : 5, (enum bias)(i / 5 % BIASES)};
        struct problem p = problem_new(packed_batch(queries, 3, 45, 0), packed_batch(keys, 3, 0, 0), 6, 3, 9);
        p.scores.causal = i / (5 * BIASES);
        p.scores.knockouts = cuts;
        p.scores.knockout_count = i % 2 ? 0 : 3;
        check_wanted(&p, &wanted, (uint64_t)(600 + 3 * i));
    }
}

/* Without a bias, too, edges cut from one of two cached queries leave the other heads' scores alone. */
static void cut_edges_of_cached_queries(void **state) {
    (void)state;
    static const struct knockout cut = {-1, 0, 1000, 3, 5};
    struct problem p = problem_new(packed_batch((int[]){2}, 1, 16, 0), packed_batch((int[]){70}, 1, 0, 0), 4, 4, 8);
    p.scores.causal = true;
    p.scores.knockouts = &cut;
    p.scores.knockout_count = 1;
    problem_fill(&p, 700);
    check_problem_exactly(&p);
    problem_free(&p);
}

/* Queries so far behind the last key that none is within their window. */
static void windows_without_a_key(void **state) {
    (void)state;
    for (size_t i = 0; core_at(i); i++)
        for (int queries = 1; queries <= 40; queries += 39) {
            struct problem p =
                problem_new(packed_batch(&queries, 1, 30, 0), packed_batch((int[]){20}, 1, 0, 0), 2, 1, 3);
            p.scores.window = 11;
            problem_fill(&p, 9);
            struct result r = run_core(core_at(i), &p);
            for (int n = 0; n < queries * p.ldo; n++) assert_true(r.out[n] == 0);
            for (int n = 0; n < queries; n++)
                for (int c = 0; c < 6; c++) assert_true(r.dq[n * p.ldq + c] == 0);
            result_free(&r);
            problem_free(&p);
        }
}

/* ---- laws ---- */

static void check_same_results(const struct problem *p, const struct result *a, const struct result *b) {
    check_same("out", a->out, b->out, (size_t)(p->scores.query->rows * p->ldo));
    check_same("dq", a->dq, b->dq, (size_t)(p->scores.query->rows * p->ldq));
    check_same("dk", a->dk, b->dk, (size_t)(p->scores.key->rows * p->ldk));
    check_same("dv", a->dv, b->dv, (size_t)(p->scores.key->rows * p->ldv));
}

static void a_window_as_long_as_all_is_none(void **state) {
    (void)state;
    static const int length[] = {1, 2, 33, 64, 150, 300};
    for (size_t core = 0; core_at(core); core++)
        for (int i = 0; i < 12; i++) {
            struct problem p = self_attention(length[i % 6], 2, 1, 32, i / 6);
            problem_fill(&p, (uint64_t)(800 + i));
            struct result none = run_core(core_at(core), &p);
            for (int wide = 0; wide < 3; wide++) {
                p.scores.window = (int[]){length[i % 6], length[i % 6] + 1, INT_MAX}[wide];
                struct result window = run_core(core_at(core), &p);
                check_same_results(&p, &window, &none);
                result_free(&window);
            }
            result_free(&none);
            problem_free(&p);
        }
}

/* Other numbers in keys and values that a query does not see change not a bit of its output. */
static void what_is_hidden_does_not_leak(void **state) {
    (void)state;
    enum { LENGTH = 150, WINDOW = 20, AT = 100 };
    for (size_t core = 0; core_at(core); core++)
        for (int i = 0; i < 2 * BIASES; i++) {
            struct wanted wanted = {WINDOW, i % 2 ? 5 : 0, (enum bias)(i / 2)};
            struct problem p = self_attention(LENGTH, 1, 1, 6, true);
            problem_fill(&p, (uint64_t)(900 + i));
            set_wanted(&p, &wanted);
            struct result before = run_core(core_at(core), &p);
            for (int j = 0; j < LENGTH; j++)
                for (int d = 0; d < 6 && (j > AT || j <= AT - WINDOW); d++)
                    p.k[j * p.ldk + d] += 1, p.v[j * p.ldv + d] *= -3;
            struct result after = run_core(core_at(core), &p);
            check_same("out beside keys that are hidden", before.out + AT * p.ldo, after.out + AT * p.ldo, 6);
            check_same("dq beside keys that are hidden", before.dq + AT * p.ldq, after.dq + AT * p.ldq, 6);
            result_free(&before);
            result_free(&after);
            problem_free(&p);
        }
}

/* Keys outside of every window are not so much as read: cost is linear in length. A NaN there would be in a product. */
static void keys_outside_of_windows_are_skipped(void **state) {
    (void)state;
    enum { LENGTH = 500, WINDOW = 20, SPOILT = 10, FREE = 300 };
    for (size_t core = 0; core_at(core); core++)
        for (int causal = 0; causal < 2; causal++) {
            if (core_at(core) == &attention_explicit) continue;
            struct problem p = self_attention(LENGTH, 1, 1, 4, causal);
            p.scores.window = WINDOW;
            problem_fill(&p, 1000);
            fill_value(p.k, (size_t)(SPOILT * p.ldk), RC(NAN));
            fill_value(p.v, (size_t)(SPOILT * p.ldv), RC(NAN));
            if (!causal) fill_value(p.v + (LENGTH - SPOILT) * p.ldv, (size_t)(SPOILT * p.ldv), RC(NAN));
            struct result r = run_core(core_at(core), &p);
            for (int n = 200; n < FREE; n++)
                for (int d = 0; d < 4; d++)
                    assert_true(isfinite(r.out[n * p.ldo + d]) && isfinite(r.dq[n * p.ldq + d]) &&
                                isfinite(r.dk[n * p.ldk + d]));
            assert_true(isnan(r.out[SPOILT * p.ldo]));
            result_free(&r);
            problem_free(&p);
        }
}

/* The same for a query at a time, which reads not a single key outside of its window. */
static void a_single_query_reads_its_window_alone(void **state) {
    (void)state;
    struct problem p = problem_new(packed_batch((int[]){1}, 1, 60, 0), packed_batch((int[]){80}, 1, 0, 0), 4, 2, 8);
    p.scores.window = 7;
    p.scores.causal = true;
    problem_fill(&p, 1001);
    for (int j = 0; j < 80; j++)
        if (j <= 60 - 7 || j > 60) fill_value(p.v + j * p.ldv, (size_t)p.ldv, RC(NAN));
    real *out = new_reals((size_t)p.ldo), *saved = new_reals(attention_fused.saved_size(&p.scores)),
         *scratch = new_reals(attention_fused.scratch_size(&p.scores));
    attention_fused.forward(out, saved, scratch, &p.scores, p.q, p.ldq, p.k, p.ldk, p.v, p.ldv);
    for (int c = 0; c < p.ldo; c++) assert_true(isfinite(out[c]));
    free(out), free(saved), free(scratch);
    problem_free(&p);
}

/* All positions moved by a constant, over as many keys in front that nobody sees: only distances count. */
static void a_shift_of_all_positions_changes_nothing(void **state) {
    (void)state;
    enum { LENGTH = 50, SHIFT = 37 };
    static const struct knockout front = {-1, 0, 1000, 0, SHIFT};
    for (size_t core = 0; core_at(core); core++)
        for (int i = 0; i < 2 * BIASES; i++) {
            struct wanted wanted = {12, i % 2 ? 5 : 0, (enum bias)(i / 2)};
            struct problem here = self_attention(LENGTH, 2, 1, 6, i % 3 == 0);
            struct problem there = problem_new(packed_batch((int[]){LENGTH}, 1, SHIFT, 3),
                                               packed_batch((int[]){SHIFT + LENGTH}, 1, 0, 3), 2, 1, 6);
            there.scores.causal = here.scores.causal;
            there.scores.knockouts = &front;
            there.scores.knockout_count = 1;
            problem_fill(&here, 1100);
            problem_fill(&there, 1100); /* queries and dout are the same */
            memcpy(there.k + SHIFT * there.ldk, here.k, (size_t)(LENGTH * here.ldk) * sizeof(real));
            memcpy(there.v + SHIFT * there.ldv, here.v, (size_t)(LENGTH * here.ldv) * sizeof(real));
            memcpy(there.dout, here.dout, (size_t)(LENGTH * here.ldo) * sizeof(real));
            set_wanted(&here, &wanted);
            set_wanted(&there, &wanted);
            struct result a = run_core(core_at(core), &here), b = run_core(core_at(core), &there);
            double tolerance = 84 * epsilon;
            check_close("out", b.out, a.out, (size_t)(LENGTH * here.ldo), tolerance);
            check_close("dq", b.dq, a.dq, (size_t)(LENGTH * here.ldq), tolerance);
            check_close("dk", b.dk + SHIFT * there.ldk, a.dk, (size_t)(LENGTH * here.ldk), tolerance);
            check_close("dv", b.dv + SHIFT * there.ldv, a.dv, (size_t)(LENGTH * here.ldv), tolerance);
            result_free(&a), result_free(&b);
            problem_free(&here), problem_free(&there);
        }
}

/* A table whose gradient nobody wants. */
static void gradients_of_tables_may_be_left_out(void **state) {
    (void)state;
    for (size_t i = 0; core_at(i); i++) {
        struct problem p = self_attention(20, 2, 1, 5, true);
        problem_fill(&p, 1200);
        set_buckets(&p, 8, 20, false);
        struct result with = run_core(core_at(i), &p);
        real *dq = new_reals((size_t)(20 * p.ldq)), *dk = new_reals((size_t)(20 * p.ldk)),
             *dv = new_reals((size_t)(20 * p.ldv));
        core_at(i)->backward(dq, dk, dv, with.scratch, &p.scores, p.dout, with.out, with.saved, p.q, p.ldq, p.k, p.ldk,
                             p.v, p.ldv);
        for (int n = 0; n < 20; n++) {
            check_close("dq", dq + n * p.ldq, with.dq + n * p.ldq, 10, 84 * epsilon);
            check_close("dk", dk + n * p.ldk, with.dk + n * p.ldk, 5, 84 * epsilon);
            check_close("dv", dv + n * p.ldv, with.dv + n * p.ldv, 5, 84 * epsilon);
        }
        free(dq), free(dk), free(dv);
        result_free(&with);
        problem_free(&p);
    }
}

/* ---- the parts ---- */

static void slopes_as_published(void **state) {
    (void)state;
    static const struct {
        int heads;
        double exponent[12];
    } known[] = {
        {1, {8}},
        {3, {4, 8, 2}},
        {4, {2, 4, 6, 8}},
        {6, {2, 4, 6, 8, 1, 3}},
        {8, {1, 2, 3, 4, 5, 6, 7, 8}},
        {12, {1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        real slope[13];
        fill_value(slope, 13, 7);
        alibi_slopes(slope, known[i].heads);
        for (int h = 0; h < known[i].heads; h++) assert_true(slope[h] == (real)exp2(-known[i].exponent[h]));
        assert_true(slope[known[i].heads] == 7);
    }
}

/* Numbers of the buckets of T5 for j - p = -200, -128, -127, -64, -63, -32, -31, -16, -15, -8, -7, -1, 0 and the same
 * ahead, as its authors' code gives them. */
static void buckets_as_published(void **state) {
    (void)state;
    static const int distance[] = {200, 128, 127, 64, 63, 32, 31, 16, 15, 8, 7, 1, 0};
    static const int both[] = {15, 15, 15, 14, 13, 12, 11, 10, 9, 8, 7, 1, 0};
    static const int behind[] = {31, 31, 31, 26, 26, 21, 21, 16, 15, 8, 7, 1, 0};
    real table[SCORE_BUCKETS], x[401], zero[401] = {0};
    for (int i = 0; i < SCORE_BUCKETS; i++) table[i] = RC(i);
    for (int bidirectional = 0; bidirectional < 2; bidirectional++) {
        struct batch_buffer query = packed_batch((int[]){1}, 1, 200, 0), key = packed_batch((int[]){401}, 1, 0, 0);
        struct scores s = {.query = &query.view, .key = &key.view, .heads = 1, .kv_heads = 1, .d_head = 1, .scale = 1};
        s.kv_of_head = s.original_head = (int[]){0};
        s.bias = SCORE_BIAS_BUCKETS;
        s.buckets = (struct score_buckets){table, NULL, 1, SCORE_BUCKETS, SCORE_MAX_DISTANCE, bidirectional};
        attention_scores(x, &s, 0, 0, zero, 1, zero, 1);
        for (int i = 0; i < 13; i++) {
            int d = distance[i], ahead = bidirectional && d > 0 ? 16 + both[i] : 0;
            assert_true(x[200 - d] == (real)(bidirectional ? both[i] : behind[i]));
            if (d > 0) assert_true(x[200 + d] == (real)ahead);
        }
        batch_buffer_free(&query);
        batch_buffer_free(&key);
    }
}

/* tanh by our exponential: four roundings of its result anywhere, the smallest numbers too, odd, and 1 at the end. */
static void hyperbolic_tangents(void **state) {
    (void)state;
    double worst = 0;
    for (double x = 1e-30; x < 60; x *= 1.0007) {
        real given = (real)x, t = tanh_of(given);
        double exact = tanh((double)given), off = fabs((double)t - exact) / exact / epsilon;
        worst = off > worst ? off : worst;
        assert_true(tanh_of(-given) == -t && t <= 1);
    }
    assert_true(worst <= 4);
    assert_true(tanh_of(0) == 0 && tanh_of(RC(INFINITY)) == 1 && tanh_of(-RC(INFINITY)) == -1);
    assert_true(isnan(tanh_of(RC(NAN))));
}

/* What a person sees of scores is what the softmax takes, but for what is hidden. */
static void scores_with_cap_and_bias(void **state) {
    (void)state;
    for (int bias = 0; bias < BIASES; bias++) {
        struct wanted wanted = {3, 0.5, (enum bias)bias};
        struct problem p = self_attention(25, 2, 1, 7, true);
        problem_fill(&p, 1300);
        set_wanted(&p, &wanted);
        real x[25 * 25];
        attention_scores(x, &p.scores, 0, 1, p.q, p.ldq, p.k, p.ldk);
        for (int i = 0; i < 25; i++)
            for (int j = 0; j < 25; j++) {
                real expected = (real)exact_score(&p, 0, 1, i, j);
                check_close("a score", &x[i * 25 + j], &expected, 1, 16 * epsilon);
            }
        problem_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_in_every_combination),
        cmocka_unit_test(every_length),
        cmocka_unit_test(both_sides_of_where_the_path_changes),
        cmocka_unit_test(alibi_for_any_number_of_heads),
        cmocka_unit_test(buckets_of_any_size),
        cmocka_unit_test(cached_queries),
        cmocka_unit_test(cut_edges_of_cached_queries),
        cmocka_unit_test(windows_without_a_key),
        cmocka_unit_test(a_window_as_long_as_all_is_none),
        cmocka_unit_test(what_is_hidden_does_not_leak),
        cmocka_unit_test(keys_outside_of_windows_are_skipped),
        cmocka_unit_test(a_single_query_reads_its_window_alone),
        cmocka_unit_test(a_shift_of_all_positions_changes_nothing),
        cmocka_unit_test(gradients_of_tables_may_be_left_out),
        cmocka_unit_test(slopes_as_published),
        cmocka_unit_test(buckets_as_published),
        cmocka_unit_test(hyperbolic_tangents),
        cmocka_unit_test(scores_with_cap_and_bias),
    };
    return cmocka_run_group_tests(tests, start_figures, show_figures);
}
