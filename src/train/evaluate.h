/* Teacher forcing over a set of examples: what evaluation and validation measure. */
#ifndef CH_TRAIN_EVALUATE_H
#define CH_TRAIN_EVALUATE_H

#include "base/parallel.h"
#include "data/examples.h"
#include "model/model.h"

/* Whether the recipe's examples fit the model: its vocabulary and its positions. */
ch_status evaluate_fits(const struct ch_model *model, const ch_recipe *recipe, ch_error *error);

/* Fills loss and token_accuracy: the same on any number of threads. */
ch_status evaluate_forcing(const struct ch_model *model, const struct attention_core *core,
                           const struct ch_examples *examples, struct team *team, ch_evaluation *result,
                           ch_error *error);

/* Bytes that it takes besides the examples, of which the longest has `longest` symbols and the mean `length`. */
uint64_t evaluate_memory(const struct ch_model *model, const struct attention_core *core, int longest, int length,
                         int workers);

#endif
