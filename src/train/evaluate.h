/* Teacher forcing over a set of examples: what evaluation and validation measure. */
#ifndef CH_TRAIN_EVALUATE_H
#define CH_TRAIN_EVALUATE_H

#include "base/parallel.h"
#include "train/shard.h"

/* Whether the recipe's examples fit the model: its vocabulary and its positions. */
ch_status evaluate_fits(const struct ch_model *model, const ch_recipe *recipe, ch_error *error);

/* Who evaluates: shards that work side by side, each on so many examples at a time. */
struct evaluators {
    struct shard *shard;
    int shards, batch;
    struct team *team;
};

/* What their shards must fit, for so many of the recipe's examples at a time. */
struct shard_use evaluate_use(const struct ch_model *model, const ch_recipe *recipe, int batch);

/* Fills loss and token_accuracy: the same on any number of threads and shards. */
ch_status evaluate_forcing(const struct ch_model *model, const struct attention_core *core,
                           const struct ch_examples *examples, const struct evaluators *evaluators,
                           ch_evaluation *result, ch_error *error);

#endif
