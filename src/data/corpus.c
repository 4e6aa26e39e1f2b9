#include "data/corpus.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>

/* ---- the vocabulary ---- */

static ch_status collect(struct characters *characters, const struct framing *framing, const char *text, size_t length,
                         const char *where, ch_error *error) {
    struct text_part part = {0};
    ch_status status = CH_OK;
    while (status == CH_OK && framing->next(text, length, &part))
        status = characters_add(characters, text + part.begin, part.end - part.begin, part.begin, where, error);
    return status;
}

static ch_status check_text(const struct framing *framing, const char *text, size_t length, const char *where,
                            ch_error *error) {
    struct text_part part = {0};
    if (length == 0) return fail(error, CH_FAILED, "%s is empty; expected a text", where);
    if (framing->next(text, length, &part)) return CH_OK;
    return fail(error, CH_FAILED, "%s: expected lines of text, found only empty ones", where);
}

ch_status corpus_vocab(struct vocab_plan *plan, char **list, const struct tokens *tokens, const struct framing *framing,
                       const char *text, size_t length, const char *where, ch_error *error) {
    *list = NULL;
    *plan = (struct vocab_plan){.tokens = tokens, .symbols = tokens->symbols, .specials = framing->specials};
    if (!tokens->of_text)
        return fail(error, CH_USAGE, "tokens: expected a kind that texts have, bytes or characters, found %s",
                    tokens->variant.name);
    ch_status status = check_text(framing, text, length, where, error);
    if (status != CH_OK || tokens != &tokens_characters) return status;
    struct characters characters;
    status = characters_new(&characters, error);
    if (status != CH_OK) return status;
    status = collect(&characters, framing, text, length, where, error);
    if (status == CH_OK) status = characters_list(&characters, list, &plan->symbols, error);
    characters_free(&characters);
    plan->characters = *list;
    return status;
}

/* ---- the tokens ---- */

/* The text as it is read: counted first, then kept. */
struct reading {
    struct corpus *corpus;
    const struct ch_vocab *vocab;
    const char *text, *where;
    size_t length;
    bool keeps;
};

/* The cause, with the line if it has one. */
static ch_status refuse_part(const struct reading *r, const struct text_part *part, ch_status status,
                             const ch_error *cause, ch_error *error) {
    if (!r->corpus->framing->is_line) return fail(error, status, "%s: %s", r->where, cause->message);
    return fail(error, status, "%s: line %zu: %s", r->where, part->line, cause->message);
}

static ch_status read_part(struct reading *r, const struct text_part *part, ch_error *error) {
    struct corpus *c = r->corpus;
    size_t count, room = r->length; /* a token has at least one byte */
    ch_error cause;
    ch_status status = ch_vocab_encode(r->vocab, r->text + part->begin, part->end - part->begin,
                                       r->keeps ? c->token + c->count : NULL, room, &count, &cause);
    if (status != CH_OK) return refuse_part(r, part, status, &cause, error);
    if (c->framing->is_line && count >= (size_t)c->context)
        return fail(error, CH_FAILED,
                    "%s: line %zu has %zu tokens; expected at most %d, one less than the context, since <sos> comes "
                    "first",
                    r->where, part->line, count, c->context - 1);
    if (count > (size_t)(INT_MAX - c->count))
        return fail(error, CH_FAILED, "%s: expected at most %d tokens, found more", r->where, INT_MAX);
    if (r->keeps) c->begin[c->parts] = c->count;
    c->count += (int)count;
    c->parts++;
    return CH_OK;
}

static ch_status read_parts(struct reading *r, ch_error *error) {
    struct text_part part = {0};
    ch_status status = CH_OK;
    r->corpus->count = r->corpus->parts = 0;
    while (status == CH_OK && r->corpus->framing->next(r->text, r->length, &part)) status = read_part(r, &part, error);
    return status;
}

static ch_status keep_parts(struct reading *r, ch_error *error) {
    struct corpus *c = r->corpus;
    c->token = mem_new((size_t)c->count, sizeof *c->token);
    c->begin = mem_new((size_t)c->parts + 1, sizeof *c->begin);
    if (!c->token || !c->begin) return fail_memory(error, "the text's tokens");
    r->keeps = true;
    ch_status status = read_parts(r, error);
    c->begin[c->parts] = c->count;
    return status;
}

ch_status corpus_new(struct corpus *corpus, const struct corpus_plan *plan, const struct ch_vocab *vocab,
                     const char *text, size_t length, const char *where, ch_error *error) {
    ch_assert(plan->context >= 1 && plan->context < INT_MAX && plan->held_out >= 0 && plan->held_out < 1);
    *corpus = (struct corpus){.framing = plan->framing, .context = plan->context, .sos = vocab->sos, .eos = vocab->eos};
    ch_assert(!plan->framing->is_line || (vocab->sos >= 0 && vocab->eos >= 0));
    struct reading reading = {.corpus = corpus, .vocab = vocab, .text = text, .where = where, .length = length};
    ch_status status = check_text(plan->framing, text, length, where, error);
    if (status == CH_OK) status = read_parts(&reading, error);
    if (status == CH_OK) status = keep_parts(&reading, error);
    if (status == CH_OK) status = plan->framing->split(corpus, plan->held_out, where, error);
    if (status != CH_OK) corpus_free(corpus);
    return status;
}

void corpus_free(struct corpus *corpus) {
    mem_free(corpus->token);
    mem_free(corpus->begin);
    *corpus = (struct corpus){0};
}

/* ---- examples ---- */

struct example_limits corpus_limits(const struct corpus *corpus) {
    return (struct example_limits){0, corpus->context + 1};
}

static void begin_examples(const struct corpus *corpus, struct ch_examples *examples, int count) {
    ch_assert(count <= examples->capacity && corpus->context < examples->longest_target);
    examples->count = count;
    examples->task = NULL;
}

static void write_example(const struct corpus *corpus, struct ch_examples *examples, int i, bool held_out, int which) {
    int *target = examples->target + (size_t)i * (size_t)examples->longest_target;
    examples->source_length[i] = 0;
    examples->target_length[i] = corpus->framing->write(corpus, held_out, which, target);
}

void corpus_draw(const struct corpus *corpus, struct ch_examples *examples, const struct example_stream *stream,
                 uint64_t step, uint32_t first, int count) {
    struct philox_key key = philox_derive(stream->seed, stream->use, step);
    begin_examples(corpus, examples, count);
    for (int i = 0; i < count; i++) {
        struct draws draws = stream->torch ? draws_torch(stream->torch) : draws_philox(key, first + (uint32_t)i);
        write_example(corpus, examples, i, false, draws_below(&draws, corpus->training));
    }
}

void corpus_hold_out(const struct corpus *corpus, struct ch_examples *examples, int first, int count) {
    ch_assert(first >= 0 && count >= 0 && first + count <= corpus->held_out);
    begin_examples(corpus, examples, count);
    for (int i = 0; i < count; i++) write_example(corpus, examples, i, true, first + i);
}
