/*
 * Layer normalisation, Ba et al. 2016, over each row of C channels:
 *   xhat = (x - mean) * rstd,  rstd = 1 / sqrt(variance + epsilon),  y = w * xhat + b
 *   dw += dy * xhat,  db += dy
 *   dx = rstd * (g - mean(g) - xhat * mean(g * xhat)),  g = w * dy
 */
#include "kernels/kernels.h"
#include "base/vector.h"

VECTOR_HELPER real sum_of(const real *x, int n) {
    real lane[LANES] = {0}, total = 0;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) lane[l] += x[i + l];
    for (; i < n; i++) lane[i % LANES] += x[i];
    for (int l = 0; l < LANES; l++) total += lane[l];
    return total;
}

VECTOR_HELPER real sum_of_deviations(const real *x, real mean, int n) {
    real lane[LANES] = {0}, total = 0;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) lane[l] += (x[i + l] - mean) * (x[i + l] - mean);
    for (; i < n; i++) lane[i % LANES] += (x[i] - mean) * (x[i] - mean);
    for (int l = 0; l < LANES; l++) total += lane[l];
    return total;
}

VECTORISED void layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *w, const real *b,
                                  real epsilon, int rows, int channels) {
    for (int n = 0; n < rows; n++) {
        const real *in = x + (size_t)n * (size_t)channels;
        real *out = y + (size_t)n * (size_t)channels;
        real average = sum_of(in, channels) / (real)channels;
        real variance = sum_of_deviations(in, average, channels) / (real)channels;
        real scale = RC(1) / R(sqrt)(variance + epsilon);
        for (int c = 0; c < channels; c++) out[c] = (in[c] - average) * scale * w[c] + b[c];
        mean[n] = average;
        rstd[n] = scale;
    }
}

/* sum[0] = sum of w * dy, sum[1] = sum of w * dy * xhat */
VECTOR_HELPER void backward_sums(real sum[2], const real *dy, const real *in, real mean, real rstd, const real *w,
                                 int channels) {
    real g[LANES] = {0}, gx[LANES] = {0};
    for (int first = 0; first < channels; first += LANES) {
        int lanes = channels - first < LANES ? channels - first : LANES;
        for (int l = 0; l < lanes; l++) {
            real scaled = w[first + l] * dy[first + l];
            g[l] += scaled;
            gx[l] += scaled * (in[first + l] - mean) * rstd;
        }
    }
    sum[0] = sum[1] = 0;
    for (int l = 0; l < LANES; l++) {
        sum[0] += g[l];
        sum[1] += gx[l];
    }
}

VECTORISED void layernorm_backward(real *dx, real *dw, real *db, const real *dy, const real *x, const real *mean,
                                   const real *rstd, const real *w, int rows, int channels) {
    for (int n = 0; n < rows; n++) {
        const real *in = x + (size_t)n * (size_t)channels, *up = dy + (size_t)n * (size_t)channels;
        real *down = dx + (size_t)n * (size_t)channels;
        real sum[2];
        backward_sums(sum, up, in, mean[n], rstd[n], w, channels);
        real g_mean = sum[0] / (real)channels, gx_mean = sum[1] / (real)channels;
        for (int c = 0; c < channels; c++) {
            real xhat = (in[c] - mean[n]) * rstd[n];
            dw[c] += up[c] * xhat;
            db[c] += up[c];
            down[c] = rstd[n] * (w[c] * up[c] - g_mean - xhat * gx_mean);
        }
    }
}
