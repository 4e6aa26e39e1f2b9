/* Lines: every line that is not empty is an example of its own, between <sos> and <eos>. A carriage return at the end
 * of a line belongs to the end. */
#include "data/corpus.h"

#include <string.h>

static bool next(const char *text, size_t length, struct text_part *part) {
    while (part->next < length) {
        part->begin = part->next;
        const char *end = memchr(text + part->begin, '\n', length - part->begin);
        part->end = end ? (size_t)(end - text) : length;
        part->next = end ? part->end + 1 : length;
        part->line++;
        if (part->end > part->begin && text[part->end - 1] == '\r') part->end--;
        if (part->end > part->begin) return true;
    }
    return false;
}

static ch_status split(struct corpus *c, double share, const char *where, ch_error *error) {
    c->split = (int)((1 - share) * c->parts);
    c->training = c->split;
    c->held_out = c->parts - c->split;
    if (c->training && (c->held_out || share == 0)) return CH_OK;
    return fail(error, CH_FAILED, "%s: the %s part has none of the text's %d line%s; expected at least one", where,
                c->training ? "validation" : "training", c->parts, c->parts == 1 ? "" : "s");
}

static int write(const struct corpus *c, bool held_out, int i, int *target) {
    int line = held_out ? c->split + i : i, length = c->begin[line + 1] - c->begin[line];
    target[0] = c->sos;
    memcpy(target + 1, c->token + c->begin[line], (size_t)length * sizeof *target);
    target[length + 1] = c->eos;
    return length + 2;
}

const struct framing framing_lines = {
    .variant = {"lines", "every line is an example, between <sos> and <eos>"},
    .specials = VOCAB_SOS | VOCAB_EOS,
    .is_line = true,
    .next = next,
    .split = split,
    .write = write,
};
