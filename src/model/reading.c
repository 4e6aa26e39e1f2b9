#include "model/reading.h"
#include "base/memory.h"

#include <string.h>

/* How many special tokens stand around a text. */
static size_t added(const struct ch_vocab *vocab, bool ends) {
    if (!vocab->tokens->of_text) return 0;
    return (size_t)(vocab->sos >= 0) + (size_t)(ends && vocab->eos >= 0);
}

ch_status reading_new(struct reading *reading, const struct ch_vocab *vocab, ch_sequence text, bool ends, size_t more,
                      ch_error *error) {
    size_t length = text.length + added(vocab, ends);
    *reading = (struct reading){.token = mem_new(length + more, sizeof *reading->token)};
    if (!reading->token) return fail_memory(error, "a text's tokens");
    reading->length = length;
    if (vocab->tokens->of_text && vocab->sos >= 0) reading->token[reading->begin++] = vocab->sos;
    if (text.length) memcpy(reading->token + reading->begin, text.tokens, text.length * sizeof *reading->token);
    if (reading->begin + text.length < length) reading->token[length - 1] = vocab->eos;
    return CH_OK;
}

void reading_free(struct reading *reading) {
    mem_free(reading->token);
    *reading = (struct reading){0};
}

ch_status reading_check(const struct ch_model *model, ch_sequence source, ch_error *error) {
    const struct ch_vocab *vocab = &model->vocab;
    bool classes = model->net.head->classes;
    size_t most = (size_t)config_longest(&model->config), around = classes ? 1 : added(vocab, true);
    if (source.length == 0) return fail(error, CH_FAILED, "the source is empty; expected at least one token");
    if (source.length + around > most)
        return fail(error, CH_FAILED, "the source has %zu tokens: expected at most %zu, the model's positions%s",
                    source.length, most - around, around ? " less those of the special tokens around it" : "");
    for (size_t i = 0; i < source.length; i++) {
        int token = source.tokens[i];
        bool mask = !classes && vocab->mask >= 0 && token == vocab->mask;
        if (!mask && (token < 0 || token >= vocab->symbols))
            return fail(error, CH_FAILED, "the source: token %zu is %d; expected 0 to %d%s", i + 1, token,
                        vocab->symbols - 1, classes ? "" : ", or <mask>");
    }
    return CH_OK;
}
