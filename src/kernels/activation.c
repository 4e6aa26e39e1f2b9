/*
 * Activations and their derivatives, element by element.
 *   GELU, Hendrycks & Gimpel 2016:   y = x Phi(x),          y' = Phi(x) + x phi(x),  phi(x) = exp(-x^2 / 2) / sqrt(2
 * pi) its approximation by tanh:       y = x s(2u),           y' = s(2u) + x s(2u) s(-2u) 2u' u = sqrt(2 / pi) (x +
 * 0.044715 x^3); 1 + tanh(u) = 2 s(2u) SiLU (swish):                    y = x s(x),            y' = s(x) + x s(x) s(-x)
 * with s(x) = 1 / (1 + exp(-x)). Nothing is subtracted from 1 where that would cancel: a negative x has its own tail.
 */
#include "kernels/columns.h"
#include "kernels/kernels.h"

/* ---- the normal distribution ---- */

#ifdef CH_DOUBLE
VECTOR_HELPER real normal_tail(real a, real e) {
    (void)e;
    return 0.5 * erfc(a * 0.70710678118654752440);
}
#else
/*
 * Phi(-a) for a >= 0, given e = exp(-a^2 / 2): e times a polynomial in t = 1 / (1 + 0.3025 a), which falls from 1 to 0
 * as Phi(-a) / e does. Its eight coefficients are the minimax ones of the relative error on 0..13.2, behind which e is
 * 0; they and their rounding to float leave 1.2e-7 of the tail, hence at most 6e-8 of Phi. Evaluation adds about
 * 2e-7 of the tail, and the rounding of a^2 / 2 in e, a^2 2^-25 of it: a tail so small that nobody sees that.
 */
VECTOR_HELPER real normal_tail(real a, real e) {
    real t = 1.0f / (1.0f + 0.3025f * a);
    real p = 0.0366580933f;
    p = p * t - 0.157016054f;
    p = p * t + 0.199113593f;
    p = p * t - 0.0484856032f;
    p = p * t + 0.12615943f;
    p = p * t + 0.101265885f;
    p = p * t + 0.121674255f;
    p = p * t + 0.120630376f;
    return p * t * e;
}
#endif

/* Phi(x), and *e = exp(-x^2 / 2) */
VECTOR_HELPER real normal_below(real x, real *e) {
    *e = exp_below_zero(RC(-0.5) * x * x);
    real tail = normal_tail(R(fabs)(x), *e);
    return x < 0 ? tail : 1 - tail;
}

VECTOR_HELPER real gelu(real x) {
    real e;
    return x * normal_below(x, &e);
}

VECTOR_HELPER real gelu_both(real x, real *slope) {
    real e, below = normal_below(x, &e);
    *slope = below + x * RC(0.39894228040143267794) * e;
    return x * below;
}

/* ---- the logistic function ---- */

/* s(x), and *above = s(-x) = 1 - s(x) */
VECTOR_HELPER real logistic(real x, real *above) {
    real e = exp_below_zero(-R(fabs)(x)), large = 1 / (1 + e), small = e * large;
    *above = x < 0 ? large : small;
    return x < 0 ? small : large;
}

VECTOR_HELPER real silu(real x) {
    real above;
    return x * logistic(x, &above);
}

VECTOR_HELPER real silu_both(real x, real *slope) {
    real above, s = logistic(x, &above);
    *slope = s + x * s * above;
    return x * s;
}

/* sqrt(8 / pi), and that times 0.044715: 2u = x (LINEAR + CUBIC x^2) */
#define LINEAR RC(1.5957691216057308)
#define CUBIC RC(0.07135481627260025)

VECTOR_HELPER real gelu_tanh(real x) {
    real above;
    return x * logistic(x * (LINEAR + CUBIC * x * x), &above);
}

VECTOR_HELPER real gelu_tanh_both(real x, real *slope) {
    real above, s = logistic(x * (LINEAR + CUBIC * x * x), &above);
    *slope = s + x * s * above * (LINEAR + 3 * CUBIC * x * x);
    return x * s;
}

/* ---- arrays ---- */

/* A vector at a time through arrays of its own, so that the loop is one of vectors in place, too. Their size is known
 * but for the last one, so that copying them is loading them. */
VECTOR_HELPER void map_vector(real *y, const real *x, size_t bytes, real (*f)(real)) {
    real in[LANES] = {0}, out[LANES];
    memcpy(in, x, bytes);
    for (int l = 0; l < LANES; l++) out[l] = f(in[l]);
    memcpy(y, out, bytes);
}

VECTOR_HELPER void map(real *y, const real *x, size_t count, real (*f)(real)) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) map_vector(y + i, x + i, LANES * sizeof *x, f);
    if (i < count) map_vector(y + i, x + i, (count - i) * sizeof *x, f);
}

/* f gives its value and its slope. */
typedef real (*both)(real x, real *slope);

VECTOR_HELPER void map_both_vector(real *y, real *x, size_t bytes, both f) {
    real in[LANES] = {0}, out[LANES], slope[LANES];
    memcpy(in, x, bytes);
    for (int l = 0; l < LANES; l++) out[l] = f(in[l], &slope[l]);
    memcpy(y, out, bytes);
    memcpy(x, slope, bytes);
}

VECTOR_HELPER void map_both(real *y, real *x, size_t count, both f) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) map_both_vector(y + i, x + i, LANES * sizeof *x, f);
    if (i < count) map_both_vector(y + i, x + i, (count - i) * sizeof *x, f);
}

VECTOR_HELPER void map_slope_vector(real *dx, const real *dy, const real *x, size_t bytes, both f) {
    real in[LANES] = {0}, up[LANES] = {0}, out[LANES], slope[LANES];
    memcpy(in, x, bytes);
    memcpy(up, dy, bytes);
    for (int l = 0; l < LANES; l++) f(in[l], &slope[l]);
    for (int l = 0; l < LANES; l++) out[l] = up[l] * slope[l];
    memcpy(dx, out, bytes);
}

VECTOR_HELPER void map_slope(real *dx, const real *dy, const real *x, size_t count, both f) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) map_slope_vector(dx + i, dy + i, x + i, LANES * sizeof *x, f);
    if (i < count) map_slope_vector(dx + i, dy + i, x + i, (count - i) * sizeof *x, f);
}

VECTORISED void gelu_forward(real *y, const real *x, size_t count) {
    map(y, x, count, gelu);
}

VECTORISED void gelu_forward_slope(real *y, real *x, size_t count) {
    map_both(y, x, count, gelu_both);
}

VECTORISED void gelu_backward(real *dx, const real *dy, const real *x, size_t count) {
    map_slope(dx, dy, x, count, gelu_both);
}

VECTORISED void gelu_tanh_forward(real *y, const real *x, size_t count) {
    map(y, x, count, gelu_tanh);
}

VECTORISED void gelu_tanh_forward_slope(real *y, real *x, size_t count) {
    map_both(y, x, count, gelu_tanh_both);
}

VECTORISED void gelu_tanh_backward(real *dx, const real *dy, const real *x, size_t count) {
    map_slope(dx, dy, x, count, gelu_tanh_both);
}

VECTORISED void silu_forward(real *y, const real *x, size_t count) {
    map(y, x, count, silu);
}

VECTORISED void silu_forward_slope(real *y, real *x, size_t count) {
    map_both(y, x, count, silu_both);
}

VECTORISED void silu_backward(real *dx, const real *dy, const real *x, size_t count) {
    map_slope(dx, dy, x, count, silu_both);
}

VECTORISED void multiply_by(real *y, const real *x, size_t count) {
    for (size_t i = 0; i < count; i++) y[i] *= x[i];
}
