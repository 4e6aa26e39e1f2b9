#include "support.h"
#include "base/philox.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static struct philox_key key_of(uint64_t seed) {
    return (struct philox_key){{(uint32_t)seed, (uint32_t)(seed >> 32)}};
}

void fill_random(real *x, size_t n, uint64_t seed, double scale) {
    for (size_t i = 0; i < n; i++) {
        uint32_t counter[4] = {(uint32_t)i, 0, 0, 0}, word[4];
        philox(key_of(seed), counter, word);
        double unit = ((double)word[0] + 0.5) / 4294967296.0; /* never 0 nor 1 */
        x[i] = (real)(scale * (2 * unit - 1));
    }
}

void fill_value(real *x, size_t n, real value) {
    for (size_t i = 0; i < n; i++) x[i] = value;
}

int random_int(uint64_t seed, uint64_t draw, int from, int to) {
    uint32_t counter[4] = {(uint32_t)draw, (uint32_t)(draw >> 32), 1, 0}, word[4];
    philox(key_of(seed), counter, word);
    return from + (int)(word[0] % (uint32_t)(to - from + 1));
}

real *new_reals(size_t n) {
    real *x = malloc((n ? n : 1) * sizeof *x);
    assert_non_null(x);
    return x;
}

/* ---- closeness ---- */

static double difference(real a, real b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : (double)INFINITY;
    if (isinf(a) || isinf(b)) return a == b ? 0 : (double)INFINITY;
    return fabs((double)a - (double)b) / fmax(1, fabs((double)b));
}

double worst_difference(const real *a, const real *b, size_t n) {
    double worst = 0;
    for (size_t i = 0; i < n; i++) worst = fmax(worst, difference(a[i], b[i]));
    return worst;
}

void check_close(const char *what, const real *a, const real *b, size_t n, double tolerance) {
    for (size_t i = 0; i < n; i++) {
        double d = difference(a[i], b[i]);
        if (d > tolerance)
            fail_msg("%s: element %zu of %zu is %.17g, expected %.17g (difference %.3g, allowed %.3g)", what, i, n,
                     (double)a[i], (double)b[i], d, tolerance);
    }
}

void check_same(const char *what, const real *a, const real *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0)
            fail_msg("%s: element %zu of %zu is %.17g, expected exactly %.17g", what, i, n, (double)a[i], (double)b[i]);
}

void figure_check(struct figure *figure, const real *a, const real *b, size_t n) {
    check_close(figure->what, a, b, n, figure->tolerance);
    figure->worst = fmax(figure->worst, worst_difference(a, b, n));
}

void figure_show(const struct figure *figure) {
    print_message("             %-44s worst %.2e, allowed %.2e\n", figure->what, figure->worst, figure->tolerance);
}

/* ---- batches ---- */

struct batch_buffer packed_batch(const int *length, int sequences, int position, uint32_t first) {
    int rows = 0;
    for (int b = 0; b < sequences; b++) rows += length[b];
    struct batch_buffer buffer;
    assert_true(batch_buffer_new(&buffer, sequences, rows));
    for (int b = 0; b < sequences; b++) batch_add(&buffer, length[b], position, first + (uint32_t)b);
    return buffer;
}

struct batch_buffer padded_batch(const int *length, int sequences, int longest, int position, uint32_t first) {
    struct batch_buffer buffer;
    assert_true(batch_buffer_new(&buffer, sequences, sequences * longest));
    for (int b = 0; b < sequences; b++) {
        batch_add(&buffer, longest, position, first + (uint32_t)b);
        buffer.length[b] = length[b];
    }
    buffer.view.longest = 0;
    for (int b = 0; b < sequences; b++)
        if (length[b] > buffer.view.longest) buffer.view.longest = length[b];
    return buffer;
}

/* ---- folders ---- */

char *make_temp_folder(void) {
    const char *base = getenv("TMPDIR");
    char *folder = NULL;
    assert_true(asprintf(&folder, "%s/clearhead-test-XXXXXX", base && *base ? base : "/tmp") > 0);
    if (!mkdtemp(folder)) fail_msg("cannot make the folder %s", folder);
    return folder;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void remove_folder(char *folder) {
    int left = nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
    assert_int_equal(left, 0);
}
