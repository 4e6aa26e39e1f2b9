/* The attention cores: short sequences, all that scores can do, numbers that are none. What is compared: cores.h. */
#include "cores.h"

#include <float.h>
#include <string.h>

static const double epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;

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
    for (size_t i = 0; core_at(i); i++) {
        struct problem p = problem_new(packed_batch((int[]){4}, 1, 0, 0), packed_batch((int[]){20}, 1, 0, 0), 2, 1, 3);
        p.scores.knockouts = &all;
        p.scores.knockout_count = 1;
        problem_fill(&p, 9);
        struct result r = run_core(core_at(i), &p);
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
    for (size_t i = 0; core_at(i); i++) {
        const struct attention_core *core = core_at(i);
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
    for (size_t i = 0; core_at(i); i++)
        for (int causal = 0; causal < 2; causal++) {
            struct problem p =
                problem_new(packed_batch((int[]){9}, 1, 0, 0), packed_batch((int[]){9}, 1, 0, 0), 2, 2, 4);
            p.scores.causal = causal;
            problem_fill(&p, 13);
            p.q[5 * p.ldq + 4 + 1] = RC(NAN); /* query 5, head 1 */
            struct result r = run_core(core_at(i), &p);
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
    for (size_t i = 0; core_at(i); i++) {
        const struct attention_core *core = core_at(i);
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
