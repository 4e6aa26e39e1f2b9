#include "data/tokens.h"
#include "base/utf8.h"

#include <stdio.h>

/* Those of texts come first. */
static const struct tokens *const table[] = {&tokens_bytes, &tokens_characters, &tokens_numbers, NULL};

const ch_variant *tokens_row(size_t i) {
    return table[i] ? &table[i]->variant : NULL;
}

const ch_variant *text_tokens_row(size_t i) {
    return table[i] && table[i]->of_text ? &table[i]->variant : NULL;
}

ch_status token_add(struct token_list *list, int token, ch_error *error) {
    if (list->token) {
        if (list->count == list->capacity)
            return fail(error, CH_FAILED, "more than %zu tokens, the most that fit", list->capacity);
        list->token[list->count] = token;
    }
    list->count++;
    return CH_OK;
}

char *token_text(const struct ch_vocab *vocab, int token) {
    return vocab->text + (size_t)token * VOCAB_TEXT;
}

void token_show(uint32_t point, bool is_byte, char out[VOCAB_TEXT]) {
    if (point == '\n' || point == '\t' || point == '\r')
        snprintf(out, VOCAB_TEXT, "\\%c", point == '\n' ? 'n' : point == '\t' ? 't' : 'r');
    else if (point == ' ')
        snprintf(out, VOCAB_TEXT, "' '");
    else if (point < ' ' || point == 0x7F || (is_byte && point > 0x7F))
        snprintf(out, VOCAB_TEXT, "\\x%02x", (unsigned)point);
    else if (point >= 0x80 && point < 0xA0)
        snprintf(out, VOCAB_TEXT, "\\u%04x", (unsigned)point);
    else
        out[utf8_encode(point, out)] = '\0';
}
