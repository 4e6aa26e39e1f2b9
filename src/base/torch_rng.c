#include "base/torch_rng.h"
#include "base/error.h"

enum { MIDDLE = 397 };

void torch_rng_seed(struct torch_rng *rng, uint64_t seed) {
    rng->word[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < TORCH_RNG_STATE; i++)
        rng->word[i] = 1812433253u * (rng->word[i - 1] ^ rng->word[i - 1] >> 30) + i;
    rng->next = TORCH_RNG_STATE;
    rng->spare_normal = 0;
}

bool torch_rng_valid(const struct torch_rng *rng) {
    return rng->next <= TORCH_RNG_STATE && rng->spare_normal <= 1;
}

static void renew(uint32_t *word) {
    for (int i = 0; i < TORCH_RNG_STATE; i++) {
        uint32_t high = word[i] & 0x80000000u, low = word[(i + 1) % TORCH_RNG_STATE] & 0x7fffffffu;
        uint32_t twist = (high | low) >> 1 ^ (low & 1 ? 0x9908b0dfu : 0);
        word[i] = word[(i + MIDDLE) % TORCH_RNG_STATE] ^ twist;
    }
}

uint32_t torch_rng_u32(struct torch_rng *rng) {
    if (rng->next == TORCH_RNG_STATE) {
        renew(rng->word);
        rng->next = 0;
    }
    uint32_t x = rng->word[rng->next++];
    x ^= x >> 11;
    x ^= x << 7 & 0x9d2c5680u;
    x ^= x << 15 & 0xefc60000u;
    return x ^ x >> 18;
}

float torch_rng_uniform_float(struct torch_rng *rng, double lo, double hi) {
    float from = (float)lo, to = (float)hi;
    float unit = (float)(torch_rng_u32(rng) & 0xffffffu) * 0x1p-24f;
    /* PyTorch's source says x * (to - from) + from. Its code for processors with AVX2 rounds once, a fused
     * multiply-add; the fallback for older ones rounds twice and differs in the last bit of half the numbers. */
    return fmaf(unit, to - from, from);
}

uint32_t torch_rng_below(struct torch_rng *rng, uint32_t range) {
    ch_assert(range > 0);
    return torch_rng_u32(rng) % range;
}

double torch_rng_uniform_double(struct torch_rng *rng) {
    uint64_t high = torch_rng_u32(rng), low = torch_rng_u32(rng);
    uint64_t fraction = (high << 32 | low) & ((UINT64_C(1) << 53) - 1);
    return (double)fraction * 0x1p-53;
}

bool torch_rng_bernoulli(struct torch_rng *rng, double p) {
    return torch_rng_uniform_double(rng) < p;
}

static void skip(struct torch_rng *rng, int64_t draws) {
    for (int64_t i = 0; i < draws; i++) torch_rng_u32(rng);
}

void torch_rng_skip_normal(struct torch_rng *rng, int64_t n) {
    enum { BLOCK = 16 };
    ch_assert(n >= 0);
    if (n >= BLOCK) {
        /* One draw a number; the last block is drawn again, whole, when n does not end one. */
        skip(rng, n + (n % BLOCK ? BLOCK : 0));
        return;
    }
    /* Box-Muller in double, one number at a time: every second number is the spare of the one before it,
     * and a spare outlives the call, even calls of the other kind. */
    for (int64_t i = 0; i < n; i++) {
        if (!rng->spare_normal) skip(rng, 4);
        rng->spare_normal = !rng->spare_normal;
    }
}

static void fill_uniform(struct torch_rng *rng, real *out, int64_t count, double bound) {
    for (int64_t i = 0; i < count; i++) out[i] = (real)torch_rng_uniform_float(rng, -bound, bound);
}

void torch_kaiming_uniform_linear(struct torch_rng *rng, real *out, int64_t fan_out, int64_t fan_in) {
    /* kaiming_uniform_(a = sqrt(5)): sqrt(3) sqrt(2 / (1 + a^2)) / sqrt(fan_in). PyTorch's steps end a few units of
     * double away from the short form, and at the same float for every fan_in up to 2^20. */
    fill_uniform(rng, out, fan_out * fan_in, 1.0 / sqrt((double)fan_in));
}

void torch_linear_bias(struct torch_rng *rng, real *out, int64_t fan_out, int64_t fan_in) {
    fill_uniform(rng, out, fan_out, 1.0 / sqrt((double)fan_in));
}

void torch_xavier_uniform(struct torch_rng *rng, real *out, int64_t fan_out, int64_t fan_in) {
    double deviation = sqrt(2.0 / (double)(fan_in + fan_out));
    fill_uniform(rng, out, fan_out * fan_in, sqrt(3.0) * deviation);
}
