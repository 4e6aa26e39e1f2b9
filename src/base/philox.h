/*
 * Philox4x32-10: random numbers as a function of a counter, so that any element of any mask or example can
 * be drawn alone, in any order, on any thread.
 * Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 */
#ifndef CH_BASE_PHILOX_H
#define CH_BASE_PHILOX_H

#include <stddef.h>
#include <stdint.h>

struct philox_key {
    uint32_t word[2];
};

/* The four words at a counter. */
void philox(struct philox_key key, const uint32_t counter[4], uint32_t out[4]);

/* `count` words: four at `counter`, four at the counter whose first word is one more, and so on. */
void philox_fill(struct philox_key key, const uint32_t counter[4], size_t count, uint32_t *out);

/* Four words for each of many lanes: counters, or what was drawn at them. */
enum { PHILOX_LANES = 16 };
struct philox_words {
    uint32_t word[4][PHILOX_LANES];
};

/* The words at the counters of all lanes. */
void philox_lanes(struct philox_key key, const struct philox_words *counter, struct philox_words *out);

/* What a key is for; it enters the derivation, so streams never overlap. */
enum philox_use {
    PHILOX_INIT,
    PHILOX_DATA,
    PHILOX_DROPOUT,
    PHILOX_EVAL,
    PHILOX_VALIDATION,
    PHILOX_SAMPLING,
    PHILOX_HIDING
};

/* The key for one use of a seed at one step. */
struct philox_key philox_derive(uint64_t seed, enum philox_use use, uint64_t step);

#endif
