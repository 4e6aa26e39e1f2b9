/*
 * Rotary positions, Su et al. 2021. At position p pair i of a head's Dh numbers is turned by the angle
 *   t = p / divisor * base^(-2i/Dh):   a' = a cos t - b sin t,  b' = b cos t + a sin t
 * Turning is orthogonal: the way back, with -t, is its inverse and takes the gradient of (a', b') to that of (a, b).
 */
#include "kernels/kernels.h"
#include "base/vector.h"

enum { PAIRS = 64 }; /* angles that are made at a time */

/* cosine, sine (pairs): of pairs from `first` on. In double, so that far positions keep their digits. */
static void angles(real *cosine, real *sine, const struct rope *rope, int position, int first, int pairs) {
    for (int i = 0; i < pairs; i++) {
        double angle = position / rope->divisor * pow(rope->base, -2.0 * (first + i) / rope->d_head);
        cosine[i] = RC(cos(angle));
        sine[i] = RC(sin(angle));
    }
}

void rope_table(real *table, const struct rope *rope, int positions) {
    int half = rope->d_head / 2;
    for (int p = 0; p < positions; p++, table += rope->d_head) angles(table, table + half, rope, p, 0, half);
}

/* a, b (pairs) lie in two halves. way: 1, or -1 for the way back. */
VECTORISED static void turn_halves(real *restrict a, real *restrict b, const real *restrict cosine,
                                   const real *restrict sine, real way, int pairs) {
    for (int i = 0; i < pairs; i++) {
        real was = a[i], s = way * sine[i];
        a[i] = was * cosine[i] - b[i] * s;
        b[i] = b[i] * cosine[i] + was * s;
    }
}

/* x (pairs, 2) */
VECTORISED static void turn_neighbours(real *restrict x, const real *restrict cosine, const real *restrict sine,
                                       real way, int pairs) {
    for (int i = 0; i < pairs; i++) {
        real a = x[2 * i], b = x[2 * i + 1], s = way * sine[i];
        x[2 * i] = a * cosine[i] - b * s;
        x[2 * i + 1] = b * cosine[i] + a * s;
    }
}

/* Pairs from `first` on of every head of one row. */
static void turn_heads(real *x, const struct rope *rope, int heads, int first, int pairs, const real *cosine,
                       const real *sine, real way) {
    for (int h = 0; h < heads; h++, x += rope->d_head) {
        if (rope->interleaved)
            turn_neighbours(x + 2 * first, cosine, sine, way, pairs);
        else
            turn_halves(x + first, x + rope->d_head / 2 + first, cosine, sine, way, pairs);
    }
}

void rope_rotate(real *x, int ld, const struct rope *rope, const int *position, int rows, int heads, bool back) {
    const int half = rope->d_head / 2;
    const real way = back ? -1 : 1;
    for (int n = 0; n < rows; n++, x += ld) {
        if (position[n] < rope->positions) {
            const real *known = rope->table + (size_t)position[n] * (size_t)rope->d_head;
            turn_heads(x, rope, heads, 0, half, known, known + half, way);
            continue;
        }
        for (int first = 0; first < half; first += PAIRS) {
            real cosine[PAIRS], sine[PAIRS];
            int pairs = half - first < PAIRS ? half - first : PAIRS;
            angles(cosine, sine, rope, position[n], first, pairs);
            turn_heads(x, rope, heads, first, pairs, cosine, sine, way);
        }
    }
}
