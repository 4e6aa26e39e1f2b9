/* Dealing: which example of a batch goes to which shard, so that the shards have like numbers of tokens. */
#ifndef CH_TRAIN_DEAL_H
#define CH_TRAIN_DEAL_H

#include "data/examples.h"

struct deal {
    int shards;
    int *sorted;  /* (capacity) examples, longest first */
    int *example; /* (capacity) those of shard 0, then those of shard 1, ... */
    int *begin;   /* (shards + 1) where each shard begins among them */
    int *longer;  /* (longest + 2) examples longer than each length, and how many of that length were seen */
};

/* longest: tokens of a source and its target together. */
bool deal_new(struct deal *deal, int shards, int capacity, int longest);
void deal_free(struct deal *deal);
/* What deal_new takes, in bytes. */
uint64_t deal_bytes(int shards, uint64_t capacity, uint64_t longest);

/* One shard has the examples in their order. Several are dealt to like cards, the longest first, there and back (0 1 2
 * 3 3 2 1 0 0 1 ..): no shard gets more than its share of examples, rounded up. */
void deal_examples(struct deal *deal, const struct ch_examples *examples);

#endif
