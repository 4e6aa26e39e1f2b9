/*
 * Softmax, cross-entropy and argmax against long double.
 *
 * u is half an epsilon. exp of a difference <= 0 in float, without fused multiply-add, which only makes it better:
 * the reduced argument is off by u/4, the last three steps of Horner's scheme by at most (1 + 1/4 + 0.347 * 1.34) u
 * of 1 where the result is in 1..1.41 and by (1/2 + 1/4 + 0.347 * 1.34) u of 1 where it is in 0.70..1, the missing
 * terms of the series weigh u/10: below 2.5 u of the result in both. exp of the C library, in double, is below that.
 * A sum of n such numbers in 16 lanes is rounded n/16 + 16 times on the way of any one of them.
 */
#include "kernels/kernels.h"
#include "support.h"

#include <float.h>

static const double half_epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
static const double exp_error = 2.5; /* in u */

enum { LONGEST = 70 };

static double sum_error(int n) {
    return exp_error + n / 16 + 16;
}

static void each_element_is_exact_to_rounding(void **state) {
    (void)state;
    double worst = 0, worst_sum = 0;
    for (int n = 1; n <= LONGEST; n++)
        for (uint64_t sample = 0; sample < 40; sample++) {
            real x[LONGEST], e[LONGEST], maximum, sum;
            /* from 2^-10 to 86 below the largest, which is 0: the differences are exact */
            fill_random(x, (size_t)n, (uint64_t)n * 100 + sample, 43 * exp2(-(double)(sample % 16)));
            for (int i = 0; i < n; i++) e[i] = x[i] = i == n / 2 ? 0 : -R(fabs)(x[i]) * 2;
            softmax_row(e, n, &maximum, &sum);
            long double total = 0;
            for (int i = 0; i < n; i++) {
                long double exact = expl((long double)x[i]);
                double error = (double)fabsl(((long double)e[i] - exact) / exact) / half_epsilon;
                if (!(error <= exp_error)) fail_msg("exp(%g) is off by %.2f u", (double)x[i], error);
                worst = fmax(worst, error);
                total += exact;
            }
            double error = (double)fabsl(((long double)sum - total) / total) / half_epsilon;
            assert_true(maximum == 0 && error <= sum_error(n));
            worst_sum = fmax(worst_sum, error / sum_error(n));
        }
    print_message("             exp: worst %.2f u of %.1f; sum: worst %.2f of what is allowed\n", worst, exp_error,
                  worst_sum);
}

/* Only the roundings of the sum keep a row from adding up to 1. */
static void weights_sum_to_one(void **state) {
    (void)state;
    for (int n = 1; n <= LONGEST; n++) {
        real x[LONGEST], again[LONGEST], maximum, sum;
        fill_random(x, (size_t)n, (uint64_t)n, 20);
        fill_random(again, (size_t)n, (uint64_t)n, 20);
        softmax_row(x, n, &maximum, &sum);
        softmax_again(again, n, maximum, sum);
        double total = 0, total_again = 0;
        for (int i = 0; i < n; i++) {
            total += (double)x[i] / (double)sum;
            total_again += (double)again[i];
            /* one rounding for 1 / sum, one for the product */
            assert_true(fabs((double)again[i] - (double)x[i] / (double)sum) <= 2.5 * half_epsilon);
        }
        assert_true(fabs(total - 1) <= (n / 16 + 16) * half_epsilon);
        assert_true(fabs(total_again - 1) <= (n / 16 + 16 + 2.5) * half_epsilon);
    }
}

/* Sixty-fourths up to 8 and a shift of 32 are exact, so the differences and all that follows keep their bits. */
static void a_shift_changes_nothing(void **state) {
    (void)state;
    for (int n = 1; n <= LONGEST; n++) {
        real x[LONGEST], shifted[LONGEST], maximum[2], sum[2];
        fill_random(x, (size_t)n, (uint64_t)n, 8);
        for (int i = 0; i < n; i++) {
            x[i] = R(round)(x[i] * 64) / 64;
            shifted[i] = x[i] - 32;
        }
        softmax_row(x, n, &maximum[0], &sum[0]);
        softmax_row(shifted, n, &maximum[1], &sum[1]);
        check_same("shifted row", shifted, x, (size_t)n);
        check_same("its sum", &sum[1], &sum[0], 1);
        assert_true(maximum[1] == maximum[0] - 32);
    }
}

static void hidden_rows_are_zero(void **state) {
    (void)state;
    for (int n = 0; n <= LONGEST; n++) {
        real x[LONGEST], again[LONGEST], maximum = 3, sum = 3;
        fill_value(x, LONGEST, -RC(INFINITY));
        fill_value(again, LONGEST, -RC(INFINITY));
        softmax_row(x, n, &maximum, &sum);
        assert_true(maximum == 0 && sum == 0);
        softmax_again(again, n, maximum, sum);
        for (int i = 0; i < n; i++) assert_true(x[i] == 0 && again[i] == 0);
    }
}

static void hidden_elements_are_exactly_zero(void **state) {
    (void)state;
    for (int n = 2; n <= LONGEST; n++) {
        real x[LONGEST], maximum, sum;
        fill_random(x, (size_t)n, (uint64_t)n, 5);
        int hidden = n / 3, far = n - 1;
        x[far] = -RC(1e4); /* exp(-9995) is below any number */
        x[hidden] = -RC(INFINITY);
        x[n / 2] = 5;
        softmax_row(x, n, &maximum, &sum);
        assert_true(maximum == 5 && sum >= 1);
        if (hidden != n / 2) assert_true(x[hidden] == 0);
        if (far != n / 2) assert_true(x[far] == 0);
        assert_true(x[n / 2] == 1);
    }
}

/* Wherever it stands and whatever stands beside it: even where all the rest is hidden. */
static void nan_goes_through(void **state) {
    (void)state;
    static const real beside[] = {1, -(real)INFINITY, (real)NAN};
    for (int n = 1; n <= LONGEST; n++)
        for (int at = 0; at < n; at++)
            for (int rest = 0; rest < 3; rest++) {
                real x[LONGEST], maximum, sum;
                fill_value(x, (size_t)n, beside[rest]);
                x[at] = RC(NAN);
                softmax_row(x, n, &maximum, &sum);
                assert_true(isnan(sum) && isnan(x[at]));
            }
    real x[3] = {1, RC(INFINITY), 2}, maximum, sum;
    softmax_row(x, 3, &maximum, &sum);
    assert_true(isnan(sum)); /* infinity over infinity */
}

/* ---- cross-entropy ---- */

enum { ROWS = 11, IGNORED = -1 };
static const real scale = (real)0.125;

/* Logits in -8..8: a difference is rounded by at most 16 u, and so is its exp. */
static double difference_error(void) {
    return 16;
}

static void check_row(struct figure *figure, const real *dx, const real *x, int label, int vocab) {
    long double maximum = (long double)x[0], sum = 0;
    for (int j = 1; j < vocab; j++) maximum = fmaxl(maximum, (long double)x[j]);
    for (int j = 0; j < vocab; j++) sum += expl((long double)x[j] - maximum);
    /* numerator and sum, then scale / sum, the product and the last difference: each beside numbers <= scale */
    figure->tolerance = (double)scale * half_epsilon * (2 * difference_error() + exp_error + sum_error(vocab) + 3);
    for (int j = 0; j < vocab; j++) {
        long double p = expl((long double)x[j] - maximum) / sum;
        real exact = (real)((long double)scale * (p - (j == label)));
        figure_check(figure, &dx[j], &exact, 1);
    }
}

static double exact_loss(const real *x, int label, int vocab) {
    long double sum = 0;
    for (int j = 0; j < vocab; j++) sum += expl((long double)x[j] - (long double)x[label]);
    return (double)logl(sum);
}

static void cross_entropy_equals_its_definition(void **state) {
    (void)state;
    struct figure gradient = {.what = "gradient of cross-entropy"};
    double worst = 0;
    for (int vocab = 1; vocab <= LONGEST; vocab++) {
        real logits[ROWS * LONGEST], dlogits[ROWS * LONGEST];
        int label[ROWS], counted = 0, correct = 0;
        fill_random(logits, (size_t)(ROWS * vocab), (uint64_t)vocab, 8);
        double expected = 0;
        for (int n = 0; n < ROWS; n++) {
            const real *x = logits + n * vocab;
            label[n] = n % 4 == 2 ? IGNORED : n % 4 == 1 ? argmax(x, vocab) : random_int(9, (uint64_t)n, 0, vocab - 1);
            if (label[n] == IGNORED) continue;
            counted++;
            correct += argmax(x, vocab) == label[n];
            expected += exact_loss(x, label[n], vocab);
        }
        struct loss loss = cross_entropy(dlogits, logits, label, IGNORED, scale, ROWS, vocab);
        for (int n = 0; n < ROWS; n++) {
            if (label[n] != IGNORED) check_row(&gradient, dlogits + n * vocab, logits + n * vocab, label[n], vocab);
            for (int j = 0; j < vocab && label[n] == IGNORED; j++) assert_true(dlogits[n * vocab + j] == 0);
        }
        assert_int_equal(loss.count, counted);
        assert_int_equal(loss.correct, correct);
        /* a row: its sum's error, log <= 4.3 and its ulp, the differences to the label and of both: <= 21 */
        double allowed = counted * half_epsilon * (difference_error() * 2 + sum_error(vocab) + 2 * 4.3 + 21);
        assert_true(fabs(loss.sum - expected) <= allowed);
        worst = fmax(worst, fabs(loss.sum - expected) / allowed);
    }
    figure_show(&gradient);
    print_message("             loss: worst %.2f of what is allowed\n", worst);
}

static void cross_entropy_in_place(void **state) {
    (void)state;
    enum { VOCAB = 23 };
    real logits[ROWS * VOCAB], apart[ROWS * VOCAB];
    int label[ROWS];
    for (int n = 0; n < ROWS; n++) label[n] = n % 3 ? n : IGNORED;
    fill_random(logits, ROWS * VOCAB, 5, 8);
    struct loss a = cross_entropy(apart, logits, label, IGNORED, scale, ROWS, VOCAB);
    struct loss b = cross_entropy(logits, logits, label, IGNORED, scale, ROWS, VOCAB);
    check_same("dlogits in place", logits, apart, ROWS * VOCAB);
    assert_true(a.sum == b.sum && a.count == b.count && a.correct == b.correct);
}

static void cross_entropy_shows_nan(void **state) {
    (void)state;
    real logits[6] = {1, RC(NAN), 2, 0, 1, 2}, dlogits[6];
    struct loss loss = cross_entropy(dlogits, logits, (int[]){0, 1}, IGNORED, 1, 2, 3);
    assert_true(isnan(loss.sum));
    assert_true(isnan(dlogits[0]) && isnan(dlogits[1]) && isnan(dlogits[2]));
    assert_true(isfinite(dlogits[3]) && isfinite(dlogits[4]) && isfinite(dlogits[5]));
    real hopeless[2] = {0, -RC(INFINITY)};
    loss = cross_entropy(dlogits, hopeless, (int[]){1}, IGNORED, 1, 1, 2);
    assert_true(isinf(loss.sum) && loss.sum > 0);
    assert_true(dlogits[0] == 1 && dlogits[1] == -1);
}

static void argmax_takes_the_first_and_no_nan(void **state) {
    (void)state;
    const real nan = RC(NAN), infinity = RC(INFINITY);
    assert_int_equal(argmax((real[]){3}, 1), 0);
    assert_int_equal(argmax((real[]){1, 3, 2, 3}, 4), 1);
    assert_int_equal(argmax((real[]){-1, -3, -2}, 3), 0);
    assert_int_equal(argmax((real[]){2, 2, 2}, 3), 0);
    assert_int_equal(argmax((real[]){nan, 1, 2}, 3), 2);
    assert_int_equal(argmax((real[]){1, nan, 0}, 3), 0);
    assert_int_equal(argmax((real[]){nan, -infinity, nan}, 3), 1);
    assert_int_equal(argmax((real[]){0, infinity, infinity}, 3), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_element_is_exact_to_rounding),
        cmocka_unit_test(weights_sum_to_one),
        cmocka_unit_test(a_shift_changes_nothing),
        cmocka_unit_test(hidden_rows_are_zero),
        cmocka_unit_test(hidden_elements_are_exactly_zero),
        cmocka_unit_test(nan_goes_through),
        cmocka_unit_test(cross_entropy_equals_its_definition),
        cmocka_unit_test(cross_entropy_in_place),
        cmocka_unit_test(cross_entropy_shows_nan),
        cmocka_unit_test(argmax_takes_the_first_and_no_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
