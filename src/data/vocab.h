/* Vocabulary of a task on symbols: `symbols` numbers from 0, then PAD, SOS, EOS (the lesson: digits, 10, 11, 12). */
#ifndef CH_DATA_VOCAB_H
#define CH_DATA_VOCAB_H

#include "base/error.h"

struct ch_vocab {
    int symbols;
    char *text; /* (size, VOCAB_TEXT) the words of all tokens */
};

enum { VOCAB_SPECIALS = 3, VOCAB_TEXT = 12 };

ch_status vocab_new(struct ch_vocab *vocab, int symbols, ch_error *error);
void vocab_free(struct ch_vocab *vocab);

/* Checks that each token of a source is a symbol; `what` starts the sentence. */
ch_status vocab_check_source(const struct ch_vocab *vocab, ch_sequence source, const char *what, ch_error *error);

#endif
