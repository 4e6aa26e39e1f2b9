/* oneDNN's sgemm: near the machine's peak even on the small, flat products of a transformer. */
#include "kernels/gemm.h"
#include "base/error.h"

#include <oneapi/dnnl/dnnl.h>
#include <stddef.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* A signal's handler that runs on the stack of a thread in a product destroys what the product keeps below the stack
 * pointer (2.6, AVX-512): sigaltstack and SA_ONSTACK keep it away. Our own threads block all signals. */

/* In a team of one thread the library would start threads of its own. */
static int one_thread(void) {
#ifdef _OPENMP
    int before = omp_get_max_threads();
    if (before != 1) omp_set_num_threads(1);
    return before;
#else
    return 1;
#endif
}

static void restore_threads(int before) {
#ifdef _OPENMP
    if (before != 1) omp_set_num_threads(before);
#else
    (void)before;
#endif
}

void gemm(enum gemm_op op_a, enum gemm_op op_b, int m, int n, int k, const real *a, int lda, const real *b, int ldb,
          bool accumulate, real *c, int ldc) {
    if (m == 0 || n == 0) return;
    if (k == 0) { /* the library would leave C as it is */
        for (int i = 0; i < m && !accumulate; i++) memset(c + (ptrdiff_t)i * ldc, 0, (size_t)n * sizeof *c);
        return;
    }
    int before = one_thread();
    dnnl_status_t status = dnnl_sgemm(op_a == GEMM_N ? 'N' : 'T', op_b == GEMM_N ? 'N' : 'T', m, n, k, 1.0f, a, lda, b,
                                      ldb, accumulate ? 1.0f : 0.0f, c, ldc);
    restore_threads(before);
    ch_assert(status == dnnl_success);
}

/* Pages of the library, the machine code that it makes, and its buffers: 6.9 MiB after the products of a training step,
 * oneDNN 2.6 on AVX-512; 4 MiB on AVX2 and below, whose code is shorter. */
uint64_t gemm_memory(void) {
    bool wide = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
#if defined(__clang__) && defined(_OPENMP)
    const unsigned runtime = 1; /* what clang's OpenMP takes beside it, 1.1 to 1.4 MB */
#else
    const unsigned runtime = 0;
#endif
    return (uint64_t)((wide ? 7u : 4u) + runtime) << 20;
}

const char *gemm_backend(void) {
    return "oneDNN";
}
