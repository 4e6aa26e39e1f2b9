#include "check/check.h"
#include "base/text.h"
#include "train/evaluate.h"
#include "train/examples.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 512 };

static const struct stage *const stages[] = {
    &stage_data, &stage_shapes, &stage_initial_loss, &stage_masking, &stage_overfit, &stage_generalisation, NULL,
};

const ch_variant *ch_check_stage(size_t i) {
    return i < sizeof stages / sizeof *stages && stages[i] ? &stages[i]->variant : NULL;
}

bool ch_check_needs_task(const char *name) {
    for (size_t i = 0; stages[i]; i++)
        if (strcmp(stages[i]->variant.name, name) == 0) return stages[i]->needs_task;
    return false;
}

/* ---- what a stage says ---- */

static void tell(const struct check *check, bool detail, const char *format, va_list arguments) {
    if (!check->watch || !check->watch->line) return;
    char line[LINE];
    vsnprintf(line, sizeof line, format, arguments);
    check->watch->line(line, detail, check->watch->context);
}

void check_line(const struct check *check, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell(check, false, format, arguments);
    va_end(arguments);
}

void check_detail(const struct check *check, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell(check, true, format, arguments);
    va_end(arguments);
}

ch_status check_result(struct check *check, bool passed, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->result->figure, sizeof check->result->figure, format, arguments);
    va_end(arguments);
    check->result->passed = passed;
    return CH_OK;
}

bool check_step(const struct check *check, const ch_step *step) {
    return !check->watch || !check->watch->step || check->watch->step(step, check->watch->context);
}

struct check_number check_number(double x, int digits) {
    struct check_number number;
    x = text_number(x);
    if (fabs(x) < 1e6)
        snprintf(number.text, sizeof number.text, "%.*f", digits, x);
    else
        snprintf(number.text, sizeof number.text, "%.3g", x);
    return number;
}

void check_text(const ch_vocab *vocab, ch_sequence sequence, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sequence.length; i++) {
        size_t bytes;
        int token = sequence.tokens[i];
        const char *text = token < 0 ? "" : ch_vocab_text(vocab, token);
        if (token >= 0 && *ch_vocab_bytes(vocab, token, &bytes) == ' ') text = " ";
        if (used + strlen(text) + sizeof "..." > size) {
            strcpy(out + used, "...");
            return;
        }
        strcpy(out + used, text);
        used += strlen(text);
    }
}

void check_tokens(const ch_vocab *vocab, ch_sequence sequence, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sequence.length && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", ch_vocab_text(vocab, sequence.tokens[i]));
    if (used >= size) strcpy(out + size - 4, "...");
}

ch_status check_examples(const struct check *check, size_t count, ch_examples **examples, ch_error *error) {
    struct vocab_plan vocab = {0};
    if (check->model) vocab = config_vocab(&check->model->config);
    return examples_new(check->recipe, check->model ? &vocab : NULL, count, examples, error);
}

/* ---- running one ---- */

ch_status ch_check_run(const ch_recipe *recipe, const ch_model *model, const char *name, const ch_check_watch *watch,
                       ch_check_result *result, ch_error *error) {
    *result = (ch_check_result){0};
    const struct stage *stage = (const struct stage *)family_find("stage", ch_check_stage, name, error);
    if (!stage) return CH_USAGE;
    ch_status status = model ? evaluate_fits(model, recipe, error) : ch_recipe_check(recipe, error);
    ch_model *fresh = NULL;
    if (status == CH_OK && !model && stage->wants_model) status = ch_model_new(recipe, &fresh, error);
    struct check check = {
        .recipe = recipe, .model = model ? model : fresh, .fresh = !model, .watch = watch, .result = result};
    if (status == CH_OK) status = stage->run(&check, error);
    ch_model_free(fresh);
    return status;
}
