/* The plain product, in the order of the definition: what the libraries are checked against. */
#include "kernels/gemm.h"
#include "base/vector.h"

#include <stddef.h>
#include <string.h>

/* Row i of op(A) is walked with `step_a` between neighbours; B's row l is contiguous or not by op_b. */
VECTORISED static void row_times_n(real *restrict c, const real *restrict a, ptrdiff_t step_a, const real *restrict b,
                                   int ldb, int n, int k) {
    for (int l = 0; l < k; l++) {
        real factor = a[l * step_a];
        const real *restrict row = b + (ptrdiff_t)l * ldb;
        for (int j = 0; j < n; j++) c[j] += factor * row[j];
    }
}

static void row_times_t(real *c, const real *a, ptrdiff_t step_a, const real *b, int ldb, int n, int k) {
    for (int j = 0; j < n; j++) {
        const real *row = b + (ptrdiff_t)j * ldb;
        real sum = 0;
        for (int l = 0; l < k; l++) sum += a[l * step_a] * row[l];
        c[j] += sum;
    }
}

void gemm(enum gemm_op op_a, enum gemm_op op_b, int m, int n, int k, const real *a, int lda, const real *b, int ldb,
          bool accumulate, real *c, int ldc) {
    ptrdiff_t next_row = op_a == GEMM_N ? lda : 1, step = op_a == GEMM_N ? 1 : lda;
    for (int i = 0; i < m; i++) {
        real *row = c + (ptrdiff_t)i * ldc;
        if (!accumulate) memset(row, 0, (size_t)n * sizeof *row);
        (op_b == GEMM_N ? row_times_n : row_times_t)(row, a + i * next_row, step, b, ldb, n, k);
    }
}

uint64_t gemm_memory(void) {
    return 0;
}

const char *gemm_backend(void) {
    return "reference";
}
