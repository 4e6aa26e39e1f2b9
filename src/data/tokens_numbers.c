/* Symbols without a meaning: numbers from 0, written between blanks. A task may name the first of them by letters. */
#include "data/tokens.h"

#include <stdio.h>
#include <string.h>

static void fill(struct ch_vocab *vocab, const struct vocab_plan *plan) {
    int named = plan->names ? (int)strlen(plan->names) : 0;
    for (int token = 0; token < vocab->symbols; token++)
        if (token < named)
            snprintf(token_text(vocab, token), VOCAB_TEXT, "%c", plan->names[token]);
        else
            snprintf(token_text(vocab, token), VOCAB_TEXT, "%d", token);
}

/* The token that a word of `length` bytes names, or -1. */
static int find(const struct ch_vocab *vocab, const char *word, size_t length) {
    for (int token = 0; token < vocab->size; token++) {
        const char *text = token_text(vocab, token);
        if (strlen(text) == length && memcmp(text, word, length) == 0) return token;
    }
    return -1;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static ch_status refuse(const struct ch_vocab *vocab, int token, const char *word, size_t length, size_t number,
                        ch_error *error) {
    const char *first = token_text(vocab, 0);
    return fail(error, CH_FAILED, "word %zu, '%.*s', is %s; expected %s from %s to %s, separated by spaces", number,
                length < 40 ? (int)length : 40, word,
                token < 0 ? "not in the vocabulary" : "a special token, which neither a source nor a target holds",
                strcmp(first, "0") == 0 ? "numbers" : "symbols", first, token_text(vocab, vocab->symbols - 1));
}

static ch_status encode(const struct ch_vocab *vocab, const char *text, size_t length, struct token_list *list,
                        ch_error *error) {
    for (size_t at = 0, end;; at = end) {
        while (at < length && is_blank(text[at])) at++;
        if (at == length) return CH_OK;
        for (end = at; end < length && !is_blank(text[end]);) end++;
        int token = find(vocab, text + at, end - at);
        if (token < 0 || token >= vocab->symbols)
            return refuse(vocab, token, text + at, end - at, list->count + 1, error);
        ch_status status = token_add(list, token, error);
        if (status != CH_OK) return status;
    }
}

const struct tokens tokens_numbers = {
    .variant = {"numbers", "numbers from 0, the symbols of a task: 3 1 4 1 5"},
    .fill = fill,
    .encode = encode,
};
