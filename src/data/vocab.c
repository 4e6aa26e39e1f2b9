#include "data/vocab.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static char *slot(const struct ch_vocab *vocab, int token) {
    return vocab->text + (size_t)token * VOCAB_TEXT;
}

ch_status vocab_new(struct ch_vocab *vocab, int symbols, ch_error *error) {
    *vocab = (struct ch_vocab){.symbols = symbols};
    vocab->text = mem_new((size_t)symbols + VOCAB_SPECIALS, VOCAB_TEXT);
    if (!vocab->text) return fail_memory(error, "the vocabulary");
    for (int token = 0; token < symbols; token++) snprintf(slot(vocab, token), VOCAB_TEXT, "%d", token);
    strcpy(slot(vocab, ch_vocab_pad(vocab)), "<pad>");
    strcpy(slot(vocab, ch_vocab_sos(vocab)), "<sos>");
    strcpy(slot(vocab, ch_vocab_eos(vocab)), "<eos>");
    return CH_OK;
}

void vocab_free(struct ch_vocab *vocab) {
    mem_free(vocab->text);
    *vocab = (struct ch_vocab){0};
}

int ch_vocab_size(const ch_vocab *vocab) {
    return vocab->symbols + VOCAB_SPECIALS;
}

int ch_vocab_pad(const ch_vocab *vocab) {
    return vocab->symbols;
}

int ch_vocab_sos(const ch_vocab *vocab) {
    return vocab->symbols + 1;
}

int ch_vocab_eos(const ch_vocab *vocab) {
    return vocab->symbols + 2;
}

const char *ch_vocab_text(const ch_vocab *vocab, int token) {
    ch_assert(token >= 0 && token < ch_vocab_size(vocab));
    return slot(vocab, token);
}

ch_status vocab_check_source(const struct ch_vocab *vocab, ch_sequence source, const char *what, ch_error *error) {
    for (size_t i = 0; i < source.length; i++)
        if (source.tokens[i] < 0 || source.tokens[i] >= vocab->symbols)
            return fail(error, CH_FAILED, "%s: token %zu is %d; expected 0 to %d", what, i + 1, source.tokens[i],
                        vocab->symbols - 1);
    return CH_OK;
}

/* The token that a word of `length` bytes names, or -1. */
static int find(const struct ch_vocab *vocab, const char *word, size_t length) {
    for (int token = 0; token < ch_vocab_size(vocab); token++)
        if (strlen(slot(vocab, token)) == length && memcmp(slot(vocab, token), word, length) == 0) return token;
    return -1;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

ch_status ch_vocab_parse(const ch_vocab *vocab, const char *text, int *tokens, size_t capacity, size_t *count,
                         ch_error *error) {
    *count = 0;
    for (const char *word = text;;) {
        while (is_blank(*word)) word++;
        if (!*word) return CH_OK;
        size_t length = 0;
        while (word[length] && !is_blank(word[length])) length++;
        int token = find(vocab, word, length), shown = length < 40 ? (int)length : 40;
        if (token < 0 || token >= vocab->symbols)
            return fail(error, CH_FAILED, "word %zu, '%.*s', is %s; expected numbers from 0 to %d, separated by spaces",
                        *count + 1, shown, word,
                        token < 0 ? "not in the vocabulary"
                                  : "a special token, which neither a source nor a target holds",
                        vocab->symbols - 1);
        if (*count == capacity) return fail(error, CH_FAILED, "more than %zu tokens, the most that fit", capacity);
        tokens[(*count)++] = token;
        word += length;
    }
}
