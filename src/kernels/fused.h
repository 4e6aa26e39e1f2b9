/*
 * What the two paths of the fused core (attention_fused.c) share: short sequences in the lanes of vectors, long ones in
 * blocks that a matrix product is worth calling for. Both keep and take the same: of each query the maximum of its
 * scores and the sum of their exponentials. The shortest keep the exponentials, too.
 */
#ifndef CH_KERNELS_FUSED_H
#define CH_KERNELS_FUSED_H

#include "kernels/kernels.h"

#include <assert.h>
#include <string.h>

/* One sequence and one head: where its rows start, and how far apart they are. */
struct fused_head {
    const struct scores *scores;
    int b, h;
    int queries, keys;         /* T, S of the sequence */
    const real *q, *k, *v;     /* (T, Dh), (S, Dh), (S, Dh) */
    int ldq, ldk, ldv, ldo;    /* ldo: of out and dout */
    const real *maximum, *sum; /* (T), `heads` apart; what forward left */
    const real *kept;          /* exponentials, a tile after the other; below 0 where dropped; NULL: none */
    real *scratch;
};

struct fused_gradients {
    real *dq, *dk, *dv; /* added to */
    const real *dout, *out;
};

struct fused_path {
    size_t (*scratch_size)(const struct scores *);
    void (*forward)(real *out, real *maximum, real *sum, real *kept, const struct fused_head *);
    void (*backward)(const struct fused_gradients *, const struct fused_head *);
    /* weights (T, S) after softmax, before dropout */
    void (*map)(real *weights, const struct fused_head *);
};

extern const struct fused_path fused_short, fused_long;

/* Queries and keys up to which the exponentials are kept: reading them is faster than making them again. Not where a
 * soft cap is, whose backward needs the scores themselves. */
enum { KEPT = 64 };
static_assert(KEPT % LANES == 0, "tiles are whole");

/* Forward for a query or two where nothing is dropped: of as many heads, from the given one on. scratch: what
 * fused_short needs is enough. */
enum { FEW_HEADS = 4 };
void fused_few_forward(real *out, real *maximum, real *sum, const struct fused_head *first, int heads);

/* EIGHT channels of as many rows turned; those behind the last of n repeat it. */
VECTOR_HELPER void take_square(eight square[EIGHT], const real *rows, int ld, int n, real scale) {
    for (int i = 0; i < EIGHT; i++)
        square[i] = *(const eight *)(rows + (size_t)(i < n ? i : n - 1) * (size_t)ld) * scale;
    turn_square(square);
}

/* columns (Dh, ld) = scale times rows (n, Dh) turned, n at most LANES; the lanes behind them repeat some. */
VECTOR_HELPER void rows_to_lanes(real *columns, int ld, const real *rows, int ldr, int n, int d_head, real scale) {
    int d = 0;
    for (; d + EIGHT <= d_head; d += EIGHT) {
        eight low[EIGHT], high[EIGHT];
        real *to = columns + (size_t)d * (size_t)ld;
        take_square(low, rows + d, ldr, n, scale);
        if (n > EIGHT)
            take_square(high, rows + EIGHT * (size_t)ldr + d, ldr, n - EIGHT, scale);
        else
            memcpy(high, low, sizeof high);
        for (int i = 0; i < EIGHT; i++) {
            *(eight *)(to + (size_t)i * (size_t)ld) = low[i];
            *(eight *)(to + (size_t)i * (size_t)ld + EIGHT) = high[i];
        }
    }
    for (; d < d_head; d++)
        for (int i = 0; i < LANES; i++)
            columns[(size_t)d * (size_t)ld + (size_t)i] =
                rows[(size_t)(i < n ? i : n - 1) * (size_t)ldr + (size_t)d] * scale;
}

#endif
