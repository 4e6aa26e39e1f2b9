/*
 * Matrix products as the layers call them, over the rows of a shard: forward with weights as they lie (nt) and turned
 * (nn), the gradient of the input (dx) and of the weights (dw, added to). And the two products of a long attention's
 * head, which say what attention of that depth can hope for.
 *
 * The reference sums in double. |error| <= k u sum |a| |b|, u half an epsilon (Higham 2002, section 3.5); what C held
 * before and the sum with it round once more each.
 */
#include "bench.h"
#include "base/memory.h"
#include "kernels/gemm.h"

#include <float.h>
#include <string.h>

struct product {
    enum gemm_op op_a, op_b;
    int m, n, k;
    bool accumulate;
};

/* ---- the table: sizes, layers, uses ---- */

static const char *const layers[] = {"qkv", "out", "up", "down", "generator"};
static const char *const uses[] = {"nt", "nn", "dx", "dw"};
static const struct {
    const char *name;
    struct product product;
} attention[] = {
    {"attention/scores", {GEMM_N, GEMM_T, 512, 512, 64, false}},
    {"attention/values", {GEMM_N, GEMM_N, 512, 64, 512, false}},
};
enum {
    LAYERS = sizeof layers / sizeof *layers,
    USES = sizeof uses / sizeof *uses,
    LINEAR = SIZES * LAYERS * USES,
    ATTENTION = sizeof attention / sizeof *attention
};

static struct product linear_product(const struct size *s, size_t layer, size_t use) {
    const int in[] = {s->width, s->width, s->width, s->hidden, s->width};
    const int out[] = {3 * s->width, s->width, s->hidden, s->width, s->symbols + 3};
    int rows = shard_rows(s), i = in[layer], o = out[layer];
    const struct product product[] = {
        {GEMM_N, GEMM_T, rows, o, i, false},
        {GEMM_N, GEMM_N, rows, o, i, false},
        {GEMM_N, GEMM_N, rows, i, o, false},
        {GEMM_T, GEMM_N, o, i, rows, true},
    };
    return product[use];
}

static struct product product_of(size_t i) {
    if (i >= LINEAR) return attention[i - LINEAR].product;
    return linear_product(&sizes[i / (LAYERS * USES)], i / USES % LAYERS, i % USES);
}

static bool row(size_t i, char name[CASE_NAME]) {
    if (i >= LINEAR + ATTENTION) return false;
    if (i >= LINEAR)
        snprintf(name, CASE_NAME, "%s", attention[i - LINEAR].name);
    else
        snprintf(name, CASE_NAME, "%s/%s/%s", sizes[i / (LAYERS * USES)].name, layers[i / USES % LAYERS],
                 uses[i % USES]);
    return true;
}

/* ---- a case ---- */

struct state {
    struct product product;
    int lda, ldb;
    real *a, *b, *c, *before;
};

static void close_case(void *state) {
    struct state *s = state;
    if (!s) return;
    mem_free_aligned(s->a);
    mem_free_aligned(s->b);
    mem_free_aligned(s->c);
    mem_free_aligned(s->before);
    mem_free(s);
}

static void *open_case(size_t i, int threads, ch_error *error) {
    struct product p = product_of(i);
    size_t m = (size_t)p.m, n = (size_t)p.n, k = (size_t)p.k;
    (void)threads;
    struct state *s = mem_new(1, sizeof *s);
    if (!s) return fail_memory(error, "the inputs"), NULL;
    *s = (struct state){.product = p,
                        .lda = p.op_a == GEMM_N ? p.k : p.m,
                        .ldb = p.op_b == GEMM_N ? p.n : p.k,
                        .a = input_reals(m * k, error),
                        .b = input_reals(k * n, error),
                        .c = input_reals(m * n, error),
                        .before = input_reals(m * n, error)};
    if (!s->a || !s->b || !s->c || !s->before) return close_case(s), NULL;
    input_fill(s->a, m * k, 1);
    input_fill(s->b, k * n, 2);
    input_fill(s->before, m * n, 3);
    return s;
}

static ch_status run(void *state, ch_error *error) {
    struct state *s = state;
    const struct product *p = &s->product;
    (void)error;
    gemm(p->op_a, p->op_b, p->m, p->n, p->k, s->a, s->lda, s->b, s->ldb, p->accumulate, s->c, p->n);
    return CH_OK;
}

static struct work work(const void *state) {
    const struct product *p = &((const struct state *)state)->product;
    return (struct work){.flop = 2.0 * p->m * p->n * p->k};
}

/* ---- the reference ---- */

static ch_status verify_element(const struct state *s, size_t at, double half_epsilon, ch_error *error) {
    const struct product *p = &s->product;
    size_t i = at / (size_t)p->n, j = at % (size_t)p->n, lda = (size_t)s->lda, ldb = (size_t)s->ldb;
    double sum = p->accumulate ? (double)s->before[at] : 0, size = fabs(sum);
    for (size_t l = 0; l < (size_t)p->k; l++) {
        double a = (double)(p->op_a == GEMM_N ? s->a[i * lda + l] : s->a[l * lda + i]);
        double b = (double)(p->op_b == GEMM_N ? s->b[l * ldb + j] : s->b[j * ldb + l]);
        sum += a * b;
        size += fabs(a * b);
    }
    if (fabs((double)s->c[at] - sum) <= (p->k + 2) * half_epsilon * size) return CH_OK;
    return fail(error, CH_FAILED, "c[%zu][%zu]: expected %.9g, found %.9g", i, j, sum, (double)s->c[at]);
}

/* Every element; of a large product as many as 2^26 multiplications give, evenly spread. */
static ch_status verify(void *state, ch_error *error) {
    struct state *s = state;
    const double half_epsilon = (sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON) / 2;
    size_t count = (size_t)s->product.m * (size_t)s->product.n, most = ((size_t)1 << 26) / (size_t)s->product.k;
    double step = count > most ? (double)count / (double)most : 1;
    memcpy(s->c, s->before, count * sizeof *s->c);
    ch_status status = run(s, error);
    for (double at = 0; at < (double)count && status == CH_OK; at += step)
        status = verify_element(s, (size_t)at, half_epsilon, error);
    return status;
}

const struct kind kind_gemm = {
    .name = "gemm", .row = row, .open = open_case, .verify = verify, .run = run, .work = work, .close = close_case};
