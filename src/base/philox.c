#include "base/philox.h"
#include "base/philox_lanes.h"

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

VECTORISED void philox_lanes(struct philox_key key, const struct philox_words *counter, struct philox_words *out) {
    for (int first = 0; first < PHILOX_LANES; first += PHILOX_WIDE) {
        wide c[4];
        for (int w = 0; w < 4; w++)
            for (int l = 0; l < PHILOX_WIDE; l++) c[w][l] = counter->word[w][first + l];
        philox_wide(&c[0], &c[1], &c[2], &c[3], key.word[0], key.word[1]);
        for (int w = 0; w < 4; w++)
            for (int l = 0; l < PHILOX_WIDE; l++) out->word[w][first + l] = (uint32_t)c[w][l];
    }
}

/* The four words of lane 0, those of lane 1, and so on. */
VECTORISED static void in_order_of_lanes(const struct philox_words *words, uint32_t out[4 * PHILOX_LANES]) {
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
        in_order_of_lanes(&drawn, in_order);
        size_t left = count - first;
        memcpy(out + first, in_order, (left < 4 * PHILOX_LANES ? left : 4 * PHILOX_LANES) * sizeof *out);
    }
}
