/*
 * The linked matrix product against a plain triple loop in long double.
 *
 * Any order of summation keeps |c - exact| <= (k + 1) u (sum |a b| + |c before|) to first order, u half an epsilon
 * (Higham, Accuracy and Stability, 3.1); one u more covers the second order for the sizes here.
 */
#include "kernels/gemm.h"
#include "support.h"

#include <float.h>
#include <stdlib.h>

static const double half_epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
static const real untouched = 7.25; /* what lies between the rows of C */

struct product {
    enum gemm_op op_a, op_b;
    int m, n, k, lda, ldb, ldc;
    bool accumulate;
    real *a, *b, *c, *before;
};

static int stored_rows(enum gemm_op op, int rows, int columns) {
    return op == GEMM_N ? rows : columns;
}

/* A matrix with NaN between its rows: nobody may read there. */
static real *new_matrix(int rows, int columns, int ld, uint64_t seed) {
    size_t count = (size_t)rows * (size_t)ld;
    real *x = new_reals(count);
    fill_random(x, count, seed, 1);
    for (int i = 0; i < rows; i++) fill_value(x + (size_t)i * (size_t)ld + columns, (size_t)(ld - columns), RC(NAN));
    return x;
}

/* extra: how much longer than needed the leading dimensions are. */
static struct product product_new(enum gemm_op op_a, enum gemm_op op_b, const int size[3], int extra, bool accumulate,
                                  uint64_t seed) {
    struct product p = {.op_a = op_a, .op_b = op_b, .m = size[0], .n = size[1], .k = size[2], .accumulate = accumulate};
    p.lda = (op_a == GEMM_N ? p.k : p.m) + extra;
    p.ldb = (op_b == GEMM_N ? p.n : p.k) + 2 * extra;
    p.ldc = p.n + 3 * extra;
    p.a = new_matrix(stored_rows(op_a, p.m, p.k), p.lda - extra, p.lda, seed);
    p.b = new_matrix(stored_rows(op_b, p.k, p.n), p.ldb - 2 * extra, p.ldb, seed + 1);
    p.c = new_matrix(p.m, p.n, p.ldc, seed + 2);
    p.before = new_reals((size_t)p.m * (size_t)p.ldc);
    for (int i = 0; i < p.m; i++) fill_value(p.c + (size_t)i * (size_t)p.ldc + p.n, (size_t)(p.ldc - p.n), untouched);
    return p;
}

static void product_free(struct product *p) {
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->before);
}

static real a_at(const struct product *p, int i, int l) {
    return p->op_a == GEMM_N ? p->a[i * p->lda + l] : p->a[l * p->lda + i];
}

static real b_at(const struct product *p, int l, int j) {
    return p->op_b == GEMM_N ? p->b[l * p->ldb + j] : p->b[j * p->ldb + l];
}

/* Fails unless c_ij is the product; gives the error as a share of what is allowed. */
static double check_element(const struct product *p, int i, int j) {
    real before = p->accumulate ? p->before[i * p->ldc + j] : 0, found = p->c[i * p->ldc + j];
    long double exact = (long double)before, size = fabsl((long double)before);
    for (int l = 0; l < p->k; l++) {
        long double term = (long double)a_at(p, i, l) * (long double)b_at(p, l, j);
        exact += term;
        size += fabsl(term);
    }
    double special = (double)exact; /* not asked of the long double: valgrind keeps only 64 bits of one */
    if (!isfinite(special)) {
        if (isnan(special) ? isnan(found) : (double)found == special) return 0;
        fail_msg("c(%d, %d) is %g, expected %g", i, j, (double)found, special);
    }
    double allowed = (p->k + 2) * half_epsilon * (double)size, error = (double)fabsl((long double)found - exact);
    if (!(error <= allowed))
        fail_msg("ops %d %d, m %d n %d k %d, accumulate %d: c(%d, %d) is %.17g, expected %.17Lg (allowed %.3g)",
                 p->op_a, p->op_b, p->m, p->n, p->k, p->accumulate, i, j, (double)found, exact, allowed);
    return allowed > 0 ? error / allowed : 0;
}

static void multiply(struct product *p) {
    for (int i = 0; i < p->m * p->ldc; i++) p->before[i] = p->c[i];
    gemm(p->op_a, p->op_b, p->m, p->n, p->k, p->a, p->lda, p->b, p->ldb, p->accumulate, p->c, p->ldc);
}

static double check_product(const struct product *p) {
    double worst = 0;
    for (int i = 0; i < p->m; i++) {
        for (int j = 0; j < p->n; j++) worst = fmax(worst, check_element(p, i, j));
        check_same("the columns behind C", p->c + i * p->ldc + p->n, p->before + i * p->ldc + p->n,
                   (size_t)(p->ldc - p->n));
    }
    return worst;
}

/* ---- tests ---- */

enum { SAMPLES = 24, LONGEST = 70, COMBINATIONS = 8 };

/* The smallest sizes and the largest first, then whatever lies between. */
static void size_of_sample(int sample, int combination, int size[3]) {
    for (int d = 0; d < 3; d++) {
        bool edge = sample < 8;
        uint64_t draw = (uint64_t)(sample * 3 + d);
        size[d] = edge ? (sample >> d & 1 ? LONGEST : 1) : random_int((uint64_t)combination, draw, 1, LONGEST);
    }
}

static void equals_the_definition(void **state) {
    (void)state;
    double worst = 0;
    for (int combination = 0; combination < COMBINATIONS; combination++)
        for (int sample = 0; sample < SAMPLES; sample++) {
            int size[3];
            size_of_sample(sample, combination, size);
            struct product p = product_new(combination & 1 ? GEMM_T : GEMM_N, combination & 2 ? GEMM_T : GEMM_N, size,
                                           sample % 4, combination & 4, (uint64_t)(combination * 1000 + sample * 10));
            multiply(&p);
            worst = fmax(worst, check_product(&p));
            product_free(&p);
        }
    print_message("             %s: worst error %.3f of what is allowed\n", gemm_backend(), worst);
}

/* What C held does not enter unless it is asked for, not even as NaN. */
static void overwrites(void **state) {
    (void)state;
    for (int ops = 0; ops < 4; ops++) {
        struct product p =
            product_new(ops & 1 ? GEMM_T : GEMM_N, ops & 2 ? GEMM_T : GEMM_N, (int[]){17, 33, 9}, 1, false, 50);
        for (int i = 0; i < p.m; i++) fill_value(p.c + i * p.ldc, (size_t)p.n, RC(NAN));
        multiply(&p);
        check_product(&p);
        product_free(&p);
    }
}

/* A NaN, infinities of both signs, and 0 * infinity, each in a row of A or a column of B of its own. */
static void special_values_go_through(void **state) {
    (void)state;
    static const real special[] = {(real)NAN, (real)INFINITY, -(real)INFINITY};
    for (int ops = 0; ops < 4; ops++)
        for (int s = 0; s < 3; s++) {
            enum gemm_op op_a = ops & 1 ? GEMM_T : GEMM_N, op_b = ops & 2 ? GEMM_T : GEMM_N;
            struct product p = product_new(op_a, op_b, (int[]){19, 21, 35}, 1, s == 1, 70);
            for (int l = 0; l < p.k; l++) p.a[op_a == GEMM_N ? 7 * p.lda + l : l * p.lda + 7] = 0;
            p.a[op_a == GEMM_N ? 4 * p.lda + 30 : 30 * p.lda + 4] = special[s];
            p.b[op_b == GEMM_N ? 5 * p.ldb + 11 : 11 * p.ldb + 5] = special[s];
            multiply(&p);
            check_product(&p);
            assert_true(isnan(p.c[7 * p.ldc + 11])); /* 0 * special */
            assert_true(isfinite(p.c[7 * p.ldc + 12]));
            product_free(&p);
        }
}

static void zero_rows_give_zero(void **state) {
    (void)state;
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        struct product p = product_new(GEMM_N, GEMM_T, (int[]){5, 37, 18}, 0, accumulate, 90);
        fill_value(p.a + 2 * p.lda, (size_t)p.k, 0);
        multiply(&p);
        check_product(&p);
        for (int j = 0; j < p.n; j++) assert_true(p.c[2 * p.ldc + j] == (accumulate ? p.before[2 * p.ldc + j] : 0));
        product_free(&p);
    }
}

/* No rows, no columns: nothing happens. Nothing to sum over: zero, or what was there. */
static void empty_products(void **state) {
    (void)state;
    for (int ops = 0; ops < 4; ops++)
        for (int empty = 0; empty < 3; empty++)
            for (int accumulate = 0; accumulate < 2; accumulate++) {
                int size[3] = {6, 7, 8};
                size[empty] = 0;
                struct product p =
                    product_new(ops & 1 ? GEMM_T : GEMM_N, ops & 2 ? GEMM_T : GEMM_N, size, 1, accumulate, 110);
                multiply(&p);
                check_product(&p);
                product_free(&p);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_definition),
        cmocka_unit_test(overwrites),
        cmocka_unit_test(special_values_go_through),
        cmocka_unit_test(zero_rows_give_zero),
        cmocka_unit_test(empty_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
