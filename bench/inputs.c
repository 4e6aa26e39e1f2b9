#include "bench.h"
#include "base/memory.h"

#include <float.h>

const struct size sizes[SIZES] = {
    {"lesson", 64, 4, 256, 2, 10, 4, 10, 64},
    {"small", 256, 8, 1024, 4, 8000, 10, 60, 64},
    {"base", 512, 8, 2048, 6, 32000, 10, 60, 32},
};

int shard_rows(const struct size *size) {
    return size->batch / 4 * (size->shortest + size->longest) / 2;
}

real *input_reals(size_t count, ch_error *error) {
    real *x = mem_new_aligned(count * sizeof *x);
    if (!x) fail_memory(error, "the inputs");
    return x;
}

void input_fill(real *x, size_t count, uint64_t seed) {
    struct philox_key key = philox_derive(seed, PHILOX_DATA, 0);
    for (size_t i = 0; i < count; i += 4) {
        uint32_t counter[4] = {(uint32_t)(i / 4)}, word[4];
        philox(key, counter, word);
        for (size_t j = 0; j < 4 && i + j < count; j++) x[i + j] = RC((double)word[j] / 2147483648.0 - 1);
    }
}

int input_below(uint64_t seed, size_t draw, int range) {
    uint32_t counter[4] = {(uint32_t)draw}, word[4];
    philox(philox_derive(seed, PHILOX_DATA, 1), counter, word);
    return (int)((uint64_t)word[0] * (uint64_t)range >> 32);
}

double usual_tolerance(void) {
    return 84 * (sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON);
}

ch_status agree(const char *what, const real *found, const real *expected, size_t count, double tolerance,
                ch_error *error) {
    for (size_t i = 0; i < count; i++) {
        double f = (double)found[i], e = (double)expected[i];
        bool same = f == e || (isfinite(e) && fabs(f - e) <= tolerance * fmax(1, fabs(e)));
        if (!same) return fail(error, CH_FAILED, "%s[%zu]: expected %.9g, found %.9g", what, i, e, f);
    }
    return CH_OK;
}
