#include "data/draws.h"
#include "base/error.h"

enum { WORDS = 4 };

struct draws draws_philox(struct philox_key key, uint32_t number) {
    return (struct draws){.key = key, .counter = {0, number, 0, 0}, .used = WORDS};
}

struct draws draws_torch(struct torch_rng *torch) {
    return (struct draws){.torch = torch};
}

static uint64_t word(struct draws *draws) {
    if (draws->used == WORDS) {
        philox(draws->key, draws->counter, draws->word);
        draws->counter[0]++;
        draws->used = 0;
    }
    return draws->word[draws->used++];
}

double draws_unit(struct draws *draws) {
    if (draws->torch) return torch_rng_uniform_double(draws->torch);
    uint64_t high = word(draws), low = word(draws);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

int draws_below(struct draws *draws, int range) {
    ch_assert(range > 0);
    if (draws->torch) return (int)torch_rng_below(draws->torch, (uint32_t)range);
    return (int)(draws_unit(draws) * range); /* below range: exact in double, a range has 31 bits and the rest fits */
}
