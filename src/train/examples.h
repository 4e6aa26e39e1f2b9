/* The examples that training would draw first. */
#ifndef CH_TRAIN_EXAMPLES_H
#define CH_TRAIN_EXAMPLES_H

#include "data/examples.h"
#include "recipe/recipe.h"

/* ch_examples_new, of a text in the tokens of a vocabulary; NULL: of its own. Free with ch_examples_free. */
ch_status examples_new(const ch_recipe *recipe, const struct vocab_plan *vocab, size_t count, ch_examples **examples,
                       ch_error *error);

#endif
