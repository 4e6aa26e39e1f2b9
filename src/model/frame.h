/*
 * Frame: how examples, each a source and a target, become the rows of an assembly's batches and the labels of its
 * logits. With N the tokens of a target, its <sos> and <eos> included where it has them:
 *   encoder-decoder          source rows: the source; target rows: the target but its last token, labels: but its first
 *   decoder-only             target rows: the source and then the same; the source's own rows have no labels
 *   encoder-only, classes    source rows: <sos> and the source; one label, the target's only number
 *   encoder-only, hidden     source rows: the source; labels: the target, -1 where nothing is asked
 */
#ifndef CH_MODEL_FRAME_H
#define CH_MODEL_FRAME_H

#include "model/assembly.h"

/* Sizes of batches as a measuring pass sees them. */
struct batch_limits {
    int sequences, source, target; /* the most sequences, and their longest rows; 0: none of that kind */
};

struct frame {
    const struct config *config;
    int sos;
    struct batch_buffer source, target;
    int *label; /* of each row of logits; -1: it is not counted */
    int labels, counted;
};

/* For sources and targets of so many tokens. */
struct batch_limits frame_limits(const struct config *config, int sequences, int source, int target);

bool frame_new(struct frame *frame, const struct config *config, const struct batch_limits *limits);
void frame_free(struct frame *frame);
void frame_clear(struct frame *frame);
void frame_add(struct frame *frame, ch_sequence source, ch_sequence target, uint32_t example);

struct assembly_input frame_input(const struct frame *frame);
/* The batch whose rows have logits. */
const struct batch *frame_last(const struct frame *frame);

#endif
