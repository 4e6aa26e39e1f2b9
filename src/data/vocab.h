/* Vocabulary: `symbols` tokens of one kind from 0 (family tokens, tokens.h), and behind them the special tokens that it
 * has. The lesson's: digits, then <pad> 10, <sos> 11, <eos> 12. */
#ifndef CH_DATA_VOCAB_H
#define CH_DATA_VOCAB_H

#include "base/error.h"

struct tokens;

/* A set of special tokens; in the vocabulary they come in this order, those that are there. */
enum vocab_special { VOCAB_PAD = 1, VOCAB_SOS = 2, VOCAB_EOS = 4, VOCAB_MASK = 8 };
enum {
    VOCAB_LESSON = VOCAB_PAD | VOCAB_SOS | VOCAB_EOS,
    VOCAB_SPECIALS = 3, /* how many the lesson's are */
    VOCAB_SPECIAL_KINDS = 4,
    VOCAB_TEXT = 12, /* bytes of a token's text, its end included */
    VOCAB_BYTES = 4  /* the most that a symbol of text stands for */
};

/* What a vocabulary is made from. */
struct vocab_plan {
    const struct tokens *tokens;
    int symbols;            /* how many; bytes are always 256 */
    unsigned specials;      /* a set of enum vocab_special */
    const char *characters; /* of tokens_characters: all of them in order, as UTF-8 */
    const char *names;      /* of tokens_numbers: a letter each that the first ones go by; NULL: none */
};

struct ch_vocab {
    const struct tokens *tokens;
    int symbols, size;
    int pad, sos, eos, mask; /* -1: there is none */
    char *text;              /* (size, VOCAB_TEXT) what a person reads */
    char *bytes;             /* (symbols, VOCAB_BYTES) what symbols of text stand for, zeros behind; else NULL */
};

/* The vocabulary of a task on sequences: so many numbers, and <pad>, <sos>, <eos>. */
struct vocab_plan vocab_lesson(int symbols);
/* How many tokens there will be. */
int vocab_plan_size(const struct vocab_plan *plan);
/* The text of special token i of VOCAB_SPECIAL_KINDS, whose bit is 1 << i. */
const char *vocab_special_text(int i);

/* Sizes and special tokens, without memory; the words of all tokens, too. */
void vocab_place(struct ch_vocab *vocab, const struct vocab_plan *plan);
ch_status vocab_new(struct ch_vocab *vocab, const struct vocab_plan *plan, ch_error *error);
void vocab_free(struct ch_vocab *vocab);

/* Checks that each token of a source is a symbol; `what` starts the sentence. */
ch_status vocab_check_source(const struct ch_vocab *vocab, ch_sequence source, const char *what, ch_error *error);

#endif
