/* A batch that stays, and a model's passes over it. */
#ifndef CH_CHECK_BENCH_H
#define CH_CHECK_BENCH_H

#include "train/shard.h"

struct bench {
    const struct ch_model *model;
    struct shard shard;
    struct pass pass;
};

/* Takes all of the examples. pass: what the walks need beside model, memory and gradient. */
ch_status bench_new(struct bench *bench, const struct ch_model *model, const struct pass *pass,
                    const struct ch_examples *examples, bool backward, ch_error *error);
void bench_free(struct bench *bench);

/* logits (N, V) of one walk, N the target rows; they live until the next. */
const real *bench_logits(struct bench *bench);

/* Two examples of the recipe's task that are as unequal as the lengths allow: the longest, and one of half its length.
 * Of a model of texts any tokens, and not very many. Release with examples_release. */
ch_status bench_pair(struct ch_examples *examples, const struct ch_model *model, const ch_recipe *recipe,
                     ch_error *error);

#endif
