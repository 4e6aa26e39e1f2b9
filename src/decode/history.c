#include "decode/history.h"
#include "base/memory.h"

#include <string.h>

ch_status history_new(struct history *history, int window, int vocab, ch_error *error) {
    *history = (struct history){.window = window};
    if (window > 0) return CH_OK;
    history->seen = mem_new((size_t)vocab, sizeof *history->seen);
    history->token = mem_new((size_t)vocab, sizeof *history->token);
    history->capacity = (size_t)vocab;
    if (history->seen && history->token) return CH_OK;
    history_free(history);
    return fail_memory(error, "the tokens so far");
}

void history_free(struct history *history) {
    mem_free(history->token);
    mem_free(history->seen);
    *history = (struct history){0};
}

void history_clear(struct history *history) {
    for (size_t i = 0; i < history->length && history->seen; i++) history->seen[history->token[i]] = false;
    history->length = 0;
}

/* Twice the window is enough room: what it left behind goes when that is full, so a token is moved once. */
static void forget(struct history *history) {
    size_t window = (size_t)history->window;
    if (history->seen || history->length < 2 * window) return;
    memmove(history->token, history->token + history->length - window, window * sizeof *history->token);
    history->length = window;
}

ch_status history_add(struct history *history, int token, ch_error *error) {
    if (history->seen && history->seen[token]) return CH_OK;
    forget(history);
    void *grown = history->token;
    if (!mem_grow(&grown, &history->capacity, history->length + 1, sizeof *history->token))
        return fail_memory(error, "the tokens so far");
    history->token = grown;
    history->token[history->length++] = token;
    if (history->seen) history->seen[token] = true;
    return CH_OK;
}
