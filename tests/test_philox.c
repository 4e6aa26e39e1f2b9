/* Philox against the published vectors, its keys against each other, its words against chance. */
#include "base/philox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* philox4x32 with 10 rounds, from the known-answer file of Random123 (Salmon et al. 2011). */
static void known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4];
        struct philox_key key;
        uint32_t out[4];
    } row[] = {
        {{0, 0, 0, 0}, {{0, 0}}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {{0xffffffff, 0xffffffff}},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, /* the digits of pi */
         {{0xa4093822, 0x299f31d0}},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint32_t out[4];
        philox(row[i].key, row[i].counter, out);
        for (int w = 0; w < 4; w++) assert_int_equal(out[w], row[i].out[w]);
    }
}

static void may_write_over_its_counter(void **state) {
    (void)state;
    uint32_t counter[4] = {1, 2, 3, 4}, out[4];
    struct philox_key key = {{5, 6}};
    philox(key, counter, out);
    philox(key, counter, counter);
    assert_memory_equal(counter, out, sizeof out);
}

/* No two of the keys for some seeds, uses and steps (both halves of the 64-bit numbers included) are alike:
 * 4 x 4 x 4 keys of 64 bits meet by chance once in 10^16 such sets. */
static void derived_keys_differ(void **state) {
    (void)state;
    static const uint64_t number[] = {0, 1, UINT64_C(1) << 32, UINT64_MAX};
    static const enum philox_use use[] = {PHILOX_INIT, PHILOX_DATA, PHILOX_DROPOUT, PHILOX_EVAL};
    struct philox_key key[64];
    size_t count = 0;
    for (int seed = 0; seed < 4; seed++)
        for (int u = 0; u < 4; u++)
            for (int step = 0; step < 4; step++) key[count++] = philox_derive(number[seed], use[u], number[step]);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) assert_memory_not_equal(&key[i], &key[j], sizeof key[i]);
    struct philox_key again = philox_derive(number[3], use[3], number[3]);
    assert_memory_equal(&again, &key[count - 1], sizeof again);
}

/* Words counted in 256 bins by their top and by their bottom byte. For uniform words chi-square has mean 255 and
 * variance 510; the bounds are six deviations away on both sides, since too even is not random either. The first
 * word of the counter moves, as it does along an element, or the third, as it does from one site to the next. */
static void words_are_uniform(void **state) {
    (void)state;
    enum { BINS = 256, CALLS = 16384 };
    struct philox_key key = philox_derive(42, PHILOX_DROPOUT, 7);
    for (int moving = 0; moving <= 2; moving += 2)
        for (int shift = 0; shift <= 24; shift += 24) {
            double count[BINS] = {0}, chi_square = 0;
            for (uint32_t call = 0; call < CALLS; call++) {
                uint32_t counter[4] = {0}, out[4];
                counter[moving] = call;
                philox(key, counter, out);
                for (int w = 0; w < 4; w++) count[out[w] >> shift & 0xff]++;
            }
            const double expected = 4.0 * CALLS / BINS, deviation = 22.59; /* sqrt(510), rounded up */
            for (int bin = 0; bin < BINS; bin++)
                chi_square += (count[bin] - expected) * (count[bin] - expected) / expected;
            assert_true(chi_square > 255 - 6 * deviation);
            assert_true(chi_square < 255 + 6 * deviation);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(may_write_over_its_counter),
        cmocka_unit_test(derived_keys_differ),
        cmocka_unit_test(words_are_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
