/* The harness of clearhead-bench: what is wrong is not timed, what fails says so, and the figures are in order. */
#include "bench/bench.h"
#include "models.h"

#include <string.h>

/* cmocka has a macro `fail`: the library's function stands in brackets. A case that counts how it is used. */
struct fake {
    bool wrong;
    int fails_at; /* this run fails; 0: none */
    int runs;
};

static ch_status verify(void *state, ch_error *error) {
    struct fake *fake = state;
    return fake->wrong ? (fail)(error, CH_FAILED, "y[3]: expected 1, found 2") : CH_OK;
}

static ch_status run(void *state, ch_error *error) {
    struct fake *fake = state;
    return ++fake->runs == fake->fails_at ? (fail)(error, CH_NO_MEMORY, "out of memory") : CH_OK;
}

static struct work work(const void *state) {
    return (struct work){.flop = 1 + 0 * ((const struct fake *)state)->runs};
}

static const struct kind kind = {.verify = verify, .run = run, .work = work};

static void what_is_wrong_is_not_timed(void **state) {
    (void)state;
    struct fake fake = {.wrong = true};
    struct timing timing;
    ch_error error;
    check_sentence(measure(&kind, &fake, 1, &timing, &error), CH_FAILED, &error, "expected 1, found 2", NULL);
    assert_int_equal(fake.runs, 0);
}

static void failing_runs_end_it(void **state) {
    (void)state;
    for (int at = 1; at < 5; at++) {
        struct fake fake = {.fails_at = at};
        struct timing timing;
        ch_error error;
        check_sentence(measure(&kind, &fake, 1, &timing, &error), CH_NO_MEMORY, &error, "out of memory", NULL);
        assert_int_equal(fake.runs, at);
    }
}

static void figures_are_in_order(void **state) {
    (void)state;
    struct fake fake = {0};
    struct timing t;
    ch_error error;
    check_ok(measure(&kind, &fake, 0, &t, &error), &error);
    assert_true(t.samples >= 5 && t.repeats >= 1);
    assert_int_equal(fake.runs, 1 + t.samples * t.repeats);
    assert_true(0 <= t.least && t.least <= t.first_quartile && t.first_quartile <= t.median);
    assert_true(t.median <= t.third_quartile && t.rate > 0);
}

static void agreement(void **state) {
    (void)state;
    const real expected[] = {0, 1, 100, RC(INFINITY)};
    const double tolerance = usual_tolerance();
    ch_error error;
    real found[] = {RC(0.9 * tolerance), 1, RC(100 * (1 + 0.9 * tolerance)), 0};
    check_ok(agree("x", found, expected, 3, tolerance, &error), &error);
    check_sentence(agree("x", found, expected, 4, tolerance, &error), CH_FAILED, &error, "x[3]", "inf", "found 0",
                   NULL);
    found[3] = RC(INFINITY);
    check_ok(agree("x", found, expected, 4, tolerance, &error), &error);
    found[2] = RC(NAN);
    check_sentence(agree("x", found, expected, 3, tolerance, &error), CH_FAILED, &error, "x[2]", "nan", NULL);
    found[0] = RC(1.1 * tolerance);
    check_sentence(agree("x", found, expected, 3, tolerance, &error), CH_FAILED, &error, "x[0]", NULL);
}

/* Names are unique, and every kind has some. */
static void names(void **state) {
    (void)state;
    const struct kind *const kinds[] = {&kind_gemm, &kind_attention, &kind_rows, &kind_train, &kind_decode};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char name[CASE_NAME], other[CASE_NAME];
        size_t count = 0;
        for (; kinds[k]->row(count, name); count++)
            for (size_t j = 0; j < count; j++) {
                assert_true(kinds[k]->row(j, other));
                assert_string_not_equal(name, other);
            }
        assert_true(count > 0);
    }
}

/* What scores do besides being causal is told beside the causal case of the same core, shape and direction. */
static void plain_cases(void **state) {
    (void)state;
    char name[CASE_NAME], other[CASE_NAME], expected[CASE_NAME];
    size_t beside = 0;
    for (size_t i = 0; kind_attention.row(i, name); i++) {
        size_t plain = kind_attention.plain(i);
        assert_true(plain <= i);
        if (plain == i) continue;
        beside++;
        char *manner = strchr(strchr(name, '/') + 1, '/') + 1; /* core/shape/manner/direction */
        snprintf(expected, sizeof expected, "%.*scausal%s", (int)(manner - name), name, strchr(manner, '/'));
        assert_true(kind_attention.row(plain, other));
        assert_string_equal(other, expected);
    }
    assert_true(beside > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_not_timed),
        cmocka_unit_test(failing_runs_end_it),
        cmocka_unit_test(figures_are_in_order),
        cmocka_unit_test(agreement),
        cmocka_unit_test(names),
        cmocka_unit_test(plain_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
