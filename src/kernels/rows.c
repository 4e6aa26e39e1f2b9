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

VECTOR_HELPER void transpose_square(real *to, size_t ldt, const real *from, size_t ldf) {
    eight square[EIGHT];
    for (int i = 0; i < EIGHT; i++) square[i] = *(const eight *)(from + (size_t)i * ldf);
    turn_square(square);
    for (int i = 0; i < EIGHT; i++) *(eight *)(to + (size_t)i * ldt) = square[i];
}

/* Two squares, one above the other, fill whole lines of a cache before it may need their places: rows of y that are
 * powers of two apart share few of them. */
VECTORISED void transpose(real *y, const real *x, int rows, int channels) {
    const size_t ldx = (size_t)channels, ldy = (size_t)rows;
    for (int n = 0; n < rows; n += 2 * EIGHT)
        for (int c = 0; c < channels; c += EIGHT) {
            const real *from = x + (size_t)n * ldx + c;
            real *to = y + (size_t)c * ldy + n;
            if (n + 2 * EIGHT <= rows && c + EIGHT <= channels) {
                transpose_square(to, ldy, from, ldx);
                transpose_square(to + EIGHT, ldy, from + EIGHT * ldx, ldx);
                continue;
            }
            for (int i = 0; i < 2 * EIGHT && n + i < rows; i++)
                for (int j = 0; j < EIGHT && c + j < channels; j++)
                    to[(size_t)j * ldy + (size_t)i] = from[(size_t)i * ldx + (size_t)j];
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
