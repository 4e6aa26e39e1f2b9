/*
 * Dropout: how much is kept, and that a mask depends on what an element is and on nothing else.
 *
 * Counts are binomial: n draws that keep with probability p have mean n p and variance n p (1 - p); the bounds are
 * five deviations away on both sides (chance 6e-7 each, and the draws are the same in every run).
 */
#include "kernels/kernels.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 150, MOST_ROWS = 256 };

static struct dropout dropout_of(double rate, uint64_t seed, uint64_t step, uint32_t site) {
    return (struct dropout){.rate = RC(rate), .key = philox_derive(seed, PHILOX_DROPOUT, step), .site = site};
}

static bool plausible(double kept, double n, double p) {
    return fabs(kept - n * p) <= 5 * sqrt(n * p * (1 - p));
}

static void the_share_and_the_mean_are_kept(void **state) {
    (void)state;
    static const double rate[] = {0.01, 0.1, 0.5, 0.9};
    struct batch_buffer batch = packed_batch((int[]){100, 1, 99, 56}, 4, 0, 0);
    const size_t count = MOST_ROWS * CHANNELS;
    real *x = new_reals(count), *y = new_reals(count);
    uint8_t *keep = malloc(count);
    assert_non_null(keep);
    for (size_t r = 0; r < sizeof rate / sizeof *rate; r++) {
        struct dropout dropout = dropout_of(rate[r], 1, 2, 3);
        fill_value(x, count, 1);
        dropout_forward(y, keep, x, &dropout, &batch.view, CHANNELS);
        double kept = 0, sum = 0, p = 1 - rate[r];
        for (size_t i = 0; i < count; i++) {
            assert_true(keep[i] <= 1 && y[i] == (keep[i] ? dropout_factor(&dropout) : 0));
            kept += keep[i];
            sum += (double)y[i];
        }
        assert_true(plausible(kept, (double)count, p));
        assert_true(plausible(sum * p, (double)count, p)); /* the mean of y is 1 */
        print_message("             rate %.2f: kept %.4f, mean of ones %.4f\n", rate[r], kept / (double)count,
                      sum / (double)count);
    }
    free(x);
    free(y);
    free(keep);
    batch_buffer_free(&batch);
}

static void forward_and_backward_share_the_mask(void **state) {
    (void)state;
    struct batch_buffer batch = packed_batch((int[]){3, 4}, 2, 0, 0);
    struct dropout dropout = dropout_of(0.3, 4, 5, 6);
    enum { COUNT = 7 * CHANNELS };
    real x[COUNT], y[COUNT], dx[COUNT];
    uint8_t keep[COUNT];
    fill_random(x, COUNT, 1, 1);
    x[0] = RC(1e-30);
    dropout_forward(y, keep, x, &dropout, &batch.view, CHANNELS);
    dropout_backward(dx, x, keep, &dropout, COUNT); /* the same linear map */
    check_same("dx", dx, y, COUNT);
    dropout_backward(x, x, keep, &dropout, COUNT);
    check_same("dx in place", x, y, COUNT);
    batch_buffer_free(&batch);
}

static void rate_0_changes_nothing(void **state) {
    (void)state;
    struct batch_buffer batch = packed_batch((int[]){5}, 1, 0, 0);
    struct dropout dropout = dropout_of(0, 1, 1, 1);
    enum { COUNT = 5 * CHANNELS };
    real x[COUNT], y[COUNT];
    uint8_t keep[COUNT];
    fill_random(x, COUNT, 1, 1);
    dropout_forward(y, keep, x, &dropout, &batch.view, CHANNELS);
    check_same("y", y, x, COUNT);
    batch_buffer_free(&batch);
}

static void a_drawn_mask_is_used_as_it_is(void **state) {
    (void)state;
    struct batch_buffer batch = packed_batch((int[]){2, 3}, 2, 0, 0);
    enum { COUNT = 5 * CHANNELS };
    uint8_t drawn[COUNT], keep[COUNT];
    for (int i = 0; i < COUNT; i++) drawn[i] = (uint8_t)random_int(8, (uint64_t)i, 0, 1);
    struct dropout dropout = {.rate = RC(0.5), .drawn = drawn};
    real x[COUNT], y[COUNT];
    fill_random(x, COUNT, 1, 1);
    dropout_forward(y, keep, x, &dropout, &batch.view, CHANNELS);
    assert_memory_equal(keep, drawn, COUNT);
    for (int i = 0; i < COUNT; i++) assert_true(y[i] == (drawn[i] ? 2 * x[i] : 0));
    batch_buffer_free(&batch);
}

/* ---- what a mask depends on ---- */

/* The mask of a batch's rows. */
static void mask_of(uint8_t *keep, const struct dropout *dropout, const struct batch *batch, int channels) {
    size_t count = (size_t)batch->rows * (size_t)channels;
    real *x = new_reals(count);
    fill_value(x, count, 1);
    dropout_forward(x, keep, x, dropout, batch, channels);
    free(x);
}

static void a_mask_does_not_know_the_layout(void **state) {
    (void)state;
    static const int length[] = {3, 1, 5};
    enum { LONGEST = 6 };
    struct dropout dropout = dropout_of(0.5, 1, 2, 3);
    uint8_t packed[9 * CHANNELS], padded[3 * LONGEST * CHANNELS], turned[9 * CHANNELS], narrow[9 * 17];
    struct batch_buffer a = packed_batch(length, 3, 0, 40), b = padded_batch(length, 3, LONGEST, 0, 40), c;
    assert_true(batch_buffer_new(&c, 3, 9));
    for (int s = 2; s >= 0; s--) batch_add(&c, length[s], 0, (uint32_t)(40 + s));
    mask_of(packed, &dropout, &a.view, CHANNELS);
    mask_of(padded, &dropout, &b.view, CHANNELS);
    mask_of(turned, &dropout, &c.view, CHANNELS);
    mask_of(narrow, &dropout, &a.view, 17);
    for (int s = 0; s < 3; s++) {
        size_t bytes = (size_t)(length[s] * CHANNELS);
        assert_memory_equal(padded + b.offset[s] * CHANNELS, packed + a.offset[s] * CHANNELS, bytes);
        assert_memory_equal(turned + c.offset[2 - s] * CHANNELS, packed + a.offset[s] * CHANNELS, bytes);
    }
    for (int n = 0; n < 9; n++) assert_memory_equal(narrow + n * 17, packed + n * CHANNELS, 17);
    batch_buffer_free(&a);
    batch_buffer_free(&b);
    batch_buffer_free(&c);
}

/* A row may start where it wants in its tensor, and a shorter row is the beginning of a longer one. */
static void a_row_does_not_know_its_place(void **state) {
    (void)state;
    struct dropout dropout = dropout_of(0.5, 1, 2, 3);
    uint8_t a[CHANNELS], b[CHANNELS];
    dropout_row(&dropout, 4, 5, 6, 0, CHANNELS, a);
    for (int n = 1; n <= CHANNELS; n++) {
        memset(b, 9, sizeof b);
        dropout_row(&dropout, 4, 5, 6, (size_t)(n * 1000), n, b);
        assert_memory_equal(b, a, (size_t)n);
        if (n < CHANNELS) assert_int_equal(b[n], 9);
    }
}

/* Two masks of rate 1/2 that have nothing to do with each other differ in half of their places. */
static void check_independent(const char *what, const uint8_t *a, const uint8_t *b, int n) {
    int different = 0;
    for (int i = 0; i < n; i++) different += a[i] != b[i];
    if (!plausible(different, n, 0.5)) fail_msg("masks of another %s differ in %d of %d places", what, different, n);
}

static void whatever_names_an_element_changes_its_mask(void **state) {
    (void)state;
    struct dropout dropout = dropout_of(0.5, 1, 2, 3), other_site = dropout_of(0.5, 1, 2, 4),
                   other_step = dropout_of(0.5, 1, 3, 3), other_seed = dropout_of(0.5, 2, 2, 3);
    uint8_t a[CHANNELS], b[CHANNELS];
    dropout_row(&dropout, 4, 5, 6, 0, CHANNELS, a);
    dropout_row(&other_site, 4, 5, 6, 0, CHANNELS, b);
    check_independent("site", a, b, CHANNELS);
    dropout_row(&other_step, 4, 5, 6, 0, CHANNELS, b);
    check_independent("step", a, b, CHANNELS);
    dropout_row(&other_seed, 4, 5, 6, 0, CHANNELS, b);
    check_independent("seed", a, b, CHANNELS);
    dropout_row(&dropout, 5, 5, 6, 0, CHANNELS, b);
    check_independent("example", a, b, CHANNELS);
    dropout_row(&dropout, 4, 6, 6, 0, CHANNELS, b);
    check_independent("position", a, b, CHANNELS);
    dropout_row(&dropout, 4, 5, 7, 0, CHANNELS, b);
    check_independent("head", a, b, CHANNELS);
    for (int shift = 1; shift <= 70; shift++) check_independent("channel", a, a + shift, CHANNELS - shift);
}

/* The definition, counter by counter: the block and the head, position, example and site give 128 bits, 16 for each
 * element of the block, the lower half of a word first. */
static bool is_kept(const struct dropout *dropout, uint32_t example, uint32_t position, uint32_t head, int element) {
    uint32_t counter[4] = {(head << 20) + (uint32_t)element / 8, position, example, dropout->site}, word[4];
    philox(dropout->key, counter, word);
    uint32_t bits = word[element % 8 / 2] >> (element % 2 ? 16 : 0) & 0xFFFF;
    return bits < (uint32_t)lround((1 - (double)dropout->rate) * 65536);
}

static void a_mask_is_what_it_is_defined_to_be(void **state) {
    (void)state;
    static const double rates[] = {0.1, 0.5, 0.999999, 1e-7};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct dropout dropout = dropout_of(rates[r], 1, 2, 3);
        uint8_t keep[CHANNELS];
        dropout_row(&dropout, 4, 5, 6, 0, CHANNELS, keep);
        for (int c = 0; c < CHANNELS; c++) assert_int_equal(keep[c], is_kept(&dropout, 4, 5, 6, c));
        struct batch_buffer batch = packed_batch((int[]){3, 4}, 2, 2, 9);
        uint8_t rows[7 * 72];
        real x[7 * 72];
        fill_value(x, 7 * 72, 1);
        dropout_forward(x, rows, x, &dropout, &batch.view, 72);
        for (int i = 0; i < 7 * 72; i++)
            assert_int_equal(rows[i],
                             is_kept(&dropout, i / 72 < 3 ? 9 : 10, (uint32_t)batch.position[i / 72], 0, i % 72));
        batch_buffer_free(&batch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_and_the_mean_are_kept),
        cmocka_unit_test(forward_and_backward_share_the_mask),
        cmocka_unit_test(rate_0_changes_nothing),
        cmocka_unit_test(a_drawn_mask_is_used_as_it_is),
        cmocka_unit_test(a_mask_does_not_know_the_layout),
        cmocka_unit_test(a_row_does_not_know_its_place),
        cmocka_unit_test(whatever_names_an_element_changes_its_mask),
        cmocka_unit_test(a_mask_is_what_it_is_defined_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
