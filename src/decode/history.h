/*
 * History: what a sampler needs to know of the tokens so far to make repetitions less likely. Of a text without end it
 * keeps as many as the window has, or, where the window is all of them, each token once.
 */
#ifndef CH_DECODE_HISTORY_H
#define CH_DECODE_HISTORY_H

#include "base/error.h"

struct history {
    int window; /* how many tokens back; 0: all */
    int *token; /* the last ones, at least as many as the window; or all that came, each once */
    size_t length, capacity;
    bool *seen; /* (V) which came; NULL with a window */
};

ch_status history_new(struct history *history, int window, int vocab, ch_error *error);
void history_free(struct history *history);
void history_clear(struct history *history);
ch_status history_add(struct history *history, int token, ch_error *error);

#endif
