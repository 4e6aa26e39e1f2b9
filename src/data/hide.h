/*
 * Hidden tokens (Devlin et al. 2019): of each example's tokens a share is to be told from the others. Most of them are
 * shown as <mask>, some as any symbol and some as they are, so that a model cannot rely on seeing which are asked for.
 */
#ifndef CH_DATA_HIDE_H
#define CH_DATA_HIDE_H

#include "data/examples.h"

/* Makes of examples that have only a target, whose tokens they are, such with a source, the tokens as they are shown,
 * and the target (source's length): the token where one is hidden, -1 elsewhere. At least one of each is hidden. What
 * is hidden is a function of the key and the example's place. */
void examples_hide(struct ch_examples *examples, struct philox_key key);

#endif
