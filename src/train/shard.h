/*
 * Shards: a batch is cut into a few pieces, each carried forward and backward whole by one thread. Their number and
 * the order in which their gradients are added do not depend on the number of threads, so the result does not either.
 */
#ifndef CH_TRAIN_SHARD_H
#define CH_TRAIN_SHARD_H

#include "data/examples.h"
#include "model/model.h"

struct shard {
    struct workspace workspace;
    struct frame frame; /* its examples as batches */
    struct loss loss;   /* of the last pass */
};

/* What so many of the recipe's longest examples take. */
struct batch_limits shard_limits(const struct ch_model *model, const ch_recipe *recipe, int sequences);

/* One of the things that a shard is made for. */
struct shard_use {
    struct pass pass; /* as a measuring walk sees it */
    struct batch_limits limits;
    bool backward;
};

/* Memory that fits each of its uses. */
ch_status shard_new_for(struct shard *shard, const struct ch_model *model, const struct shard_use *use, int uses,
                        ch_error *error);
ch_status shard_new(struct shard *shard, const struct ch_model *model, const struct pass *pass,
                    const struct batch_limits *limits, bool backward, ch_error *error);
void shard_free(struct shard *shard);

/* Takes examples first..first + count - 1, or which[0..count - 1], packed. */
void shard_load(struct shard *shard, const struct ch_examples *examples, int first, int count);
void shard_load_these(struct shard *shard, const struct ch_examples *examples, const int *which, int count);

/* One forward pass; the loss, and the gradient of the logits times scale. With pass->grad, backward too. */
void shard_run(struct shard *shard, const struct ch_model *model, struct pass pass, real scale);

#endif
