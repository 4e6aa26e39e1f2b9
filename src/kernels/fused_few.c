/*
 * The fused core's forward for a query or two, as decoding has them: lanes of queries would stay empty, so channels
 * fill them. Dot products of a query with eight keys stand in eight vectors, which are turned and added: eight scores
 * side by side. Keeps what the other paths keep.
 * scratch: a row of scores for each head.
 */
#include "kernels/columns.h"
#include "kernels/fused.h"

/* Lanes of eights added up, eight scores: x = query . row_i, rows behind the last of n repeating it. */
VECTOR_HELPER void eight_scores(eight *x, const real *query, const real *rows, int ld, int n, int d_head) {
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
    *x = sum[0];
}

/* LANES scores, of which n exist and the others are hidden: they leave the registers as one, since a vector that is
 * read where two smaller ones were written waits for both. */
VECTOR_HELPER void lanes_of_scores(real *x, const real *query, const real *rows, int ld, int n, int d_head,
                                   real scale) {
    static const reals number = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    typedef __typeof__(number < number) mask;
    eight low, high = {0};
    eight_scores(&low, query, rows, ld, n, d_head);
    if (n > EIGHT) eight_scores(&high, query, rows + EIGHT * (size_t)ld, ld, n - EIGHT, d_head);
    reals all = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) * scale;
    mask seen = number < (real)n;
    *(reals *)x = (reals)(((mask)all & seen) | ((mask)((reals){0} - RC(INFINITY)) & ~seen));
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

/* Head `first` and those behind it, each step for all of them: one head's steps wait for each other, those of several
 * heads do not. */
VECTORISED static void forward_query(real *out, real *maximum, real *sum, const struct fused_head *first, int heads,
                                     int i) {
    const struct scores *s = first->scores;
    const int d_head = s->d_head, *kv = s->kv_of_head + first->h;
    struct key_range seen = scores_visible(s, first->b, i);
    int keys = seen.to - seen.from, whole = (keys + LANES - 1) / LANES * LANES;
    const real *query = first->q + (size_t)i * (size_t)first->ldq;
    const real *k = first->k + (size_t)seen.from * (size_t)first->ldk;
    const real *v = first->v + (size_t)seen.from * (size_t)first->ldv;
    for (int h = 0; h < heads; h++)
        for (int j = 0; j < keys; j += LANES)
            lanes_of_scores(first->scratch + h * whole + j, query + h * d_head,
                            k + (size_t)j * (size_t)first->ldk + (kv[h] - kv[0]) * d_head, first->ldk, keys - j, d_head,
                            s->scale);
    for (int h = 0; h < heads && scores_adjusted(s); h++)
        scores_adjust(first->scratch + h * whole, NULL, s, first->b, first->h + h, i, seen.from, keys);
    for (int h = 0; h < heads && s->knockout_count; h++)
        scores_hide(first->scratch + h * whole, s, first->b, i, seen.from, keys);
    for (int h = 0; h < heads; h++) softmax_row(first->scratch + h * whole, whole, maximum + h, sum + h);
    for (int h = 0; h < heads; h++)
        sum_of_rows(out + h * d_head, first->scratch + h * whole, v + (kv[h] - kv[0]) * d_head, (size_t)first->ldv,
                    keys, d_head, factor_of(sum[h]));
}

void fused_few_forward(real *out, real *maximum, real *sum, const struct fused_head *first, int heads) {
    for (int i = 0; i < first->queries; i++) {
        size_t at = (size_t)i * (size_t)first->scores->heads;
        forward_query(out + (size_t)i * (size_t)first->ldo, maximum + at, sum + at, first, heads, i);
    }
}
