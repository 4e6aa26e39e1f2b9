/* What runs: for reports. */
#include "base/parallel.h"
#include "kernels/gemm.h"

#include "clearhead.h"

const char *ch_version(void) {
    return CH_VERSION;
}

ch_build ch_build_info(void) {
    return (ch_build){.version = CH_VERSION,
                      .gemm = gemm_backend(),
                      .real = sizeof(real) == sizeof(float) ? "float" : "double",
                      .threads = parallel_threads(0)};
}
