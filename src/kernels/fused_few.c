/*
 * The fused core's forward for a query or two, as decoding has them: lanes of queries would stay empty, so channels
 * fill them. Dot products of a query with eight keys stand in eight vectors, which are turned and added: eight scores
 * side by side. Keeps what the other paths keep.
 * scratch: a row of scores.
 */
#include "kernels/columns.h"
#include "kernels/fused.h"

/* The lanes of eights added up, eight scores: x (EIGHT) = query . row_i, rows behind the last of n repeating it. */
VECTOR_HELPER void eight_scores(real *x, const real *query, const real *rows, int ld, int n, int d_head, real scale) {
    const real *row[EIGHT];
    eight sum[EIGHT];
    for (int i = 0; i < EIGHT; i++) {
        row[i] = rows + (size_t)(i < n ? i : n - 1) * (size_t)ld;
        sum[i] = (eight){0};
    }
    int d = 0;
    for (; d + EIGHT <= d_head; d += EIGHT)
        for (int i = 0; i < EIGHT; i++) sum[i] += *(const eight *)(row[i] + d) * *(const eight *)(query + d);
    turn_square(sum);
    for (int i = 1; i < EIGHT; i++) sum[0] += sum[i];
    for (; d < d_head; d++)
        for (int i = 0; i < EIGHT; i++) sum[0][i] += row[i][d] * query[d];
    *(eight *)x = sum[0] * scale;
}

/* out (Dh) = factor times the sum of n rows, each times its weight; four of them at a time, in four sums. */
VECTOR_HELPER void sum_of_rows(real *out, const real *weight, const real *rows, size_t ld, int n, int d_head,
                               real factor) {
    enum { SUMS = 4 };
    int d = 0;
    for (; d + EIGHT <= d_head; d += EIGHT) {
        eight sum[SUMS] = {{0}};
        const real *row = rows + d;
        int j = 0;
        for (; j + SUMS <= n; j += SUMS, row += SUMS * ld)
            for (int r = 0; r < SUMS; r++) sum[r] += weight[j + r] * *(const eight *)(row + (size_t)r * ld);
        for (; j < n; j++, row += ld) sum[0] += weight[j] * *(const eight *)row;
        *(eight *)(out + d) = factor * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
    for (; d < d_head; d++) {
        real sum = 0;
        for (int j = 0; j < n; j++) sum += weight[j] * rows[(size_t)j * ld + (size_t)d];
        out[d] = factor * sum;
    }
}

VECTORISED static void forward_query(real *out, real *maximum, real *sum, const struct fused_head *head, int i) {
    const struct scores *s = head->scores;
    int keys = scores_visible(s, head->b, i), whole = (keys + LANES - 1) / LANES * LANES;
    real *x = head->scratch;
    for (int j = 0; j < keys; j += EIGHT)
        eight_scores(x + j, head->q + (size_t)i * (size_t)head->ldq, head->k + (size_t)j * (size_t)head->ldk, head->ldk,
                     keys - j, s->d_head, s->scale);
    if (s->knockout_count) scores_hide(x, s, head->b, i);
    for (int j = keys; j < whole; j++) x[j] = -RC(INFINITY); /* whole vectors are faster than what is left of one */
    softmax_row(x, whole, maximum, sum);
    sum_of_rows(out, x, head->v, (size_t)head->ldv, keys, s->d_head, factor_of(*sum));
}

void fused_few_forward(real *out, real *maximum, real *sum, const struct fused_head *head) {
    for (int i = 0; i < head->queries; i++) {
        size_t at = (size_t)i * (size_t)head->scores->heads;
        forward_query(out + (size_t)i * (size_t)head->ldo, maximum + at, sum + at, head, i);
    }
}
