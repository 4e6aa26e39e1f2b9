/* The distinct characters of a text, in the order of their code points. */
#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokens.h"

#include <string.h>

/* ---- the characters of a text ---- */

enum { WORD = 32 };

ch_status characters_new(struct characters *characters, ch_error *error) {
    characters->seen = mem_new(UTF8_POINTS / WORD, sizeof *characters->seen);
    return characters->seen ? CH_OK : fail_memory(error, "the characters of a text");
}

void characters_free(struct characters *characters) {
    mem_free(characters->seen);
    characters->seen = NULL;
}

ch_status characters_add(struct characters *characters, const char *text, size_t length, size_t first,
                         const char *where, ch_error *error) {
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t point;
        bytes = utf8_decode(text + at, length - at, &point);
        if (!bytes || !point)
            return fail(error, CH_FAILED,
                        "%s: the byte at offset %zu is 0x%02x: expected %s; tokens that are bytes take any file", where,
                        first + at, (unsigned)(unsigned char)text[at],
                        bytes ? "text, which has no zeros" : "UTF-8, where no character begins like this");
        characters->seen[point / WORD] |= UINT32_C(1) << point % WORD;
    }
    return CH_OK;
}

static bool has(const struct characters *characters, uint32_t point) {
    return characters->seen[point / WORD] >> point % WORD & 1;
}

ch_status characters_list(const struct characters *characters, char **list, int *count, ch_error *error) {
    size_t bytes = 0;
    char one[UTF8_BYTES];
    *count = 0;
    for (uint32_t point = 0; point < UTF8_POINTS; point++)
        if (has(characters, point)) {
            bytes += utf8_encode(point, one);
            ++*count;
        }
    char *to = *list = mem_new(bytes + 1, 1);
    if (!to) return fail_memory(error, "the characters of a text");
    for (uint32_t point = 0; point < UTF8_POINTS; point++)
        if (has(characters, point)) to += utf8_encode(point, to);
    return CH_OK;
}

ch_status characters_check(const char *list, int *count, ch_error *error) {
    uint32_t point = 0, before = 0;
    *count = 0;
    for (size_t left = strlen(list), bytes; left > 0; list += bytes, left -= bytes, before = point, ++*count) {
        bytes = utf8_decode(list, left, &point);
        if (!bytes) return fail(error, CH_FAILED, "character %d is not UTF-8", *count + 1);
        if (point <= before)
            return fail(error, CH_FAILED,
                        "character %d is U+%04X, behind U+%04X: expected them in the order of their code points, each "
                        "once",
                        *count + 1, (unsigned)point, (unsigned)before);
    }
    return *count ? CH_OK : fail(error, CH_FAILED, "expected at least one character, found none");
}

/* ---- as tokens ---- */

static void fill(struct ch_vocab *vocab, const struct vocab_plan *plan) {
    const char *at = plan->characters;
    for (int token = 0; token < vocab->symbols; token++) {
        uint32_t point;
        size_t bytes = utf8_decode(at, strnlen(at, UTF8_BYTES), &point);
        ch_assert(bytes);
        memcpy(vocab->bytes + token * VOCAB_BYTES, at, bytes);
        token_show(point, false, token_text(vocab, token));
        at += bytes;
    }
    ch_assert(!*at);
}

/* By halves: UTF-8 sorts as code points do. -1: not there. */
static int find(const struct ch_vocab *vocab, const char *character, size_t bytes) {
    char key[VOCAB_BYTES] = {0};
    memcpy(key, character, bytes);
    for (int low = 0, high = vocab->symbols; low < high;) {
        int middle = low + (high - low) / 2, order = memcmp(key, vocab->bytes + middle * VOCAB_BYTES, VOCAB_BYTES);
        if (order == 0) return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static ch_status refuse(const struct ch_vocab *vocab, uint32_t point, size_t number, ch_error *error) {
    char shown[VOCAB_TEXT];
    token_show(point, false, shown);
    return fail(error, CH_FAILED, "character %zu, '%s' (U+%04X), is not among the %d character%s of the vocabulary",
                number, shown, (unsigned)point, vocab->symbols, vocab->symbols == 1 ? "" : "s");
}

static ch_status encode(const struct ch_vocab *vocab, const char *text, size_t length, struct token_list *list,
                        ch_error *error) {
    ch_status status = CH_OK;
    for (size_t at = 0, bytes; at < length && status == CH_OK; at += bytes) {
        uint32_t point;
        bytes = utf8_decode(text + at, length - at, &point);
        if (!bytes)
            return fail(error, CH_FAILED,
                        "the byte at offset %zu is 0x%02x: expected UTF-8, where no character begins like this", at,
                        (unsigned)(unsigned char)text[at]);
        int token = find(vocab, text + at, bytes);
        if (token < 0) return refuse(vocab, point, list->count + 1, error);
        status = token_add(list, token, error);
    }
    return status;
}

const struct tokens tokens_characters = {
    .variant = {"characters", "the characters that a text has"},
    .of_text = true,
    .fill = fill,
    .encode = encode,
};
