/*
 * Softmax over a row and the cross-entropy on top of it.
 *   p_j = exp(x_j - max) / sum,   loss = log(sum) - (x_label - max),   dx_j = p_j - [j = label]
 */
#include "kernels/kernels.h"
#include "base/vector.h"

#include <string.h>

#ifdef CH_DOUBLE
VECTOR_HELPER real exp_below_zero(real x) {
    return exp(x);
}
#else
/*
 * exp(x) for x <= 0, without a branch or a call, so that a loop of it fills vector registers. x = n ln 2 + r with n
 * the nearest integer: exp(x) = 2^n * (1 + r + r^2/2! + ... + r^7/7!), |r| <= ln 2 / 2, whose first missing term
 * is below 6e-9. Below -87 the result would be denormal: 0. A NaN stays a NaN.
 */
VECTOR_HELPER real exp_below_zero(real x) {
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
    p = p * r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127u) << 23; /* 2^n: magic's own low bits are 0 */
    float power;
    memcpy(&power, &bits, sizeof power);
    return x < -87.0f ? 0.0f : p * power;
}
#endif

VECTOR_HELPER real largest(const real *x, int n) {
    real lane[LANES], most;
    for (int l = 0; l < LANES; l++) lane[l] = -RC(INFINITY);
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    for (; i < n; i++) lane[i % LANES] = x[i] > lane[i % LANES] ? x[i] : lane[i % LANES];
    most = lane[0];
    for (int l = 1; l < LANES; l++) most = lane[l] > most ? lane[l] : most;
    return most;
}

VECTOR_HELPER real exp_and_sum(real *x, int n, real maximum) {
    real lane[LANES] = {0}, total = 0;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            real e = exp_below_zero(x[i + l] - maximum);
            x[i + l] = e;
            lane[l] += e;
        }
    for (; i < n; i++) {
        x[i] = exp_below_zero(x[i] - maximum);
        lane[i % LANES] += x[i];
    }
    for (int l = 0; l < LANES; l++) total += lane[l];
    return total;
}

/* A row of nothing but -inf: all hidden. (A NaN in it is not hidden, and goes through.) */
static bool all_hidden(const real *x, int n, real maximum) {
    if (maximum != -RC(INFINITY)) return false;
    for (int i = 0; i < n; i++)
        if (isnan(x[i])) return false;
    return true;
}

VECTORISED void softmax_row(real *x, int n, real *maximum, real *sum) {
    *maximum = largest(x, n);
    if (all_hidden(x, n, *maximum)) {
        memset(x, 0, (size_t)n * sizeof *x);
        *maximum = *sum = 0;
        return;
    }
    *sum = exp_and_sum(x, n, *maximum);
}

VECTORISED void softmax_again(real *x, int n, real maximum, real sum) {
    real factor = sum == 0 ? 0 : RC(1) / sum;
    if (sum == 0) maximum = 0; /* all -inf: exp gives 0 */
    for (int i = 0; i < n; i++) x[i] = exp_below_zero(x[i] - maximum) * factor;
}

VECTORISED void softmax_columns(real *x, int n, real maximum[LANES], real sum[LANES]) {
    real most[LANES], total[LANES] = {0};
    for (int l = 0; l < LANES; l++) most[l] = -RC(INFINITY);
    for (int j = 0; j < n; j++)
        for (int l = 0; l < LANES; l++) most[l] = x[j * LANES + l] > most[l] ? x[j * LANES + l] : most[l];
    for (int l = 0; l < LANES; l++) most[l] = most[l] == -RC(INFINITY) ? 0 : most[l]; /* all hidden: exp gives 0 */
    for (int j = 0; j < n; j++)
        for (int l = 0; l < LANES; l++) {
            real e = exp_below_zero(x[j * LANES + l] - most[l]);
            x[j * LANES + l] = e;
            total[l] += e;
        }
    memcpy(maximum, most, sizeof most);
    memcpy(sum, total, sizeof total);
}

VECTORISED void softmax_columns_again(real *x, int n, const real maximum[LANES], const real sum[LANES]) {
    real most[LANES], factor[LANES];
    for (int l = 0; l < LANES; l++) {
        most[l] = maximum[l];
        factor[l] = sum[l] == 0 ? 0 : RC(1) / sum[l];
    }
    for (int j = 0; j < n; j++)
        for (int l = 0; l < LANES; l++) x[j * LANES + l] = exp_below_zero(x[j * LANES + l] - most[l]) * factor[l];
}

/* The first of n that equals a value; n if none does. */
VECTOR_HELPER int first_equal(const real *x, int n, real value) {
    enum { STRIDE = 4 * LANES }; /* looked at together, without a branch */
    int i = 0;
    for (; i + STRIDE <= n; i += STRIDE) {
        int found = 0;
        for (int l = 0; l < STRIDE; l++) found += x[i + l] == value;
        if (found) break;
    }
    while (i < n && x[i] != value) i++;
    return i;
}

VECTORISED int argmax(const real *x, int n) {
    int best = first_equal(x, n, largest(x, n));
    return best < n ? best : 0; /* nothing but NaN */
}

struct loss cross_entropy(real *dlogits, const real *logits, const int *label, int ignored, real scale, int rows,
                          int vocab) {
    struct loss loss = {0};
    for (int n = 0; n < rows; n++) {
        const real *x = logits + (size_t)n * (size_t)vocab;
        real *dx = dlogits + (size_t)n * (size_t)vocab;
        if (label[n] == ignored) {
            memset(dx, 0, (size_t)vocab * sizeof *dx);
            continue;
        }
        real maximum, sum, at_label = x[label[n]];
        loss.correct += argmax(x, vocab) == label[n];
        memmove(dx, x, (size_t)vocab * sizeof *dx);
        softmax_row(dx, vocab, &maximum, &sum);
        loss.sum += (double)(R(log)(sum) - (at_label - maximum));
        loss.count++;
        real factor = scale / sum;
        for (int j = 0; j < vocab; j++) dx[j] *= factor;
        dx[label[n]] -= scale;
    }
    return loss;
}
