/*
 * Corpus: a text as tokens, its first share for training and the rest held out. An example is what is to be read and
 * predicted: the model's input is all but its last token, its labels are all but the first. It has no source.
 */
#ifndef CH_DATA_CORPUS_H
#define CH_DATA_CORPUS_H

#include "data/examples.h"
#include "data/framing.h"
#include "data/tokens.h"

struct corpus_plan {
    const struct framing *framing;
    int context;     /* T: the most tokens that a model reads at once */
    double held_out; /* share of the text, 0 to below 1 */
};

struct corpus {
    const struct framing *framing;
    int context;
    int sos, eos;
    int count, parts;
    int *token;             /* (count) of all parts, one behind the other */
    int *begin;             /* (parts + 1) where each begins */
    int training, held_out; /* how many examples can be drawn, and how many are held out */
    int split;              /* where the part that is held out begins: a token, or a line */
};

/* The vocabulary of a text: of the kind, with the framing's special tokens and, if it is one of characters, the text's.
 * *characters belongs to the caller, mem_free; the plan borrows it. `where`, the file, starts the sentences. */
ch_status corpus_vocab(struct vocab_plan *plan, char **characters, const struct tokens *tokens,
                       const struct framing *framing, const char *text, size_t length, const char *where,
                       ch_error *error);

/* The text is needed only here. */
ch_status corpus_new(struct corpus *corpus, const struct corpus_plan *plan, const struct ch_vocab *vocab,
                     const char *text, size_t length, const char *where, ch_error *error);
void corpus_free(struct corpus *corpus);

/* What examples of it need: no source, and a target of context + 1 tokens. */
struct example_limits corpus_limits(const struct corpus *corpus);

/* Draws examples first..first + count - 1 of a step from the training part: each a function of (seed, step, number), or
 * as torch.randint(training, (count,)) draws them. Of the stream its seed, use and generator count. */
void corpus_draw(const struct corpus *corpus, struct ch_examples *examples, const struct example_stream *stream,
                 uint64_t step, uint32_t first, int count);
/* Examples first..first + count - 1 of corpus->held_out. All of them together hold every token that can be predicted
 * once. */
void corpus_hold_out(const struct corpus *corpus, struct ch_examples *examples, int first, int count);

#endif
