/* Every byte is a token: any text, in any language, 256 symbols. */
#include "data/tokens.h"

static void fill(struct ch_vocab *vocab, const struct vocab_plan *plan) {
    (void)plan;
    for (int token = 0; token < vocab->symbols; token++) {
        vocab->bytes[token * VOCAB_BYTES] = (char)token;
        token_show((uint32_t)token, true, token_text(vocab, token));
    }
}

static ch_status encode(const struct ch_vocab *vocab, const char *text, size_t length, struct token_list *list,
                        ch_error *error) {
    (void)vocab;
    ch_status status = CH_OK;
    for (size_t i = 0; i < length && status == CH_OK; i++) status = token_add(list, (unsigned char)text[i], error);
    return status;
}

const struct tokens tokens_bytes = {
    .variant = {"bytes", "the 256 bytes: any text"},
    .symbols = 256,
    .of_text = true,
    .fill = fill,
    .encode = encode,
};
