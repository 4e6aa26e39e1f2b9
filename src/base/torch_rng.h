/*
 * The random numbers of PyTorch's CPU generator, bit for bit, in PyTorch's order, so that a run of the lesson
 * can be repeated number for number. Checked against Debian's PyTorch 1.13.1.
 *
 * Mersenne Twister MT19937 (Matsumoto and Nishimura, ACM TOMACS 8(1), 1998), seeded with the low 32 bits of the
 * seed. What one number costs, in 32-bit draws:
 *     uniform, float     1   lo + (hi - lo) (u32 mod 2^24) / 2^24
 *     randint            1   u32 mod range
 *     bernoulli          2   (first 2^32 + second) mod 2^53 < p 2^53
 *     normal             see torch_rng_skip_normal
 */
#ifndef CH_BASE_TORCH_RNG_H
#define CH_BASE_TORCH_RNG_H

#include "base/real.h"

#include <stdbool.h>
#include <stdint.h>

enum { TORCH_RNG_STATE = 624 };

/* Plain and copyable, all of it 32-bit words: a checkpoint saves it as it is. */
struct torch_rng {
    uint32_t word[TORCH_RNG_STATE];
    uint32_t next;         /* the word that the next draw tempers; TORCH_RNG_STATE: renew them all first */
    uint32_t spare_normal; /* 1: the second number of a pair of normals was kept for the next call */
};

/* As torch.manual_seed. */
void torch_rng_seed(struct torch_rng *rng, uint64_t seed);
/* Whether a state that was read from a file is one that the functions below can leave behind. */
bool torch_rng_valid(const struct torch_rng *rng);

uint32_t torch_rng_u32(struct torch_rng *rng);
/* As uniform_(lo, hi) of a float tensor, whose bounds are doubles and are rounded to float. */
float torch_rng_uniform_float(struct torch_rng *rng, double lo, double hi);
/* As the generator's doubles in 0..1, which bernoulli and few normals are made of. */
double torch_rng_uniform_double(struct torch_rng *rng);
/* As randint(0, range), range > 0. */
uint32_t torch_rng_below(struct torch_rng *rng, uint32_t range);
/* As bernoulli_(p): true with probability p. Dropout draws with p = 1 - rate, and true keeps the element. */
bool torch_rng_bernoulli(struct torch_rng *rng, double p);
/* As normal_(0, deviation) of a contiguous float tensor of n elements. *spare belongs to rng->spare_normal: the value
 * of the number that was kept, in a call before this one or now. */
void torch_rng_normal(struct torch_rng *rng, double *spare, real *out, int64_t n, double deviation);
/* Draws, and drops, what that takes. */
void torch_rng_skip_normal(struct torch_rng *rng, int64_t n);

/* What the constructor of nn.Linear(fan_in, fan_out) draws, in this order: weight (fan_out, fan_in), bias (fan_out). */
void torch_kaiming_uniform_linear(struct torch_rng *rng, real *out, int64_t fan_out, int64_t fan_in);
void torch_linear_bias(struct torch_rng *rng, real *out, int64_t fan_out, int64_t fan_in);
/* As nn.init.xavier_uniform_ of a tensor (fan_out, fan_in). */
void torch_xavier_uniform(struct torch_rng *rng, real *out, int64_t fan_out, int64_t fan_in);

#endif
