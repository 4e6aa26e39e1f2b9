/* Small operations on rows: bias, addition, ReLU, embedding, positions. */
#include "kernels/kernels.h"
#include "base/vector.h"

#include <string.h>

VECTORISED void bias_forward(real *y, const real *b, int rows, int channels) {
    for (int n = 0; n < rows; n++) {
        real *row = y + (size_t)n * (size_t)channels;
        for (int c = 0; c < channels; c++) row[c] += b[c];
    }
}

VECTORISED void bias_backward(real *db, const real *dy, int rows, int channels) {
    for (int n = 0; n < rows; n++) {
        const real *row = dy + (size_t)n * (size_t)channels;
        for (int c = 0; c < channels; c++) db[c] += row[c];
    }
}

void clear_rows(real *x, int ld, int rows, int channels) {
    for (int n = 0; n < rows; n++) memset(x + (size_t)n * (size_t)ld, 0, (size_t)channels * sizeof *x);
}

VECTORISED void add(real *y, const real *x, size_t count) {
    for (size_t i = 0; i < count; i++) y[i] += x[i];
}

typedef real eight __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real)), may_alias));

/* An 8 x 8 square: neighbours change places one, two and four steps apart. */
VECTOR_HELPER void transpose_square(real *y, int rows, const real *x, int channels) {
    eight a[8], b[8];
    for (int i = 0; i < 8; i++) a[i] = *(const eight *)(x + (size_t)i * (size_t)channels);
    for (int i = 0; i < 8; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = i; j < i + 2; j++) {
            a[j] = __builtin_shufflevector(b[j], b[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[j + 2] = __builtin_shufflevector(b[j], b[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int j = 0; j < 4; j++) {
        *(eight *)(y + (size_t)j * (size_t)rows) = __builtin_shufflevector(a[j], a[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(eight *)(y + (size_t)(j + 4) * (size_t)rows) =
            __builtin_shufflevector(a[j], a[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

VECTORISED void transpose(real *y, const real *x, int rows, int channels) {
    for (int n = 0; n < rows; n += 8)
        for (int c = 0; c < channels; c += 8) {
            const real *from = x + (size_t)n * (size_t)channels + c;
            real *to = y + (size_t)c * (size_t)rows + n;
            if (n + 8 <= rows && c + 8 <= channels) {
                transpose_square(to, rows, from, channels);
                continue;
            }
            for (int i = 0; i < 8 && n + i < rows; i++)
                for (int j = 0; j < 8 && c + j < channels; j++)
                    to[(size_t)j * (size_t)rows + (size_t)i] = from[(size_t)i * (size_t)channels + (size_t)j];
        }
}

/* A NaN stays a NaN: training must see it. */
VECTORISED void relu_forward(real *y, const real *x, size_t count) {
    for (size_t i = 0; i < count; i++) y[i] = x[i] < 0 ? 0 : x[i];
}

VECTORISED void relu_backward(real *dx, const real *dy, const real *y, size_t count) {
    for (size_t i = 0; i < count; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
}

VECTORISED void embedding_forward(real *y, const real *w, const int *token, real scale, int rows, int width) {
    for (int n = 0; n < rows; n++) {
        const real *from = w + (size_t)token[n] * (size_t)width;
        real *row = y + (size_t)n * (size_t)width;
        for (int d = 0; d < width; d++) row[d] = scale * from[d];
    }
}

VECTORISED void embedding_backward(real *dw, const real *dy, const int *token, real scale, int frozen, int rows,
                                   int width) {
    for (int n = 0; n < rows; n++) {
        if (token[n] == frozen) continue;
        real *to = dw + (size_t)token[n] * (size_t)width;
        const real *row = dy + (size_t)n * (size_t)width;
        for (int d = 0; d < width; d++) to[d] += scale * row[d];
    }
}

VECTORISED void position_add(real *y, const real *table, const int *position, int rows, int width) {
    for (int n = 0; n < rows; n++) {
        const real *from = table + (size_t)position[n] * (size_t)width;
        real *row = y + (size_t)n * (size_t)width;
        for (int d = 0; d < width; d++) row[d] += from[d];
    }
}
