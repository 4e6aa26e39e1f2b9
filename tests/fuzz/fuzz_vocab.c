/* Any text as tokens: ch_vocab_parse gives at most so many symbols as were asked for, and written out they are the same
 * again; or it refuses with a sentence, after the tokens before the word that it refuses. */
#include "base/memory.h"
#include "data/vocab.h"
#include "fuzz.h"

#include <string.h>

enum { SYMBOLS = 12, MOST = 40 };

static void check_tokens(const struct ch_vocab *vocab, const int *token, size_t count) {
    char text[MOST * VOCAB_TEXT] = "";
    int again[MOST];
    size_t found;
    for (size_t i = 0; i < count; i++) {
        ch_assert(token[i] >= 0 && token[i] < SYMBOLS);
        strcat(text, ch_vocab_text(vocab, token[i]));
        strcat(text, i % 2 ? "\t" : " ");
    }
    ch_status status = ch_vocab_parse(vocab, text, again, count, &found, NULL);
    ch_assert(status == CH_OK && found == count && memcmp(token, again, count * sizeof *token) == 0);
    ch_sequence source = {again, count};
    ch_assert(vocab_check_source(vocab, source, "x", NULL) == CH_OK);
    if (!count) return;
    again[count - 1] = count % 2 ? -1 : SYMBOLS + (int)(count % 3);
    ch_error error;
    status = vocab_check_source(vocab, source, "the source", &error);
    check_sentence(status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct ch_vocab vocab;
    struct vocab_plan plan = vocab_lesson(SYMBOLS);
    ch_status status = vocab_new(&vocab, &plan, NULL);
    char *text = mem_new(length + 1, 1);
    ch_assert(status == CH_OK && text && ch_vocab_size(&vocab) == SYMBOLS + VOCAB_SPECIALS);
    if (length) memcpy(text, bytes, length);
    int token[MOST + 1];
    size_t count, capacity = length % (MOST + 1);
    token[capacity] = -7;
    ch_error error = {0};
    status = ch_vocab_parse(&vocab, text, token, capacity, &count, &error);
    ch_assert(count <= capacity && token[capacity] == -7);
    if (status != CH_OK) check_sentence(status, &error);
    check_tokens(&vocab, token, count);
    mem_free(text);
    vocab_free(&vocab);
    return 0;
}
