/*
 * Philox4x32-10 on eight counters side by side, for loops that must not leave their registers between a counter and
 * what is made of the number. A lane has 64 bits of which the lower half counts: a product of two lower halves is then
 * one multiplication.
 */
#ifndef CH_BASE_PHILOX_LANES_H
#define CH_BASE_PHILOX_LANES_H

#include "base/vector.h"

#include <stdint.h>

enum { PHILOX_WIDE = 8 };
typedef uint64_t wide __attribute__((vector_size(PHILOX_WIDE * sizeof(uint64_t))));

/* In: word w of the counter of every lane; out: the words drawn, whose upper halves are not to be read. */
VECTOR_HELPER void philox_wide(wide *word0, wide *word1, wide *word2, wide *word3, uint32_t k0, uint32_t k1) {
    wide c0 = *word0, c1 = *word1, c2 = *word2, c3 = *word3;
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        wide p0 = (c0 & 0xFFFFFFFFu) * 0xD2511F53u, p1 = (c2 & 0xFFFFFFFFu) * 0xCD9E8D57u;
        c0 = (p1 >> 32) ^ c1 ^ k0;
        c1 = p1;
        c2 = (p0 >> 32) ^ c3 ^ k1;
        c3 = p0;
    }
    *word0 = c0;
    *word1 = c1;
    *word2 = c2;
    *word3 = c3;
}

#endif
