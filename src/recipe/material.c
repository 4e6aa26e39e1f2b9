#include "recipe/material.h"
#include "base/memory.h"
#include "data/hide.h"
#include "io/file.h"

#include <math.h>

enum { LARGEST_TEXT = 1 << 30 };

/* ---- a text ---- */

/* Fowler, Noll and Vo's hash (FNV-1a, 64 bits) of the tokens. */
static uint64_t mark_of(const struct corpus *corpus) {
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < corpus->count; i++)
        for (int byte = 0; byte < 4; byte++) {
            hash ^= (uint32_t)corpus->token[i] >> 8 * byte & 255;
            hash *= 1099511628211u;
        }
    return hash;
}

/* A token of bytes may be the middle of a character. */
static bool begins_character(const struct ch_vocab *vocab, int token) {
    size_t length;
    const char *bytes = token < vocab->symbols ? ch_vocab_bytes(vocab, token, &length) : NULL;
    return bytes && ((unsigned char)bytes[0] & 0xc0) != 0x80;
}

/* Predictions for each character among what they predict. */
static double share_of(const struct material *m, const struct ch_vocab *vocab, struct ch_examples *one) {
    int64_t predictions = 0, characters = 0;
    for (int i = 0; i < m->corpus.held_out; i++) {
        corpus_hold_out(&m->corpus, one, i, 1);
        ch_sequence target = ch_examples_target(one, 0);
        predictions += (int64_t)target.length - 1;
        for (size_t t = 1; t < target.length; t++) characters += begins_character(vocab, target.tokens[t]);
    }
    return characters ? (double)predictions / (double)characters : 0;
}

static ch_status measure(struct material *m, const struct ch_vocab *vocab, ch_error *error) {
    struct ch_examples one;
    ch_status status = examples_init_for(&one, 1, corpus_limits(&m->corpus), &m->vocab, error);
    if (status != CH_OK) return status;
    m->share = share_of(m, vocab, &one);
    m->mark = mark_of(&m->corpus);
    examples_release(&one);
    return CH_OK;
}

/* A vocabulary that is given was made for one framing. */
static ch_status check_framing(const struct material *m, ch_error *error) {
    const struct framing *framing = m->recipe->framing;
    if ((m->vocab.specials & framing->specials) == framing->specials) return CH_OK;
    return fail(error, CH_USAGE,
                "framing %s: expected a model with <sos> and <eos>, which lines stand between, and this "
                "one's vocabulary lacks them",
                framing->variant.name);
}

/* Encoders are asked for hidden tokens, so that there must be one to hide behind. */
static ch_status own_vocab(struct material *m, const char *text, size_t length, ch_error *error) {
    const ch_recipe *r = m->recipe;
    ch_status status =
        corpus_vocab(&m->vocab, &m->characters, r->tokens, r->framing, text, length, r->text_file, error);
    if (status == CH_OK && recipe_head(r) == &head_masked_token) m->vocab.specials |= VOCAB_MASK;
    return status;
}

static ch_status take_text(struct material *m, const struct vocab_plan *given, const char *text, size_t length,
                           ch_error *error) {
    const ch_recipe *r = m->recipe;
    struct corpus_plan plan = {r->framing, (int)r->max_positions, r->held_out};
    struct ch_vocab vocab;
    ch_status status = CH_OK;
    if (given)
        m->vocab = *given;
    else
        status = own_vocab(m, text, length, error);
    if (status == CH_OK) status = check_framing(m, error);
    if (status == CH_OK) status = vocab_new(&vocab, &m->vocab, error);
    if (status != CH_OK) return status;
    status = corpus_new(&m->corpus, &plan, &vocab, text, length, r->text_file, error);
    if (status == CH_OK) status = measure(m, &vocab, error);
    if (status == CH_OK) m->held_out = r->validation ? m->corpus.held_out : 0;
    vocab_free(&vocab);
    return status;
}

static ch_status read_text(struct material *m, const struct vocab_plan *vocab, ch_error *error) {
    char *text;
    size_t length;
    ch_status status = file_read(m->recipe->text_file, LARGEST_TEXT, &text, &length, error);
    if (status != CH_OK) return status;
    status = take_text(m, vocab, text, length, error);
    mem_free(text);
    return status;
}

/* ---- both ---- */

ch_status material_open(struct material *material, const ch_recipe *recipe, const struct vocab_plan *vocab,
                        ch_error *error) {
    *material = (struct material){.recipe = recipe};
    ch_status status = CH_OK;
    if (recipe_has_text(recipe)) {
        status = read_text(material, vocab, error);
    } else {
        material->vocab = task_vocab(recipe->task, (int)recipe->symbols);
        material->held_out = (int)recipe->validation;
    }
    if (status != CH_OK) material_free(material);
    return status;
}

void material_free(struct material *material) {
    corpus_free(&material->corpus);
    mem_free(material->characters);
    *material = (struct material){0};
}

double material_bits(const struct material *m, double loss) {
    bool predicts = m->corpus.count && recipe_head(m->recipe)->decodes;
    return predicts ? loss * m->share / log(2) : (double)NAN;
}

ch_status material_examples(const struct material *m, struct ch_examples *examples, int capacity, ch_error *error) {
    return examples_init_for(examples, capacity, recipe_most_tokens(m->recipe), &m->vocab, error);
}

/* The key of the tokens that are hidden in a step's examples; step 0: in those held out. */
static struct philox_key hiding_key(const struct material *m, enum philox_use use, uint64_t step) {
    return philox_derive((uint64_t)m->recipe->seed, use, step);
}

static void hide(const struct material *m, struct ch_examples *examples, struct philox_key key) {
    if (recipe_head(m->recipe) == &head_masked_token) examples_hide(examples, key);
}

void material_draw(const struct material *m, struct ch_examples *examples, enum philox_use use, struct torch_rng *torch,
                   uint64_t step, int count) {
    struct example_stream stream = example_stream(m->recipe, use, torch);
    if (!m->corpus.count) {
        examples_draw(examples, &stream, step, 0, count);
        return;
    }
    corpus_draw(&m->corpus, examples, &stream, step, 0, count);
    hide(m, examples, hiding_key(m, PHILOX_HIDING, step));
}

void material_hold_out(const struct material *m, struct ch_examples *examples) {
    if (!m->corpus.count) {
        material_draw(m, examples, PHILOX_VALIDATION, NULL, 0, m->held_out);
        return;
    }
    corpus_hold_out(&m->corpus, examples, 0, m->corpus.held_out);
    hide(m, examples, hiding_key(m, PHILOX_VALIDATION, 0));
}
