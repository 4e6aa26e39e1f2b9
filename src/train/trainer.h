/* Trainer: model, optimiser state and position in the stream of examples; one step at a time. run.c adds the folder. */
#ifndef CH_TRAIN_TRAINER_H
#define CH_TRAIN_TRAINER_H

#include "io/log.h"
#include "recipe/material.h"
#include "optim/decay.h"
#include "train/deal.h"
#include "train/shard.h"

/* Pieces of a batch, and lanes, each with its memory and its gradients: lane l takes shards l, l + lanes, ... */
enum { TRAIN_SHARDS = 4, TRAIN_LANES = 2, MOST_MOMENTS = 4 };

/* A stretch of the parameters; group: the row whose group it is, if that is to be turned behind its update, or -1. */
struct piece {
    size_t from, count;
    int group;
};

struct ch_trainer {
    ch_recipe recipe;
    struct material material;
    struct ch_model *model;  /* being trained */
    struct ch_model *result; /* what training makes: the mean of its weights; the model itself if none is kept */
    int64_t step;            /* steps taken */
    struct torch_rng torch;  /* of --rng torch: state after `step` steps */
    real *moment[MOST_MOMENTS];
    struct decay decay; /* of an optimiser that decays weights */

    int shards, lanes;
    struct team *team;
    struct shard lane[TRAIN_LANES];
    real *turned;        /* (trained) weights of linear layers turned; NULL: they are not kept so */
    int64_t turned_step; /* the step after which they were; -1: not yet */
    struct piece *piece; /* what the update goes by */
    int pieces;
    real *grad[TRAIN_LANES]; /* (trained) each; the sum ends in the first */
    struct loss loss[TRAIN_SHARDS];
    struct ch_examples examples;
    struct deal deal;   /* of the examples to the shards */
    double *chunk_norm; /* squared norm of each piece of the gradient */
    int chunks;

    bool profiled;
    struct profile own_profile; /* of who calls for the steps, to whom the lanes' time is waiting */
    struct profile lane_profile[TRAIN_LANES];

    char *folder; /* of the run; NULL: nothing is written */
    int lock;     /* descriptor that keeps others out of it; -1: none */
    struct log log, gradients;
    real *before;       /* (trained) with log-gradients: the parameters before the last logged step; else NULL */
    int64_t saved_step; /* of the newest checkpoint; -1: none */

    struct ch_examples held_out; /* for validation; none when the recipe asks for none */
    int64_t best_step;           /* whose checkpoint had the lowest validation loss; -1: none so far */
    double best_loss;
};

/* Builds everything for a recipe, with fresh weights at step 0. */
ch_status trainer_new(const ch_recipe *recipe, struct ch_trainer **trainer, ch_error *error);

/* Into how many shards and lanes a batch is cut, and how large a shard can be. */
int trainer_shards(const ch_recipe *recipe);
int trainer_lanes(const ch_recipe *recipe);
struct batch_limits trainer_limits(const struct ch_model *model, const ch_recipe *recipe);

/* How many held-out examples a lane takes at a time. */
int trainer_validation_batch(const ch_recipe *recipe);

/* What a lane's memory serves, which is never done at once: steps, and validation if there is one. Their number. */
enum { TRAINER_USES = 2 };
int trainer_uses(const struct ch_model *model, const ch_recipe *recipe, struct shard_use *use);

/* Bytes of each part of training, measured without allocating them: what is set aside, or what is likely to be
 * touched. validation: what it needs beyond the activations of a step. */
struct trainer_memory {
    uint64_t parameters, gradients, moments, activations, batches, validation, products;
};
struct trainer_memory trainer_measure(const struct ch_model *model, const struct material *material, bool set_aside);
uint64_t trainer_memory_total(const struct trainer_memory *memory);

/* The sentence for a step that is not finite: names the first tensor, in the order of computation, that is not. */
ch_status trainer_blame(struct ch_trainer *trainer, const struct torch_rng *before, double loss, double norm,
                        ch_error *error);

/* Whether a step is validated and leaves a checkpoint: every save-every steps, the last, and those with a band. */
bool trainer_saves(const struct ch_trainer *trainer, int64_t step);
/* Whether a step leaves a line in the log: one that is shown, or one that is validated. */
bool trainer_logs(const struct ch_trainer *trainer, int64_t step);

/* With log-gradients, around the update of a logged step: keeps the parameters as they are, and afterwards writes the
 * norms of each tensor's gradient (before clipping) and change as a line of gradients.jsonl. Without, nothing. */
void signals_keep(struct ch_trainer *trainer);
ch_status signals_write(struct ch_trainer *trainer, ch_error *error);

/* The pass of a step, without arena and gradient. */
struct pass trainer_pass(struct ch_trainer *trainer, int64_t step);
/* Carries one shard of the step's examples forward and, with pass.grad, backward. */
void trainer_run_shard(struct ch_trainer *trainer, struct shard *lane, int shard, struct pass pass);

/* checkpoints/<step>/ in the run folder, whole or not at all; only it and the best one stay. */
ch_status checkpoint_save(struct ch_trainer *trainer, ch_error *error);
ch_status checkpoint_load(struct ch_trainer *trainer, const char *folder, ch_error *error);

#endif
