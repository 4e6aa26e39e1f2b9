/*
 * Dropout, Srivastava et al. 2014:  y = x * keep / (1 - rate),  dx = dy * keep / (1 - rate).
 * keep is drawn from Philox at the counter (channel / 4 and head, position, example, site), so it is the same
 * whatever the layout, the shard or the thread.
 */
#include "kernels/kernels.h"
#include "base/vector.h"

enum { DRAWN = 64 }; /* words drawn at a time */

VECTORISED static void keep_below(uint8_t *keep, const uint32_t *drawn, uint32_t threshold, int n) {
    for (int i = 0; i < n; i++) keep[i] = drawn[i] < threshold;
}

const uint8_t *dropout_row(const struct dropout *dropout, uint32_t example, uint32_t position, uint32_t head,
                           size_t packed, int n, uint8_t *keep) {
    if (dropout->drawn) return dropout->drawn + packed;
    uint32_t threshold = (uint32_t)((1.0 - (double)dropout->rate) * 4294967295.0);
    for (int first = 0; first < n; first += DRAWN) {
        uint32_t counter[4] = {(head << 20) + (uint32_t)first / 4, position, example, dropout->site}, drawn[DRAWN];
        int count = n - first < DRAWN ? n - first : DRAWN;
        philox_fill(dropout->key, counter, (size_t)count, drawn);
        keep_below(keep + first, drawn, threshold, count);
    }
    return keep;
}

real dropout_factor(const struct dropout *dropout) {
    return RC(1) / (RC(1) - dropout->rate);
}

VECTORISED static void keep_scaled(real *y, const real *x, const uint8_t *keep, real factor, size_t count) {
    for (size_t i = 0; i < count; i++) y[i] = x[i] * ((real)keep[i] * factor);
}

void dropout_forward(real *y, uint8_t *keep, const real *x, const struct dropout *dropout, const struct batch *batch,
                     int channels) {
    for (int row = 0; row < batch->rows; row++) {
        size_t packed = (size_t)row * (size_t)channels;
        uint8_t *kept = keep + packed;
        const uint8_t *from = dropout_row(dropout, batch->example[batch->sequence[row]], (uint32_t)batch->position[row],
                                          0, packed, channels, kept);
        if (from != kept)
            for (int c = 0; c < channels; c++) kept[c] = from[c];
        keep_scaled(y + packed, x + packed, kept, dropout_factor(dropout), (size_t)channels);
    }
}

void dropout_backward(real *dx, const real *dy, const uint8_t *keep, const struct dropout *dropout, size_t count) {
    keep_scaled(dx, dy, keep, dropout_factor(dropout), count);
}
