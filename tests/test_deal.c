/* Dealing a batch to shards: every example once, no shard with more than its share, and like numbers of tokens. */
#include "train/deal.h"
#include "support.h"

#include <stdlib.h>

enum { LONGEST = 30 };

static struct ch_examples batch_of(int count, uint64_t seed) {
    struct ch_examples examples;
    ch_error error;
    assert_int_equal(examples_init(&examples, count, LONGEST, 10, &error), CH_OK);
    examples.count = count;
    for (int i = 0; i < count; i++) examples.source_length[i] = random_int(seed, (uint64_t)i, 1, LONGEST);
    return examples;
}

static int tokens(const struct deal *deal, const struct ch_examples *examples, int shard) {
    int sum = 0;
    for (int k = deal->begin[shard]; k < deal->begin[shard + 1]; k++) sum += examples->source_length[deal->example[k]];
    return sum;
}

static void check_deal(int shards, int count) {
    struct ch_examples examples = batch_of(count, (uint64_t)(shards * 1000 + count));
    struct deal deal;
    assert_true(deal_new(&deal, shards, count, 2 * LONGEST + 2));
    for (int again = 0; again < 2; again++) deal_examples(&deal, &examples);
    int times[200] = {0}, least = INT32_MAX, most = 0;
    for (int k = 0; k < count; k++) times[deal.example[k]]++;
    for (int i = 0; i < count; i++) assert_int_equal(times[i], 1);
    assert_true(deal.begin[0] == 0 && deal.begin[shards] == count);
    for (int shard = 0; shard < shards; shard++) {
        int share = deal.begin[shard + 1] - deal.begin[shard], sum = tokens(&deal, &examples, shard);
        assert_true(share >= count / shards && share <= (count + shards - 1) / shards);
        least = sum < least ? sum : least;
        most = sum > most ? sum : most;
    }
    /* There and back gains and loses by turns, and an odd round at the end differs by one card. */
    assert_true(most - least <= 2 * LONGEST);
    deal_free(&deal);
    examples_release(&examples);
}

static void every_example_once(void **state) {
    (void)state;
    static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 200};
    for (int shards = 1; shards <= 5; shards++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            if (counts[c] >= shards) check_deal(shards, counts[c]);
}

/* PyTorch's generator draws masks in the order of the batch: one shard must not change it. */
static void one_shard_keeps_the_order(void **state) {
    (void)state;
    struct ch_examples examples = batch_of(50, 7);
    struct deal deal;
    assert_true(deal_new(&deal, 1, 50, 2 * LONGEST + 2));
    deal_examples(&deal, &examples);
    for (int k = 0; k < 50; k++) assert_int_equal(deal.example[k], k);
    deal_free(&deal);
    examples_release(&examples);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_once),
        cmocka_unit_test(one_shard_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
