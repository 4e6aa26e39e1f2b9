/*
 * Padding that a model generates: the lesson's target mask hides every <pad> from the decoder's self-attention, those
 * of its own making too. In packed batches there are no others, so this is all that is left of that mask: cut edges.
 */
#ifndef CH_MODEL_PAD_CUTS_H
#define CH_MODEL_PAD_CUTS_H

#include "model/model.h"

struct pad_cuts {
    struct knockout *edge; /* (most) one for each <pad> */
    struct cut *cut;       /* (L) the same edges for every decoder layer */
    int count, most, layers;
};

/* Room for `most` tokens. */
bool pad_cuts_new(struct pad_cuts *cuts, const struct ch_model *model, int most);
void pad_cuts_free(struct pad_cuts *cuts);
void pad_cuts_clear(struct pad_cuts *cuts);
/* Adds those among the tokens that sequence `sequence` of the coming batch has so far. */
void pad_cuts_add(struct pad_cuts *cuts, const struct ch_model *model, int sequence, const int *token, int length);
/* Makes the pass use them. */
void pad_cuts_apply(const struct pad_cuts *cuts, struct pass *pass);

#endif
