/*
 * Softmax over a row and the cross-entropy on top of it.
 *   p_j = exp(x_j - max) / sum,   loss = log(sum) - (x_label - max),   dx_j = p_j - [j = label]
 */
#include "kernels/kernels.h"
#include "kernels/columns.h"

/* A NaN never is. */
VECTOR_HELPER real largest(const real *x, int n) {
    eight low = (eight){0} - RC(INFINITY), high = low;
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        take_larger(&low, (const eight *)(x + i));
        take_larger(&high, (const eight *)(x + i + EIGHT));
    }
    take_larger(&low, &high);
    real most = largest_of(&low);
    for (; i < n; i++) most = x[i] > most ? x[i] : most;
    return most;
}

VECTOR_HELPER real exp_and_sum(real *x, int n, real maximum) {
    real lane[LANES] = {0};
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
    return sum_lanes((const reals *)lane);
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
    real factor = factor_of(sum);
    if (sum == 0) maximum = 0; /* all -inf: exp gives 0 */
    for (int i = 0; i < n; i++) x[i] = exp_below_zero(x[i] - maximum) * factor;
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
