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

/* Lanes of 64 bits, of which the lower halves count: a product of two lower halves is then one multiplication. */
typedef uint64_t wide __attribute__((vector_size(PHILOX_LANES / 2 * sizeof(uint64_t))));

/* Ten rounds on the counters of half the lanes. */
VECTOR_HELPER void rounds(wide c[4], uint32_t k0, uint32_t k1) {
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        wide p0 = (c[0] & 0xFFFFFFFFu) * 0xD2511F53u, p1 = (c[2] & 0xFFFFFFFFu) * 0xCD9E8D57u;
        c[0] = (p1 >> 32) ^ c[1] ^ k0;
        c[1] = p1;
        c[2] = (p0 >> 32) ^ c[3] ^ k1;
        c[3] = p0;
    }
}

VECTORISED void philox_lanes(struct philox_key key, const struct philox_words *counter, struct philox_words *out) {
    enum { HALF = PHILOX_LANES / 2 };
    wide low[4], high[4];
    for (int w = 0; w < 4; w++)
        for (int l = 0; l < HALF; l++) {
            low[w][l] = counter->word[w][l];
            high[w][l] = counter->word[w][HALF + l];
        }
    rounds(low, key.word[0], key.word[1]);
    rounds(high, key.word[0], key.word[1]);
    for (int w = 0; w < 4; w++)
        for (int l = 0; l < HALF; l++) {
            out->word[w][l] = (uint32_t)low[w][l];
            out->word[w][HALF + l] = (uint32_t)high[w][l];
        }
}

VECTORISED void philox_in_order(const struct philox_words *words, uint32_t out[4 * PHILOX_LANES]) {
    for (int l = 0; l < PHILOX_LANES; l++)
        for (int w = 0; w < 4; w++) out[4 * l + w] = words->word[w][l];
}

void philox_fill(struct philox_key key, const uint32_t counter[4], size_t count, uint32_t *out) {
    for (size_t first = 0; first < count; first += 4 * PHILOX_LANES) {
        struct philox_words at, drawn;
        uint32_t in_order[4 * PHILOX_LANES];
        for (uint32_t l = 0; l < PHILOX_LANES; l++) {
            at.word[0][l] = counter[0] + (uint32_t)(first / 4) + l;
            for (int w = 1; w < 4; w++) at.word[w][l] = counter[w];
        }
        philox_lanes(key, &at, &drawn);
        philox_in_order(&drawn, in_order);
        size_t left = count - first;
        memcpy(out + first, in_order, (left < 4 * PHILOX_LANES ? left : 4 * PHILOX_LANES) * sizeof *out);
    }
}
