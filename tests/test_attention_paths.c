/* The attention cores on long sequences, and both paths of the fused one on any. What is compared: cores.h. */
#include "cores.h"
#include "kernels/fused.h"

#include <string.h>

/* Queries that stand at the end of the keys' sequence, as many as there are. */
static struct problem lengths(int queries, int keys, int d_head, int heads, int kv_heads) {
    int offset = queries < keys ? keys - queries : 0;
    return problem_new(packed_batch(&queries, 1, offset, 4), packed_batch(&keys, 1, 0, 4), heads, kv_heads, d_head);
}

/* Every path at every pair of lengths around the sizes of blocks and the place where the core changes its path, with
 * everything that scores can do in turn. Gradients of keys and values are sums over queries: dout is made so small that
 * they stay near 1, which 84 epsilons of rounding are meant for. */
static void every_pair_of_lengths(void **state) {
    (void)state;
    static const int length[] = {1, 5, 63, 64, 65, 127, 128, 129, 300, 513}, d_head[] = {8, 64, 5, 17, 33};
    static const struct knockout cuts[] = {{-1, 3, 40, 2, 70}, {0, 100, 101, 0, 1000}, {0, 250, 300, 255, 258}};
    enum { LENGTHS = 10 };
    for (int i = 0; i < LENGTHS * LENGTHS; i++) {
        int queries = length[i / LENGTHS], keys = length[i % LENGTHS];
        struct problem p = lengths(queries, keys, d_head[(i + i / LENGTHS) % 5], 2, 1 + i % 2);
        p.scores.causal = i % 4 < 2 && queries <= keys;
        p.scores.knockouts = cuts;
        p.scores.knockout_count = i % 3 ? 0 : 3;
        problem_fill(&p, (uint64_t)(1000 + i));
        for (int n = 0; n < queries * p.ldo; n++) p.dout[n] /= (real)sqrt(queries);
        set_dropout(&p, i % 5 < 2 ? 0.1 : 0, i % 5 == 1);
        check_problem(&p);
        problem_free(&p);
    }
}

static void both_sides_of_where_the_path_changes(void **state) {
    (void)state;
    static const struct {
        int length, d_head;
        bool causal;
    } shape[] = {{90, 64, 0}, {91, 64, 0}, {181, 16, 0}, {182, 16, 0}, {511, 128, 1}, {512, 128, 1}};
    for (int i = 0; i < 6; i++) {
        struct problem p = lengths(shape[i].length, shape[i].length, shape[i].d_head, 1, 1);
        p.scores.causal = shape[i].causal;
        problem_fill(&p, (uint64_t)(2000 + i));
        set_dropout(&p, 0.1, false);
        check_problem(&p);
        problem_free(&p);
    }
}

/* A sequence beside others, of which some go another way, gives the same bits as alone. */
static void mates_do_not_matter(void **state) {
    (void)state;
    static const int mates[] = {7, 300, 1, 129};
    struct problem all = problem_new(packed_batch(mates, 4, 0, 0), packed_batch(mates, 4, 0, 0), 2, 1, 64);
    problem_fill(&all, 21);
    set_dropout(&all, 0.1, false);
    struct result together = run_core(&attention_fused, &all);
    for (int b = 0; b < 4; b++) {
        int first = all.query.offset[b];
        size_t rows = (size_t)mates[b];
        struct problem one = problem_new(packed_batch(&mates[b], 1, 0, (uint32_t)b),
                                         packed_batch(&mates[b], 1, 0, (uint32_t)b), 2, 1, 64);
        problem_fill(&one, 22);
        memcpy(one.q, all.q + first * all.ldq, rows * (size_t)all.ldq * sizeof(real));
        memcpy(one.k, all.k + first * all.ldk, rows * (size_t)all.ldk * sizeof(real));
        memcpy(one.v, all.v + first * all.ldv, rows * (size_t)all.ldv * sizeof(real));
        memcpy(one.dout, all.dout + first * all.ldo, rows * (size_t)all.ldo * sizeof(real));
        set_dropout(&one, 0.1, false);
        struct result alone = run_core(&attention_fused, &one);
        check_same("out beside mates", together.out + first * all.ldo, alone.out, rows * (size_t)all.ldo);
        check_same("dq beside mates", together.dq + first * all.ldq, alone.dq, rows * (size_t)all.ldq);
        check_same("dk beside mates", together.dk + first * all.ldk, alone.dk, rows * (size_t)all.ldk);
        check_same("dv beside mates", together.dv + first * all.ldv, alone.dv, rows * (size_t)all.ldv);
        result_free(&alone);
        problem_free(&one);
    }
    result_free(&together);
    problem_free(&all);
}

/* A NaN far into a long sequence: in a query it reaches that query's output and gradient alone, in a key or a value
 * those of every query that sees it. */
static void nan_goes_through_blocks(void **state) {
    (void)state;
    enum { LENGTH = 300, AT = 200 };
    for (size_t i = 0; core_at(i); i++)
        for (int where = 0; where < 3; where++) {
            struct problem p = lengths(LENGTH, LENGTH, 4, 1, 1);
            p.scores.causal = true;
            problem_fill(&p, 23);
            real *into[] = {p.q + AT * p.ldq, p.k + AT * p.ldk, p.v + AT * p.ldv};
            *into[where] = RC(NAN);
            struct result r = run_core(core_at(i), &p);
            for (int n = 0; n < LENGTH; n++) {
                bool touched = where == 0 ? n == AT : n >= AT;
                if (touched) assert_true(isnan(r.out[n * p.ldo]) && isnan(r.dq[n * p.ldq]));
                if (where == 0 && !touched) assert_true(isfinite(r.out[n * p.ldo]) && isfinite(r.dq[n * p.ldq]));
            }
            assert_true(isnan(r.dk[AT * p.ldk]) && (where == 2 || isnan(r.dv[AT * p.ldv])));
            result_free(&r);
            problem_free(&p);
        }
}

/* Queries that see nothing, among others in their block and whole blocks of them. */
static void long_rows_with_nothing_to_attend_to(void **state) {
    (void)state;
    enum { LENGTH = 300 };
    static const struct knockout none[] = {{-1, 3, 7, 0, LENGTH}, {-1, 90, 290, 0, LENGTH}};
    for (size_t i = 0; core_at(i); i++) {
        struct problem p = lengths(LENGTH, LENGTH, 5, 1, 1);
        p.scores.knockouts = none;
        p.scores.knockout_count = 2;
        problem_fill(&p, 24);
        struct result r = run_core(core_at(i), &p);
        for (int n = 0; n < LENGTH; n++)
            for (int c = 0; c < 5; c++) {
                bool cut = (n >= 3 && n < 7) || (n >= 90 && n < 290);
                assert_true((r.out[n * p.ldo + c] == 0) == cut && (r.dq[n * p.ldq + c] == 0) == cut);
                assert_true(isfinite(r.dk[n * p.ldk + c]) && isfinite(r.dv[n * p.ldv + c]));
            }
        result_free(&r);
        problem_free(&p);
    }
}

/* Nothing that the fused core keeps or works in grows faster than the sequence. */
static void memory_is_linear_in_length(void **state) {
    (void)state;
    enum { CONSTANT = 1 << 18 }; /* blocks of fixed size */
    for (int length = 256; length <= 1 << 20; length *= 2)
        for (int kind = 0; kind < 8; kind++) {
            struct batch once = batch_sizes(3, length), twice = batch_sizes(3, 2 * length);
            struct scores s = {
                .query = &once, .key = &once, .heads = 4, .kv_heads = 2, .d_head = 64, .causal = kind & 1};
            s.window = kind & 2 ? 100 : 0;
            s.soft_cap = kind & 4 ? 50 : 0;
            size_t scratch = attention_fused.scratch_size(&s), kept = s.soft_cap > 0 ? 0 : 3 * 4 * KEPT * KEPT;
            assert_int_equal(attention_fused.saved_size(&s), 2 * (size_t)once.rows * 4 + kept);
            s.query = s.key = &twice;
            assert_true(attention_fused.scratch_size(&s) <= 2 * scratch + CONSTANT);
            assert_true(attention_fused.scratch_size(&s) >= scratch); /* what is measured at the most is enough */
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_lengths),
        cmocka_unit_test(both_sides_of_where_the_path_changes),
        cmocka_unit_test(mates_do_not_matter),
        cmocka_unit_test(nan_goes_through_blocks),
        cmocka_unit_test(long_rows_with_nothing_to_attend_to),
        cmocka_unit_test(memory_is_linear_in_length),
    };
    return cmocka_run_group_tests(tests, start_figures, show_figures);
}
