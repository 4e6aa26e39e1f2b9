/*
 * Matrix products: one backend is linked (gemm_onednn.c, gemm_cblas.c or gemm_reference.c). Every call runs on
 * the calling thread alone; the caller cuts the work.
 */
#ifndef CH_KERNELS_GEMM_H
#define CH_KERNELS_GEMM_H

#include "base/real.h"

#include <stdbool.h>
#include <stdint.h>

enum gemm_op { GEMM_N, GEMM_T };

/* C (m, n) = op(A) (m, k) op(B) (k, n), added to C if accumulate. All row-major; a matrix that is transposed is
 * stored the other way round, and its leading dimension is that of its storage. */
void gemm(enum gemm_op op_a, enum gemm_op op_b, int m, int n, int k, const real *a, int lda, const real *b, int ldb,
          bool accumulate, real *c, int ldc);

/* Bytes that the backend takes for itself once it has multiplied: machine code that it makes, buffers. As measured. */
uint64_t gemm_memory(void);

/* The backend's name, for reports. */
const char *gemm_backend(void);

#endif
