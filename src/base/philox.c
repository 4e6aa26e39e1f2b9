#include "base/philox.h"
#include "base/vector.h"

#include <string.h>

void philox(struct philox_key key, const uint32_t counter[4], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c0 = n0;
        c1 = (uint32_t)p1;
        c2 = n2;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

struct philox_key philox_derive(uint64_t seed, enum philox_use use, uint64_t step) {
    struct philox_key base = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    uint32_t counter[4] = {(uint32_t)step, (uint32_t)(step >> 32), (uint32_t)use, 0x636c6831u}, out[4];
    philox(base, counter, out);
    return (struct philox_key){{out[0], out[1]}};
}

enum { BLOCKS = 16 }; /* counters side by side, so that the compiler puts them into vector lanes */

/* One round on BLOCKS counters; each array holds one word of all of them. */
VECTOR_HELPER void round_of_blocks(uint32_t *restrict c0, uint32_t *restrict c1, uint32_t *restrict c2,
                                   uint32_t *restrict c3, uint32_t k0, uint32_t k1) {
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
        c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
        c1[i] = (uint32_t)p1;
        c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
        c3[i] = (uint32_t)p0;
    }
}

VECTORISED void philox_fill(struct philox_key key, const uint32_t counter[4], size_t count, uint32_t *out) {
    for (size_t first = 0; first < count; first += 4 * BLOCKS) {
        uint32_t c0[BLOCKS], c1[BLOCKS], c2[BLOCKS], c3[BLOCKS], mixed[4 * BLOCKS];
        for (uint32_t i = 0; i < BLOCKS; i++) {
            c0[i] = counter[0] + (uint32_t)(first / 4) + i;
            c1[i] = counter[1];
            c2[i] = counter[2];
            c3[i] = counter[3];
        }
        uint32_t k0 = key.word[0], k1 = key.word[1];
        for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
            round_of_blocks(c0, c1, c2, c3, k0, k1);
        for (int i = 0; i < BLOCKS; i++) {
            mixed[4 * i] = c0[i];
            mixed[4 * i + 1] = c1[i];
            mixed[4 * i + 2] = c2[i];
            mixed[4 * i + 3] = c3[i];
        }
        size_t left = count - first;
        memcpy(out + first, mixed, (left < 4 * BLOCKS ? left : 4 * BLOCKS) * sizeof *out);
    }
}
