/* Family framing: how a text becomes sequences to learn from. */
#ifndef CH_DATA_FRAMING_H
#define CH_DATA_FRAMING_H

#include "base/family.h"
#include "data/vocab.h"

struct corpus;

/* A piece of a text whose bytes become tokens; all zero: in front of the first one. */
struct text_part {
    size_t begin, end, next; /* next: where to look for the one behind it */
    size_t line;             /* of the text, from 1 */
};

struct framing {
    ch_variant variant;
    unsigned specials; /* what a vocabulary must have: a set of enum vocab_special */
    bool is_line;      /* a part is one example and must fit the context */
    /* The next part; false if there is none. */
    bool (*next)(const char *text, size_t length, struct text_part *part);
    /* Sets what can be drawn for training and what is held out, the last share of the text. */
    ch_status (*split)(struct corpus *corpus, double share, const char *where, ch_error *error);
    /* Example i, held out or for training: its tokens, and how many. */
    int (*write)(const struct corpus *corpus, bool held_out, int i, int *target);
};

extern const struct framing framing_windows, framing_lines;
const ch_variant *framing_row(size_t i);

#endif
