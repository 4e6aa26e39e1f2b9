/* Any file as a text to learn from: it is refused with a sentence, or its examples hold tokens of its vocabulary, and
 * the tokens of windows, written out, are the file again. */
#include "base/memory.h"
#include "data/corpus.h"
#include "fuzz.h"

#include <string.h>

static void check_bytes(const struct corpus *corpus, const struct ch_vocab *vocab, const char *text, size_t length) {
    size_t at = 0, bytes;
    for (int i = 0; i < corpus->count; i++) {
        const char *piece = ch_vocab_bytes(vocab, corpus->token[i], &bytes);
        ch_assert(bytes > 0 && bytes <= length - at && memcmp(text + at, piece, bytes) == 0);
        at += bytes;
    }
    ch_assert(at == length);
}

static void check_tokens(const struct ch_examples *examples, const struct corpus *corpus,
                         const struct vocab_plan *plan) {
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        ch_sequence target = ch_examples_target(examples, i);
        ch_assert(target.length >= 2 && target.length <= (size_t)corpus->context + 1);
        for (size_t t = 0; t < target.length; t++)
            ch_assert(target.tokens[t] >= 0 && target.tokens[t] < vocab_plan_size(plan));
    }
}

static void check_examples(const struct corpus *corpus, const struct vocab_plan *plan) {
    enum { COUNT = 8 };
    static const struct example_stream stream = {.seed = 1, .use = PHILOX_DATA};
    struct ch_examples examples;
    ch_status status = examples_init_for(&examples, COUNT, corpus_limits(corpus), plan, NULL);
    ch_assert(status == CH_OK);
    corpus_draw(corpus, &examples, &stream, 1, 0, COUNT);
    check_tokens(&examples, corpus, plan);
    for (int first = 0; first < corpus->held_out; first += COUNT) {
        int left = corpus->held_out - first;
        corpus_hold_out(corpus, &examples, first, left < COUNT ? left : COUNT);
        check_tokens(&examples, corpus, plan);
    }
    examples_release(&examples);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    if (length == 0) return 0;
    const struct tokens *tokens = bytes[0] & 1 ? &tokens_characters : &tokens_bytes;
    struct corpus_plan how = {bytes[0] & 2 ? &framing_lines : &framing_windows, 1 + (bytes[0] >> 2 & 15),
                              bytes[0] & 64 ? 0 : 0.3};
    const char *text = (const char *)bytes + 1;
    struct vocab_plan plan;
    struct ch_vocab vocab = {0};
    struct corpus corpus = {0};
    char *characters;
    ch_error error = {0};
    ch_status status = corpus_vocab(&plan, &characters, tokens, how.framing, text, length - 1, "a file", &error);
    if (status == CH_OK) status = vocab_new(&vocab, &plan, &error);
    if (status == CH_OK) status = corpus_new(&corpus, &how, &vocab, text, length - 1, "a file", &error);
    if (status != CH_OK)
        check_sentence(status, &error);
    else {
        if (how.framing == &framing_windows) check_bytes(&corpus, &vocab, text, length - 1);
        check_examples(&corpus, &plan);
    }
    corpus_free(&corpus);
    vocab_free(&vocab);
    mem_free(characters);
    return 0;
}
