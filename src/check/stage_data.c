/*
 * Stage data: five examples to read, and the rules that every example must keep. The answer is checked against what the
 * task means (expectation.h), not against the code that made it.
 */
#include "base/memory.h"
#include "base/text.h"
#include "check/check.h"
#include "check/expectation.h"
#include "check/text.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 5, TEXT = 160, WRONG = 200 };

/* ---- reading ---- */

static void show(const struct check *check, const ch_examples *examples) {
    size_t count = ch_examples_count(examples) < SHOWN ? ch_examples_count(examples) : SHOWN;
    char text[SHOWN][TEXT], target[TEXT];
    int widest = 0;
    for (size_t i = 0; i < count; i++) {
        check_tokens(&examples->vocab, ch_examples_source(examples, i), text[i], TEXT);
        if ((int)strlen(text[i]) > widest) widest = (int)strlen(text[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const char *class = ch_examples_class(examples, i);
        check_tokens(&examples->vocab, ch_examples_target(examples, i), target, TEXT);
        check_line(check, "source %-*s   %s %s", widest, text[i], class ? "->" : "target", class ? class : target);
    }
}

/* ---- the rules: each gives false and says what is wrong ---- */

struct rules {
    const ch_vocab *vocab;
    const ch_recipe *recipe;
    const struct expectation *expectation;
    char wrong[WRONG];
};

static bool symbols_only(struct rules *rules, ch_sequence source) {
    for (size_t i = 0; i < source.length; i++) {
        if (source.tokens[i] >= 0 && source.tokens[i] < rules->vocab->symbols) continue;
        snprintf(rules->wrong, WRONG, "source token %zu is %d, expected a symbol from 0 to %d", i, source.tokens[i],
                 rules->vocab->symbols - 1);
        return false;
    }
    return true;
}

static bool lengths(struct rules *rules, ch_sequence source, ch_sequence target) {
    size_t least = (size_t)rules->recipe->min_len, most = (size_t)rules->recipe->max_len;
    bool class = rules->recipe->task->kind == TASK_TO_CLASS;
    size_t wanted = class ? 1 : source.length + 2;
    bool right = source.length >= least && source.length <= most && target.length == wanted;
    if (!right)
        snprintf(rules->wrong, WRONG, "a source of %zu and a target of %zu tokens, expected %zu to %zu and %s",
                 source.length, target.length, least, most, class ? "one, a class" : "two more");
    return right;
}

static bool bracketed(struct rules *rules, ch_sequence target) {
    int first = target.tokens[0], last = target.tokens[target.length - 1];
    bool right = first == ch_vocab_sos(rules->vocab) && last == ch_vocab_eos(rules->vocab);
    if (!right)
        snprintf(rules->wrong, WRONG,
                 "the target begins with token %d and ends with %d, expected <sos> %d and <eos> %d", first, last,
                 ch_vocab_sos(rules->vocab), ch_vocab_eos(rules->vocab));
    return right;
}

/* A special token inside an answer is wrong by this, too: padding is never part of a sequence. */
static bool answered(struct rules *rules, ch_sequence source, ch_sequence target) {
    const struct expectation *known = rules->expectation;
    for (int t = 0; known && known->source_of && t < (int)source.length; t++) {
        int expected = source.tokens[known->source_of(t, (int)source.length)];
        if (target.tokens[t + 1] == expected) continue;
        snprintf(rules->wrong, WRONG, "answer token %d is %d, expected %d: the answer is %s", t, target.tokens[t + 1],
                 expected, known->words);
        return false;
    }
    return true;
}

/* The class; symbols: scratch for a source. */
static bool classified(struct rules *rules, ch_sequence source, int class, int *symbols) {
    const struct expectation *known = rules->expectation;
    int classes = rules->recipe->task->classes;
    memcpy(symbols, source.tokens, source.length * sizeof *symbols);
    int expected = known && known->class_of ? known->class_of(symbols, (int)source.length) : class;
    if (class < 0 || class >= classes)
        snprintf(rules->wrong, WRONG, "the class is %d, expected 0 to %d", class, classes - 1);
    else if (class != expected)
        snprintf(rules->wrong, WRONG, "the class is %d, expected %d: it is %s", class, expected, known->words);
    return class >= 0 && class < classes && class == expected;
}

/* Three different tokens behind the symbols. */
static bool specials(struct rules *rules) {
    int pad = ch_vocab_pad(rules->vocab), sos = ch_vocab_sos(rules->vocab), eos = ch_vocab_eos(rules->vocab);
    int least = rules->vocab->symbols, most = ch_vocab_size(rules->vocab) - 1;
    bool apart = pad != sos && pad != eos && sos != eos;
    bool behind = pad >= least && sos >= least && eos >= least && pad <= most && sos <= most && eos <= most;
    if (!apart || !behind)
        snprintf(rules->wrong, WRONG, "<pad> %d, <sos> %d and <eos> %d: expected three tokens from %d to %d", pad, sos,
                 eos, least, most);
    return apart && behind;
}

/* The number of the first example that breaks a rule, or -1. symbols: scratch for a source. */
static int first_wrong(struct rules *rules, const ch_examples *examples, int *symbols) {
    bool classes = rules->recipe->task->kind == TASK_TO_CLASS;
    for (int i = 0; i < examples->count; i++) {
        ch_sequence source = ch_examples_source(examples, (size_t)i), target = ch_examples_target(examples, (size_t)i);
        if (!lengths(rules, source, target) || !symbols_only(rules, source)) return i;
        if (classes ? !classified(rules, source, target.tokens[0], symbols)
                    : !bracketed(rules, target) || !answered(rules, source, target))
            return i;
    }
    return -1;
}

/* ---- the verdict ---- */

static ch_status pass_all(struct check *check, const ch_examples *examples, const struct expectation *expectation) {
    bool classes = check->recipe->task->kind == TASK_TO_CLASS;
    long long tokens = 0, longest = 0;
    for (int i = 0; i < examples->count; i++) {
        tokens += examples->source_length[i];
        if (examples->source_length[i] > longest) longest = examples->source_length[i];
    }
    return check_result(
        check, true,
        "%d example%s: targets are %s%s%s; no <pad> in any (a padded tensor would add %lld to %lld source token%s)",
        examples->count, text_plural((uint64_t)examples->count), classes ? "classes, " : "<sos>, ",
        expectation ? expectation->words : "an answer that no rule is known for", classes ? "" : ", <eos>",
        longest * examples->count - tokens, tokens, text_plural((uint64_t)tokens));
}

static ch_status judge(struct check *check, const ch_examples *examples, int *symbols) {
    const struct expectation *expectation = expectation_of(check->recipe->task->variant.name);
    struct rules rules = {&examples->vocab, check->recipe, expectation, ""};
    if (!specials(&rules)) return check_result(check, false, "special tokens: %s", rules.wrong);
    int wrong = first_wrong(&rules, examples, symbols);
    if (wrong >= 0) return check_result(check, false, "example %d of %d: %s", wrong + 1, examples->count, rules.wrong);
    return pass_all(check, examples, expectation);
}

static ch_status run(struct check *check, ch_error *error) {
    if (recipe_has_text(check->recipe)) return text_data(check, error);
    ch_examples *examples;
    ch_status status = ch_examples_new(check->recipe, (size_t)check->recipe->batch_size, &examples, error);
    if (status != CH_OK) return status;
    int *symbols = mem_new((size_t)examples->longest, sizeof *symbols);
    show(check, examples);
    status = symbols ? judge(check, examples, symbols) : fail_memory(error, "a source");
    mem_free(symbols);
    ch_examples_free(examples);
    return status;
}

const struct stage stage_data = {
    .variant = {"data", "five examples to read; answers, special tokens and padding by rule"},
    .needs_task = true,
    .run = run,
};
