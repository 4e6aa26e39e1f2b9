/* Family tokens: what the symbols of a vocabulary are, and how a text is cut into them. */
#ifndef CH_DATA_TOKENS_H
#define CH_DATA_TOKENS_H

#include "base/family.h"
#include "data/vocab.h"

/* Where the tokens of a text go. */
struct token_list {
    int *token; /* (capacity); NULL: they are only counted */
    size_t capacity, count;
};

struct tokens {
    ch_variant variant;
    int symbols;  /* always so many; 0: as the plan says */
    bool of_text; /* symbols stand for bytes of a text, and any text of theirs becomes tokens and the same text again */
    /* Fills vocab->text and, of text, vocab->bytes of the symbols. */
    void (*fill)(struct ch_vocab *vocab, const struct vocab_plan *plan);
    ch_status (*encode)(const struct ch_vocab *vocab, const char *text, size_t length, struct token_list *list,
                        ch_error *error);
};

extern const struct tokens tokens_numbers, tokens_bytes, tokens_characters;
const ch_variant *tokens_row(size_t i);
const ch_variant *text_tokens_row(size_t i); /* those that a text can be cut into */

/* For the variants: adds a token; where a token's text lies; a character or a byte as a person reads it. */
ch_status token_add(struct token_list *list, int token, ch_error *error);
char *token_text(const struct ch_vocab *vocab, int token);
void token_show(uint32_t point, bool is_byte, char out[VOCAB_TEXT]);

/* The distinct characters of one or more texts. */
struct characters {
    uint32_t *seen; /* a bit for every code point */
};
ch_status characters_new(struct characters *characters, ch_error *error);
void characters_free(struct characters *characters);
/* `where` starts the sentence of a refusal: bytes that are no UTF-8, and the character 0, which ends texts in C. first:
 * the offset of the text's first byte where it is part of a longer one. */
ch_status characters_add(struct characters *characters, const char *text, size_t length, size_t first,
                         const char *where, ch_error *error);
/* All that were added, in the order of their code points, for vocab_plan.characters; mem_free it. *count gets how many.
 */
ch_status characters_list(const struct characters *characters, char **list, int *count, ch_error *error);
/* Checks that a list is one that characters_list could give. */
ch_status characters_check(const char *list, int *count, ch_error *error);

#endif
