/*
 * Stage data of a text: five examples to read, and the rules that every one must keep. That an example stands in the
 * text is checked in the file's bytes, not by the code that cut it.
 */
#include "base/memory.h"
#include "base/text.h"
#include "check/bench.h"
#include "check/text.h"
#include "io/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 5, TEXT = 160, WRONG = 200 };

struct rules {
    const ch_recipe *recipe;
    const struct ch_examples *examples;
    const char *text; /* the file */
    size_t length;
    char *piece; /* of it, as an example says it */
    size_t hidden, places;
    char wrong[WRONG];
};

/* ---- reading ---- */

static void show(const struct check *check, const struct ch_examples *examples) {
    char text[TEXT], hidden[TEXT];
    for (size_t i = 0; i < SHOWN && i < ch_examples_count(examples); i++) {
        ch_sequence source = ch_examples_source(examples, i), target = ch_examples_target(examples, i);
        bool labels = examples->kind == EXAMPLE_LABELS;
        check_text(&examples->vocab, labels ? source : target, text, TEXT);
        check_text(&examples->vocab, labels ? target : (ch_sequence){0}, hidden, TEXT);
        check_line(check, "%s %s%s%s",
                   labels                            ? "reads"
                   : check->recipe->framing->is_line ? "line"
                                                     : "window",
                   text, labels ? "   hidden " : "", hidden);
    }
}

/* ---- the rules: each gives false and says what is wrong ---- */

/* What stood at a place before it was hidden. */
static int token_at(const struct ch_examples *examples, int i, size_t t) {
    ch_sequence source = ch_examples_source(examples, (size_t)i), target = ch_examples_target(examples, (size_t)i);
    return target.tokens[t] >= 0 ? target.tokens[t] : source.tokens[t];
}

/* Of windows the context and one more, or of hidden tokens the context; of lines at most so many. */
static bool measured(struct rules *rules, int i) {
    bool labels = rules->examples->kind == EXAMPLE_LABELS;
    size_t length = ch_examples_target(rules->examples, (size_t)i).length;
    size_t most = (size_t)rules->recipe->max_positions + !labels, least = rules->recipe->framing->is_line ? 2 : most;
    if (length >= least && length <= most) return true;
    snprintf(rules->wrong, WRONG, "it has %zu tokens, expected %zu to %zu", length, least, most);
    return false;
}

/* Of lines <sos> and <eos>, which may be cut off where a line is as long as the context; inside there are symbols. */
static bool framed(struct rules *rules, int i) {
    const struct ch_vocab *vocab = &rules->examples->vocab;
    bool lines = rules->recipe->framing->is_line;
    size_t length = ch_examples_target(rules->examples, (size_t)i).length, most = (size_t)rules->recipe->max_positions;
    for (size_t t = 0; t < length; t++) {
        int token = token_at(rules->examples, i, t);
        bool first = lines && t == 0, last = lines && t + 1 == length && t > 0, cut = last && length >= most;
        bool symbol = token >= 0 && token < vocab->symbols;
        if (first ? token == vocab->sos : last ? token == vocab->eos || (cut && symbol) : symbol) continue;
        snprintf(rules->wrong, WRONG, "token %zu is %d, expected %s", t, token,
                 first  ? "<sos>"
                 : last ? "<eos>"
                        : "a symbol of the text");
        return false;
    }
    return true;
}

static bool stands_in_text(struct rules *rules, int i) {
    const struct ch_vocab *vocab = &rules->examples->vocab;
    size_t length = ch_examples_target(rules->examples, (size_t)i).length, size = 0;
    for (size_t t = 0; t < length; t++) {
        size_t bytes;
        const char *from = ch_vocab_bytes(vocab, token_at(rules->examples, i, t), &bytes);
        memcpy(rules->piece + size, from, bytes);
        size += bytes;
    }
    if (memmem(rules->text, rules->length, rules->piece, size)) return true;
    snprintf(rules->wrong, WRONG, "its %zu bytes do not stand in the text one behind the other", size);
    return false;
}

/* Something is asked for, and <mask> stands only where it is. */
static bool hidden(struct rules *rules, int i) {
    ch_sequence source = ch_examples_source(rules->examples, (size_t)i);
    ch_sequence target = ch_examples_target(rules->examples, (size_t)i);
    size_t asked = 0;
    for (size_t t = 0; t < target.length; t++) {
        asked += target.tokens[t] >= 0;
        if (target.tokens[t] >= 0 || source.tokens[t] != rules->examples->vocab.mask) continue;
        snprintf(rules->wrong, WRONG, "token %zu is <mask>, and nobody asks what it hides", t);
        return false;
    }
    rules->hidden += asked;
    rules->places += target.length;
    if (!asked) snprintf(rules->wrong, WRONG, "nothing in it is hidden");
    return asked;
}

static bool keeps_rules(struct rules *rules, int i) {
    bool labels = rules->examples->kind == EXAMPLE_LABELS;
    return measured(rules, i) && (!labels || hidden(rules, i)) && framed(rules, i) && stands_in_text(rules, i);
}

/* ---- the verdict ---- */

static ch_status judge(struct check *check, struct rules *rules) {
    const struct ch_examples *examples = rules->examples;
    for (int i = 0; i < examples->count; i++)
        if (!keeps_rules(rules, i))
            return check_result(check, false, "example %d of %d: %s", i + 1, examples->count, rules->wrong);
    if (examples->kind == EXAMPLE_LABELS)
        return check_result(check, true, "%d %s stand in the text; %.1f %% of their tokens are asked for",
                            examples->count, check->recipe->framing->variant.name,
                            100.0 * (double)rules->hidden / (double)rules->places);
    return check_result(check, true, "%d %s stand in the text; of each every token but the first is predicted",
                        examples->count, check->recipe->framing->variant.name);
}

static ch_status judge_file(struct check *check, struct rules *rules, ch_error *error) {
    char *text;
    ch_status status = file_read(check->recipe->text_file, INT_MAX, &text, &rules->length, error);
    if (status != CH_OK) return status;
    rules->text = text;
    rules->piece = mem_new((size_t)rules->examples->longest_target, VOCAB_BYTES);
    status = rules->piece ? judge(check, rules) : fail_memory(error, "a piece of the text");
    mem_free(rules->piece);
    mem_free(text);
    return status;
}

ch_status text_data(struct check *check, ch_error *error) {
    ch_examples *examples;
    ch_status status = check_examples(check, (size_t)check->recipe->batch_size, &examples, error);
    if (status != CH_OK) return status;
    struct rules rules = {.recipe = check->recipe, .examples = examples};
    show(check, examples);
    status = judge_file(check, &rules, error);
    ch_examples_free(examples);
    return status;
}
