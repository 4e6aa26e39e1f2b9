/*
 * Windows: T + 1 tokens from anywhere in the text, as nanoGPT cuts them. What is held out is cut side by side, so that
 * each of its tokens but the first is predicted once; the last window may be shorter.
 */
#include "data/corpus.h"

#include <string.h>

static bool next(const char *text, size_t length, struct text_part *part) {
    (void)text;
    if (part->next == length) return false;
    *part = (struct text_part){.end = length, .next = length, .line = 1};
    return true;
}

static ch_status split(struct corpus *c, double share, const char *where, ch_error *error) {
    c->split = (int)((1 - share) * c->count);
    int behind = c->count - c->split;
    bool short_training = c->split <= c->context;
    if (short_training || (share > 0 && behind <= c->context))
        return fail(error, CH_FAILED,
                    "%s: the %s part has %d of the text's %d tokens; expected at least %d, the context and one more",
                    where, short_training ? "training" : "validation", short_training ? c->split : behind, c->count,
                    c->context + 1);
    c->training = c->split - c->context;
    c->held_out = share > 0 ? (behind - 2) / c->context + 1 : 0;
    return CH_OK;
}

static int write(const struct corpus *c, bool held_out, int i, int *target) {
    int from = held_out ? c->split + i * c->context : i, left = c->count - from;
    int length = left <= c->context ? left : c->context + 1;
    memcpy(target, c->token + from, (size_t)length * sizeof *target);
    return length;
}

const struct framing framing_windows = {
    .variant = {"windows", "the text runs on; windows of the context's length from anywhere in it"},
    .next = next,
    .split = split,
    .write = write,
};
