#include "train/deal.h"
#include "base/memory.h"

#include <string.h>

bool deal_new(struct deal *deal, int shards, int capacity, int longest) {
    *deal = (struct deal){.shards = shards,
                          .sorted = mem_new((size_t)capacity, sizeof *deal->sorted),
                          .example = mem_new((size_t)capacity, sizeof *deal->example),
                          .begin = mem_new((size_t)shards + 1, sizeof *deal->begin),
                          .longer = mem_new((size_t)longest + 2, sizeof *deal->longer)};
    if (deal->sorted && deal->example && deal->begin && deal->longer) return true;
    deal_free(deal);
    return false;
}

void deal_free(struct deal *deal) {
    mem_free(deal->sorted);
    mem_free(deal->example);
    mem_free(deal->begin);
    mem_free(deal->longer);
    *deal = (struct deal){0};
}

uint64_t deal_bytes(int shards, uint64_t capacity, uint64_t longest) {
    uint64_t numbers = mem_plus(mem_times(capacity, 2), mem_plus((uint64_t)shards + 1, mem_plus(longest, 2)));
    return mem_times(numbers, sizeof(int));
}

static int tokens_of(const struct ch_examples *examples, int i) {
    return examples->source_length[i] + examples->target_length[i];
}

/* By counting, so that nothing is allocated and equal lengths keep their order. */
static void sort(struct deal *deal, const struct ch_examples *examples) {
    int longest = examples->longest + examples->longest_target, *place = deal->longer;
    memset(place, 0, ((size_t)longest + 2) * sizeof *place);
    for (int i = 0; i < examples->count; i++) place[tokens_of(examples, i)]++;
    for (int length = longest, before = 0; length >= 0; length--) {
        int here = place[length];
        place[length] = before;
        before += here;
    }
    for (int i = 0; i < examples->count; i++) deal->sorted[place[tokens_of(examples, i)]++] = i;
}

/* The card of a shard in a round: rounds go there and back. */
static int card_of(const struct deal *deal, int shard, int round) {
    return round * deal->shards + (round % 2 ? deal->shards - 1 - shard : shard);
}

void deal_examples(struct deal *deal, const struct ch_examples *examples) {
    int count = examples->count, taken = 0;
    sort(deal, examples);
    for (int shard = 0; shard < deal->shards; shard++) {
        deal->begin[shard] = taken;
        for (int round = 0, k; (k = card_of(deal, shard, round)) < count; round++)
            deal->example[taken++] = deal->shards == 1 ? k : deal->sorted[k];
    }
    deal->begin[deal->shards] = taken;
}
