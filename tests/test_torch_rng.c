/* The generator against tables of PyTorch's own numbers, bit for bit (tests/data/torch_rng.h). */
#include "base/torch_rng.h"
#include "data/torch_rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct torch_rng seeded(uint64_t seed) {
    struct torch_rng rng;
    torch_rng_seed(&rng, seed);
    return rng;
}

static uint32_t bits(float x) {
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

/* FNV-1a over the bytes of floats, low byte first: what the tables hold for stretches too long to list. */
static uint64_t hash_float(uint64_t hash, float x) {
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ (bits(x) >> shift & 0xff)) * 0x100000001b3u;
    return hash;
}

static const uint64_t HASH_START = 0xcbf29ce484222325u;

static void assert_reals(const real *value, size_t count, const float first[FIRST], uint64_t hash) {
    uint64_t found = HASH_START;
    for (size_t i = 0; i < count; i++) {
        if (i < FIRST) assert_int_equal(bits((float)value[i]), bits(first[i]));
        found = hash_float(found, (float)value[i]);
    }
    assert_true(found == hash);
}

static void raw_draws(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(raw_golden); row++) {
        struct torch_rng rng = seeded(raw_golden[row].seed);
        for (int i = 0; i < LATE + FIRST; i++) {
            uint32_t word = torch_rng_u32(&rng);
            if (i < FIRST) assert_int_equal(word, raw_golden[row].first[i]);
            if (i >= LATE) assert_int_equal(word, raw_golden[row].late[i - LATE]);
        }
    }
}

static void uniform(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(uniform_golden); row++) {
        struct torch_rng rng = seeded(1);
        real drawn[UNIFORMS];
        for (int i = 0; i < UNIFORMS; i++)
            drawn[i] = (real)torch_rng_uniform_float(&rng, uniform_golden[row].low, uniform_golden[row].high);
        assert_reals(drawn, UNIFORMS, uniform_golden[row].first, uniform_golden[row].hash);
    }
}

static void below(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(below_golden); row++) {
        struct torch_rng rng = seeded(12345);
        int low = below_golden[row].low, high = below_golden[row].high;
        for (size_t i = 0; i < COUNT(below_golden[row].value); i++)
            assert_int_equal(low + (int)torch_rng_below(&rng, (uint32_t)(high - low)), below_golden[row].value[i]);
    }
}

static void bernoulli(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(bernoulli_golden); row++) {
        struct torch_rng rng = seeded(2);
        for (size_t i = 0; i < COUNT(bernoulli_golden[row].value); i++)
            assert_int_equal(torch_rng_bernoulli(&rng, bernoulli_golden[row].p), bernoulli_golden[row].value[i]);
        assert_int_equal(torch_rng_u32(&rng), bernoulli_golden[row].after);
    }
}

static void bernoulli_at_the_ends(void **state) {
    (void)state;
    struct torch_rng rng = seeded(0);
    for (int i = 0; i < 1000; i++) {
        assert_false(torch_rng_bernoulli(&rng, 0.0));
        assert_true(torch_rng_bernoulli(&rng, 1.0));
    }
}

static void position_after_normal(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(normal_golden); row++) {
        struct torch_rng rng = seeded(5);
        for (int call = 0; call < 3; call++) torch_rng_skip_normal(&rng, normal_golden[row].size[call]);
        assert_int_equal(torch_rng_u32(&rng), normal_golden[row].after);
    }
}

/* One call after another: what one of them kept comes out in a later one. */
static void normal_values(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(normal_value_golden); row++) {
        struct torch_rng rng = seeded(9);
        real drawn[UNIFORMS];
        double spare = 0;
        size_t count = 0;
        for (size_t call = 0; call < COUNT(normal_calls); call++) {
            torch_rng_normal(&rng, &spare, drawn + count, normal_calls[call], normal_value_golden[row].deviation);
            count += (size_t)normal_calls[call];
        }
        assert_reals(drawn, count, normal_value_golden[row].first, normal_value_golden[row].hash);
        assert_int_equal(torch_rng_u32(&rng), normal_value_golden[row].after);
    }
}

/* Skipping takes the same draws. */
static void normals_can_be_skipped(void **state) {
    (void)state;
    for (int n = 0; n < 50; n++) {
        struct torch_rng drawn = seeded(4), skipped = seeded(4);
        real number[50];
        double spare = 0;
        torch_rng_normal(&drawn, &spare, number, n, 1);
        torch_rng_skip_normal(&skipped, n);
        assert_memory_equal(&drawn, &skipped, sizeof drawn);
    }
}

static void linear_and_xavier(void **state) {
    (void)state;
    enum { OUT = 13, IN = 64 };
    struct torch_rng rng = seeded(3);
    real weight[OUT * IN], bias[OUT];
    torch_kaiming_uniform_linear(&rng, weight, OUT, IN);
    torch_linear_bias(&rng, bias, OUT, IN);
    assert_reals(weight, OUT * IN, init_golden[0].kaiming, init_golden[0].kaiming_hash);
    assert_reals(bias, OUT, init_golden[0].bias, init_golden[0].bias_hash);
    torch_xavier_uniform(&rng, weight, OUT, IN);
    assert_reals(weight, OUT * IN, init_golden[0].xavier, init_golden[0].xavier_hash);
    assert_int_equal(torch_rng_u32(&rng), init_golden[0].after);
}

static void copy_goes_on_alike(void **state) {
    (void)state;
    struct torch_rng rng = seeded(7);
    torch_rng_skip_normal(&rng, 3); /* leaves a spare */
    struct torch_rng copy = rng;
    torch_rng_skip_normal(&rng, 1);
    torch_rng_skip_normal(&copy, 1);
    for (int i = 0; i < 2 * TORCH_RNG_STATE; i++) assert_int_equal(torch_rng_u32(&rng), torch_rng_u32(&copy));
}

static void seeding_drops_the_spare(void **state) {
    (void)state;
    struct torch_rng rng = seeded(7), fresh = seeded(7);
    torch_rng_skip_normal(&rng, 1);
    torch_rng_seed(&rng, 7);
    assert_memory_equal(&rng, &fresh, sizeof rng);
}

static void validity(void **state) {
    (void)state;
    struct torch_rng rng = seeded(7);
    assert_true(torch_rng_valid(&rng));
    rng.next = TORCH_RNG_STATE + 1;
    assert_false(torch_rng_valid(&rng));
    rng.next = 0;
    rng.spare_normal = 2;
    assert_false(torch_rng_valid(&rng));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_draws),
        cmocka_unit_test(uniform),
        cmocka_unit_test(below),
        cmocka_unit_test(bernoulli),
        cmocka_unit_test(bernoulli_at_the_ends),
        cmocka_unit_test(position_after_normal),
        cmocka_unit_test(normal_values),
        cmocka_unit_test(normals_can_be_skipped),
        cmocka_unit_test(linear_and_xavier),
        cmocka_unit_test(copy_goes_on_alike),
        cmocka_unit_test(seeding_drops_the_spare),
        cmocka_unit_test(validity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
