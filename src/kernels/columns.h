/*
 * Softmax down the columns of a tile x (n, columns) with a query in each column: helpers of vectorised functions. All
 * loops run along a row, so nothing is summed across a vector, and at any instruction set they fill its registers.
 */
#ifndef CH_KERNELS_COLUMNS_H
#define CH_KERNELS_COLUMNS_H

#include "base/vector.h"

#include <stdint.h>
#include <string.h>

#ifdef CH_DOUBLE
VECTOR_HELPER real exp_below_zero(real x) {
    return exp(x);
}

VECTOR_HELPER real tanh_of(real x) {
    return tanh(x);
}
#else
/*
 * exp(x) = power * (1 + p r) for x <= 0, without a branch or a call, so that a loop of it fills vector registers. x =
 * n ln 2 + r with n the nearest integer: exp(x) = 2^n * (1 + r + r^2/2! + ... + r^7/7!), |r| <= ln 2 / 2, whose first
 * missing term is below 6e-9. Gives p.
 */
VECTOR_HELPER float exp_in_parts(float x, float *rest, float *power) {
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, kept in the low bits */
    float shifted = x * 1.44269504088896341f + magic, n = shifted - magic;
    float r = (x - n * 0.693145751953125f) - n * 1.42860682030941723e-6f; /* ln 2 in two parts */
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127u) << 23; /* 2^n: magic's own low bits are 0 */
    memcpy(power, &bits, sizeof *power);
    *rest = r;
    return p;
}

/* Below -87 the result would be denormal: 0. A NaN stays a NaN. */
VECTOR_HELPER real exp_below_zero(real x) {
    float r, power, p = exp_in_parts(x, &r, &power);
    p = p * r + 1.0f;
    return x < -87.0f ? 0.0f : p * power;
}

/* tanh(x) = -m / (2 + m) with m = exp(-2 |x|) - 1 = 2^n p r + (2^n - 1), where nothing cancels: near 0, too, it is off
 * by a few roundings of itself. */
VECTOR_HELPER real tanh_of(real x) {
    float twice = -2 * fabsf(x), r, power, p = exp_in_parts(twice, &r, &power);
    float m = twice < -87.0f ? -1.0f : power * (p * r) + (power - 1.0f);
    return copysignf(m / (2.0f + m), x);
}
#endif

/* most (columns) = the larger of it and every number below it; a NaN never is. */
VECTOR_HELPER void columns_larger(real *restrict most, const real *restrict x, int n, int columns) {
    for (int j = 0; j < n; j++, x += columns)
        for (int c = 0; c < columns; c++) most[c] = x[c] > most[c] ? x[c] : most[c];
}

/* What is subtracted: 0 where all is hidden, since exp then gives 0. */
VECTOR_HELPER real shift_of(real most) {
    return most == -RC(INFINITY) ? 0 : most;
}

/* x = exp(x - shift), and its sum is added to total. */
VECTOR_HELPER void columns_exp(real *restrict x, int n, int columns, const real *restrict shift, real *restrict total) {
    for (int j = 0; j < n; j++, x += columns)
        for (int c = 0; c < columns; c++) {
            real e = exp_below_zero(x[c] - shift[c]);
            x[c] = e;
            total[c] += e;
        }
}

/* x = exp(x - maximum) * factor: the weights again. */
VECTOR_HELPER void columns_again(real *restrict x, int n, int columns, const real *restrict maximum,
                                 const real *restrict factor) {
    for (int j = 0; j < n; j++, x += columns)
        for (int c = 0; c < columns; c++) x[c] = exp_below_zero(x[c] - maximum[c]) * factor[c];
}

/* 1 / sum, or 0 where nothing is seen. */
VECTOR_HELPER real factor_of(real sum) {
    return sum == 0 ? 0 : RC(1) / sum;
}

#endif
