/*
 * The product of few rows against long double, and the turned matrix it takes.
 *
 * Any order of summation keeps |y - exact| <= (k + 2) u (sum |x w| + |b|) to first order, u half an epsilon (Higham,
 * Accuracy and Stability, 3.1); one u more covers the second order for the sizes here.
 */
#include "kernels/kernels.h"
#include "support.h"

#include <float.h>
#include <stdlib.h>

static const double half_epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;

struct sizes {
    int rows, depth, columns;
};

/* The error of y_ij as a share of what is allowed. */
static double share(const real *x, const real *w, const real *b, struct sizes s, int i, int j, real y) {
    long double exact = b ? (long double)b[j] : 0, size = fabsl(exact);
    for (int k = 0; k < s.depth; k++) {
        long double term = (long double)x[i * s.depth + k] * (long double)w[k * s.columns + j];
        exact += term;
        size += fabsl(term);
    }
    long double allowed = (s.depth + 3) * (long double)half_epsilon * size;
    long double error = fabsl((long double)y - exact);
    return error == 0 ? 0 : (double)(error / allowed);
}

static double check_product(struct sizes s, bool bias, uint64_t seed) {
    size_t weights = (size_t)s.depth * (size_t)s.columns, outputs = (size_t)s.rows * (size_t)s.columns;
    real *x = new_reals((size_t)s.rows * (size_t)s.depth), *w = new_reals(weights + LANES);
    real *b = new_reals((size_t)s.columns), *y = new_reals(outputs + 1);
    fill_random(x, (size_t)s.rows * (size_t)s.depth, seed, 1);
    fill_random(w, weights, seed + 1, 1);
    fill_value(w + weights, LANES, RC(NAN)); /* may be read, not used */
    fill_random(b, (size_t)s.columns, seed + 2, 1);
    y[outputs] = RC(7.25);
    few_rows_product(y, x, w, bias ? b : NULL, s.rows, s.depth, s.columns);
    double worst = 0;
    for (int i = 0; i < s.rows; i++)
        for (int j = 0; j < s.columns; j++) {
            double found = share(x, w, bias ? b : NULL, s, i, j, y[i * s.columns + j]);
            if (!(found <= 1))
                fail_msg("%d x %d x %d: y[%d][%d] is %g, %.3g times the error that is allowed", s.rows, s.depth,
                         s.columns, i, j, (double)y[i * s.columns + j], found);
            worst = found > worst ? found : worst;
        }
    assert_true(y[outputs] == RC(7.25));
    free(x), free(w), free(b), free(y);
    return worst;
}

static void few_rows(void **state) {
    (void)state;
    double worst = 0;
    for (int size = 1; size <= 70; size++)
        for (int which = 0; which < 3; which++) {
            struct sizes s = {which == 0 ? size : random_int(1, (uint64_t)size, 1, 9),
                              which == 1 ? size : random_int(2, (uint64_t)size, 1, 70),
                              which == 2 ? size : random_int(3, (uint64_t)size, 1, 140)};
            double found = check_product(s, (size + which) % 2, (uint64_t)(10 * size + which));
            worst = found > worst ? found : worst;
        }
    print_message("             worst error, as a share of the bound: %.3f\n", worst);
}

static void values_that_are_not_numbers(void **state) {
    (void)state;
    enum { ROWS = 5, DEPTH = 3, COLUMNS = 20 };
    real x[ROWS * DEPTH], w[DEPTH * COLUMNS + LANES], y[ROWS * COLUMNS];
    fill_value(x, ROWS * DEPTH, 1);
    fill_value(w, DEPTH * COLUMNS + LANES, 1);
    x[1 * DEPTH] = RC(NAN);
    x[4 * DEPTH + 2] = RC(INFINITY);
    w[17] = 0; /* row 0, column 17: 0 times NaN is NaN */
    few_rows_product(y, x, w, NULL, ROWS, DEPTH, COLUMNS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            real found = y[i * COLUMNS + j];
            assert_true(i == 1 ? isnan(found) : i == 4 ? isinf(found) : found == (j == 17 ? 2 : 3));
        }
}

static void turned(void **state) {
    (void)state;
    for (int rows = 1; rows <= 35; rows++)
        for (int columns = 1; columns <= 35; columns++) {
            size_t count = (size_t)rows * (size_t)columns;
            real *x = new_reals(count), *y = new_reals(count + 1);
            fill_random(x, count, (uint64_t)(100 * rows + columns), 1);
            y[count] = RC(7.25);
            transpose(y, x, rows, columns);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++) assert_true(y[j * rows + i] == x[i * columns + j]);
            assert_true(y[count] == RC(7.25));
            free(x), free(y);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows),
        cmocka_unit_test(values_that_are_not_numbers),
        cmocka_unit_test(turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
