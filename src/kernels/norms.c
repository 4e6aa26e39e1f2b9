/*
 * Normalisation of each row of C channels.
 *
 * Layer norm, Ba et al. 2016:
 *   xhat = (x - mean) * rstd,  rstd = 1 / sqrt(variance + epsilon),  y = w * xhat + b
 *   dw += dy * xhat,  db += dy
 *   dx = rstd * (g - mean(g) - xhat * mean(g * xhat)),  g = w * dy
 * `b` and `db` may be NULL: no bias.
 * RMS norm, Zhang & Sennrich 2019: the same with a mean of 0, no bias and so no mean(g):
 *   xhat = x * rstd,  rstd = 1 / sqrt(mean(x^2) + epsilon)
 * One pair of helpers does both; compilers see which in each copy.
 */
#include "kernels/kernels.h"
#include "base/vector.h"

VECTOR_HELPER real mean_of(const real *x, int channels) {
    reals sum = {0}, in;
    for (int c = 0; c < channels; c += LANES) {
        take_lanes(&in, x + c, channels - c);
        sum += in;
    }
    return sum_lanes(&sum) / (real)channels;
}

VECTOR_HELPER void forward_row(real *y, real mean, real *rstd, const real *x, const real *w, const real *b,
                               real epsilon, int channels) {
    reals squares = {0}, in, weight, bias = {0};
    for (int c = 0; c < channels; c += LANES) {
        take_lanes(&in, x + c, channels - c);
        reals deviation = in - mean;
        if (channels - c < LANES) /* what is behind the row does not count */
            for (int l = channels - c; l < LANES; l++) deviation[l] = 0;
        squares += deviation * deviation;
    }
    *rstd = RC(1) / R(sqrt)(sum_lanes(&squares) / (real)channels + epsilon);
    for (int c = 0; c < channels; c += LANES) {
        take_lanes(&in, x + c, channels - c);
        take_lanes(&weight, w + c, channels - c);
        if (b) take_lanes(&bias, b + c, channels - c);
        reals out = (in - mean) * *rstd * weight + bias;
        put_lanes(y + c, &out, channels - c);
    }
}

VECTORISED void layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *w, const real *b,
                                  real epsilon, int rows, int channels) {
    for (int n = 0; n < rows; n++) {
        size_t at = (size_t)n * (size_t)channels;
        mean[n] = mean_of(x + at, channels);
        forward_row(y + at, mean[n], &rstd[n], x + at, w, b, epsilon, channels);
    }
}

VECTORISED void rmsnorm_forward(real *y, real *rstd, const real *x, const real *w, real epsilon, int rows,
                                int channels) {
    for (int n = 0; n < rows; n++) {
        size_t at = (size_t)n * (size_t)channels;
        forward_row(y + at, 0, &rstd[n], x + at, w, NULL, epsilon, channels);
    }
}

/* Channels behind the row have dy = 0, and so add nothing to any sum. */
VECTOR_HELPER void backward_row(real *dx, real *dw, real *db, const real *dy, const real *x, bool centred, real mean,
                                real rstd, const real *w, int channels) {
    reals sum = {0}, sum_xhat = {0}, up, in, weight, to_weight, to_bias;
    for (int c = 0; c < channels; c += LANES) {
        int n = channels - c;
        take_lanes(&up, dy + c, n);
        take_lanes(&in, x + c, n);
        take_lanes(&weight, w + c, n);
        take_lanes(&to_weight, dw + c, n);
        reals xhat = (in - mean) * rstd, g = weight * up;
        if (centred) sum += g;
        sum_xhat += g * xhat;
        to_weight += up * xhat;
        put_lanes(dw + c, &to_weight, n);
        if (!db) continue;
        take_lanes(&to_bias, db + c, n);
        to_bias += up;
        put_lanes(db + c, &to_bias, n);
    }
    real g_mean = centred ? sum_lanes(&sum) / (real)channels : 0, gx_mean = sum_lanes(&sum_xhat) / (real)channels;
    for (int c = 0; c < channels; c += LANES) {
        int n = channels - c;
        take_lanes(&up, dy + c, n);
        take_lanes(&in, x + c, n);
        take_lanes(&weight, w + c, n);
        reals down = rstd * (weight * up - g_mean - (in - mean) * rstd * gx_mean);
        put_lanes(dx + c, &down, n);
    }
}

VECTORISED void layernorm_backward(real *dx, real *dw, real *db, const real *dy, const real *x, const real *mean,
                                   const real *rstd, const real *w, int rows, int channels) {
    for (int n = 0; n < rows; n++) {
        size_t at = (size_t)n * (size_t)channels;
        backward_row(dx + at, dw, db, dy + at, x + at, true, mean[n], rstd[n], w, channels);
    }
}

VECTORISED void rmsnorm_backward(real *dx, real *dw, const real *dy, const real *x, const real *rstd, const real *w,
                                 int rows, int channels) {
    for (int n = 0; n < rows; n++) {
        size_t at = (size_t)n * (size_t)channels;
        backward_row(dx + at, dw, NULL, dy + at, x + at, false, 0, rstd[n], w, channels);
    }
}
