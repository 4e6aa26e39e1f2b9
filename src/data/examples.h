/*
 * Examples: pairs of a source and a target, drawn for a step. Example i of step s is a function of (seed, s, i)
 * when Philox draws, so examples need no order; PyTorch's generator draws them one after another. The target is <sos>,
 * the answer, <eos>; of a task that asks for a class its number, alone; of a text (data/corpus.h), which has no
 * source, what is to be read and predicted.
 */
#ifndef CH_DATA_EXAMPLES_H
#define CH_DATA_EXAMPLES_H

#include "base/philox.h"
#include "base/torch_rng.h"
#include "data/task.h"
#include "data/vocab.h"

/* Where examples come from. */
struct example_stream {
    const struct task *task;
    int symbols; /* of the vocabulary */
    int min_length, max_length;
    uint64_t seed;
    enum philox_use use;     /* training or evaluation */
    struct torch_rng *torch; /* NULL: Philox */
};

/* What the target of an example is. */
enum example_kind {
    EXAMPLE_SEQUENCE, /* tokens, each but the first to be predicted */
    EXAMPLE_LABELS    /* what is to be said of the source: a class, or a token for each of its own; -1: nothing */
};

struct ch_examples {
    enum example_kind kind;
    struct ch_vocab vocab;
    const struct task *task; /* of what was drawn last; NULL: a text, or nothing yet */
    int count, capacity;
    int longest, longest_target; /* the most tokens that a source and a target can have */
    int *source, *target;        /* (capacity, longest), (capacity, longest_target) */
    int *source_length, *target_length;
};

/* Tokens of a source (0: there are none) and of a target, or the most of them. */
struct example_limits {
    int source, target;
};

/* Room for `capacity` examples of a vocabulary. Of a task the target has the source's tokens and two more. */
ch_status examples_init_for(struct ch_examples *examples, int capacity, struct example_limits limits,
                            const struct vocab_plan *vocab, ch_error *error);
/* The same for a task on so many numbers. */
ch_status examples_init(struct ch_examples *examples, int capacity, int longest, int symbols, ch_error *error);
void examples_release(struct ch_examples *examples);
/* What examples_init takes for them, in bytes. */
uint64_t examples_bytes(uint64_t capacity, struct example_limits limits);

/* How many predictions example i asks for. */
int examples_labels(const struct ch_examples *examples, int i);

/* Draws examples first..first + count - 1 of a step; allocates nothing. */
void examples_draw(struct ch_examples *examples, const struct example_stream *stream, uint64_t step, uint32_t first,
                   int count);

#endif
