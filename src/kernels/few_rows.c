/*
 * The product of few rows with a matrix: y (N, C) = x (N, K) w (K, C) + b. A library's product pays for packing w, and
 * at its first call for making machine code; here a block of y stays in registers while w streams by once for every
 * ROWS rows.
 */
#include "kernels/kernels.h"
#include "base/vector.h"

enum { ROWS = 4, VECTORS = 4 }; /* of a block */

/* A block of `rows` x `vectors` * LANES outputs, of which `columns` exist. */
VECTOR_HELPER void block(real *y, const real *x, int depth, const real *w, const real *b, int ld, int columns,
                         const int rows, const int vectors) {
    reals sum[ROWS][VECTORS] = {0};
    for (int v = 0; v < vectors && b; v++)
        for (int r = 0; r < rows; r++) take_lanes(&sum[r][v], b + v * LANES, columns - v * LANES);
    for (int k = 0; k < depth; k++)
        for (int v = 0; v < vectors; v++) {
            reals row = *(const reals *)(w + (size_t)k * (size_t)ld + v * LANES);
            for (int r = 0; r < rows; r++) sum[r][v] += x[(size_t)r * (size_t)depth + (size_t)k] * row;
        }
    for (int v = 0; v < vectors; v++)
        for (int r = 0; r < rows; r++)
            put_lanes(y + (size_t)r * (size_t)ld + v * LANES, &sum[r][v], columns - v * LANES);
}

/* All columns of `rows` rows. */
VECTOR_HELPER void all_columns(real *y, const real *x, int depth, const real *w, const real *b, int columns,
                               const int rows) {
    int c = 0;
    for (; c + VECTORS * LANES <= columns; c += VECTORS * LANES)
        block(y + c, x, depth, w + c, b ? b + c : b, columns, VECTORS * LANES, rows, VECTORS);
    for (; c < columns; c += LANES) block(y + c, x, depth, w + c, b ? b + c : b, columns, columns - c, rows, 1);
}

VECTORISED void few_rows_product(real *y, const real *x, const real *w, const real *b, int rows, int depth,
                                 int columns) {
    int n = 0;
    for (; n + ROWS <= rows; n += ROWS)
        all_columns(y + (size_t)n * (size_t)columns, x + (size_t)n * (size_t)depth, depth, w, b, columns, ROWS);
    for (; n < rows; n++)
        all_columns(y + (size_t)n * (size_t)columns, x + (size_t)n * (size_t)depth, depth, w, b, columns, 1);
}
