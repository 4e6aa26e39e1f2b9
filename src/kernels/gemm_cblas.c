/* Any CBLAS (OpenBLAS as built here); float and double. */
#include "kernels/gemm.h"

#include <cblas.h>
#include <pthread.h>

static void use_one_thread(void) {
    openblas_set_num_threads(1);
}

void gemm(enum gemm_op op_a, enum gemm_op op_b, int m, int n, int k, const real *a, int lda, const real *b, int ldb,
          bool accumulate, real *c, int ldc) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, use_one_thread);
    if (m == 0 || n == 0) return;
    CBLAS_TRANSPOSE ta = op_a == GEMM_N ? CblasNoTrans : CblasTrans, tb = op_b == GEMM_N ? CblasNoTrans : CblasTrans;
#ifdef CH_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1.0, a, lda, b, ldb, accumulate ? 1.0 : 0.0, c, ldc);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1.0f, a, lda, b, ldb, accumulate ? 1.0f : 0.0f, c, ldc);
#endif
}

/* its buffers, one for each thread, of which a product touches a part */
uint64_t gemm_memory(void) {
    return 32u << 20;
}

const char *gemm_backend(void) {
    return "OpenBLAS";
}
