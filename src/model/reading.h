/*
 * Reading: a text as a model's rows hold it, between <sos> and <eos> where its vocabulary has them, as training on
 * lines frames it. Tokens that are numbers stand as they are: frames (frame.h) add what a task's examples have.
 */
#ifndef CH_MODEL_READING_H
#define CH_MODEL_READING_H

#include "model/model.h"

struct reading {
    int *token; /* (length), and room for so many more as were asked for */
    size_t length;
    size_t begin; /* where the text begins */
};

/* ends: nothing comes behind it. */
ch_status reading_new(struct reading *reading, const struct ch_vocab *vocab, ch_sequence text, bool ends, size_t more,
                      ch_error *error);
void reading_free(struct reading *reading);

/* Whether a model without a decoder can read the source: not empty, no longer than its positions, of symbols and, where
 * hidden tokens are asked for, of <mask>. */
ch_status reading_check(const struct ch_model *model, ch_sequence source, ch_error *error);

#endif
