#include "data/vocab.h"
#include "base/memory.h"
#include "data/tokens.h"

#include <string.h>

struct vocab_plan vocab_lesson(int symbols) {
    return (struct vocab_plan){.tokens = &tokens_numbers, .symbols = symbols, .specials = VOCAB_LESSON};
}

const char *vocab_special_text(int i) {
    static const char *const text[VOCAB_SPECIAL_KINDS] = {"<pad>", "<sos>", "<eos>", "<mask>"};
    return text[i];
}

/* The tokens of the special kinds, which follow the symbols. */
static int *special(struct ch_vocab *vocab, int i) {
    int *const kind[VOCAB_SPECIAL_KINDS] = {&vocab->pad, &vocab->sos, &vocab->eos, &vocab->mask};
    return kind[i];
}

void vocab_place(struct ch_vocab *vocab, const struct vocab_plan *plan) {
    int symbols = plan->tokens->symbols ? plan->tokens->symbols : plan->symbols;
    ch_assert(symbols >= 1 && plan->specials >> VOCAB_SPECIAL_KINDS == 0);
    *vocab = (struct ch_vocab){.tokens = plan->tokens, .symbols = symbols, .size = symbols};
    for (int i = 0; i < VOCAB_SPECIAL_KINDS; i++) *special(vocab, i) = plan->specials >> i & 1 ? vocab->size++ : -1;
}

int vocab_plan_size(const struct vocab_plan *plan) {
    struct ch_vocab vocab;
    vocab_place(&vocab, plan);
    return vocab.size;
}

ch_status vocab_new(struct ch_vocab *vocab, const struct vocab_plan *plan, ch_error *error) {
    vocab_place(vocab, plan);
    vocab->text = mem_new((size_t)vocab->size, VOCAB_TEXT);
    if (plan->tokens->of_text) vocab->bytes = mem_new((size_t)vocab->symbols, VOCAB_BYTES);
    if (!vocab->text || (plan->tokens->of_text && !vocab->bytes)) {
        vocab_free(vocab);
        return fail_memory(error, "the vocabulary");
    }
    plan->tokens->fill(vocab, plan);
    for (int i = 0; i < VOCAB_SPECIAL_KINDS; i++)
        if (*special(vocab, i) >= 0) strcpy(token_text(vocab, *special(vocab, i)), vocab_special_text(i));
    return CH_OK;
}

void vocab_free(struct ch_vocab *vocab) {
    mem_free(vocab->text);
    mem_free(vocab->bytes);
    *vocab = (struct ch_vocab){0};
}

int ch_vocab_size(const ch_vocab *vocab) {
    return vocab->size;
}

bool ch_vocab_is_text(const ch_vocab *vocab) {
    return vocab->tokens->of_text;
}

int ch_vocab_pad(const ch_vocab *vocab) {
    return vocab->pad;
}

int ch_vocab_sos(const ch_vocab *vocab) {
    return vocab->sos;
}

int ch_vocab_eos(const ch_vocab *vocab) {
    return vocab->eos;
}

int ch_vocab_mask(const ch_vocab *vocab) {
    return vocab->mask;
}

const char *ch_vocab_text(const ch_vocab *vocab, int token) {
    ch_assert(token >= 0 && token < vocab->size);
    return token_text(vocab, token);
}

const char *ch_vocab_bytes(const ch_vocab *vocab, int token, size_t *length) {
    const char *text = ch_vocab_text(vocab, token);
    *length = 0;
    if (token >= vocab->symbols) return text;
    if (!vocab->bytes) {
        *length = strlen(text);
        return text;
    }
    const char *bytes = vocab->bytes + token * VOCAB_BYTES;
    *length = strnlen(bytes, VOCAB_BYTES);
    if (*length == 0) *length = 1; /* the byte 0 */
    return bytes;
}

ch_status vocab_check_source(const struct ch_vocab *vocab, ch_sequence source, const char *what, ch_error *error) {
    for (size_t i = 0; i < source.length; i++)
        if (source.tokens[i] < 0 || source.tokens[i] >= vocab->symbols)
            return fail(error, CH_FAILED, "%s: token %zu is %d; expected 0 to %d", what, i + 1, source.tokens[i],
                        vocab->symbols - 1);
    return CH_OK;
}

ch_status ch_vocab_encode(const ch_vocab *vocab, const char *text, size_t length, int *tokens, size_t capacity,
                          size_t *count, ch_error *error) {
    struct token_list list = {.token = tokens, .capacity = capacity};
    ch_status status = vocab->tokens->encode(vocab, text, length, &list, error);
    *count = list.count;
    return status;
}

ch_status ch_vocab_encode_masked(const ch_vocab *vocab, const char *text, size_t length, int *tokens, size_t capacity,
                                 size_t *count, ch_error *error) {
    const char *mark = vocab->mask >= 0 ? token_text(vocab, vocab->mask) : NULL;
    struct token_list list = {.token = tokens, .capacity = capacity};
    ch_status status = CH_OK;
    for (size_t at = 0, end; at < length && status == CH_OK; at = end) {
        const char *found = mark ? memmem(text + at, length - at, mark, strlen(mark)) : NULL;
        end = found ? (size_t)(found - text) : length;
        if (end > at) status = vocab->tokens->encode(vocab, text + at, end - at, &list, error);
        if (found && status == CH_OK) status = token_add(&list, vocab->mask, error);
        if (found) end += strlen(mark);
    }
    *count = list.count;
    return status;
}

ch_status ch_vocab_parse(const ch_vocab *vocab, const char *text, int *tokens, size_t capacity, size_t *count,
                         ch_error *error) {
    return ch_vocab_encode(vocab, text, strlen(text), tokens, capacity, count, error);
}
