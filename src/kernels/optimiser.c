/*
 * Adam, Kingma & Ba 2015, as PyTorch orders its operations:
 *   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
 *   w -= lr / bias1 * m / (sqrt(v) / sqrt(bias2) + epsilon)
 */
#include "kernels/kernels.h"
#include "base/vector.h"

VECTORISED void adam_update(real *w, real *m, real *v, const real *g, real grad_scale, double lr, double beta1,
                            double beta2, double epsilon, double bias1, double bias2, size_t count) {
    real b1 = (real)beta1, b2 = (real)beta2, rest1 = (real)(1 - beta1), rest2 = (real)(1 - beta2);
    real rate = (real)(lr / bias1), per_root = (real)(1 / sqrt(bias2)), eps = (real)epsilon; /* divisions are slow */
    for (size_t i = 0; i < count; i++) {
        real grad = g[i] * grad_scale;
        m[i] = b1 * m[i] + rest1 * grad;
        v[i] = b2 * v[i] + rest2 * grad * grad;
        w[i] -= rate * m[i] / (R(sqrt)(v[i]) * per_root + eps);
    }
}

VECTORISED void scale_by(real *x, real factor, size_t count) {
    for (size_t i = 0; i < count; i++) x[i] *= factor;
}

VECTORISED void move_towards(real *mean, const real *x, real share, size_t count) {
    for (size_t i = 0; i < count; i++) mean[i] += share * (x[i] - mean[i]);
}

VECTORISED double sum_of_squares(const real *x, size_t count) {
    double lane[8] = {0}, total = 0;
    for (size_t i = 0; i < count / 8 * 8; i += 8)
        for (size_t l = 0; l < 8; l++) lane[l] += (double)x[i + l] * (double)x[i + l];
    for (size_t i = count / 8 * 8; i < count; i++) lane[i % 8] += (double)x[i] * (double)x[i];
    for (int l = 0; l < 8; l++) total += lane[l];
    return total;
}
