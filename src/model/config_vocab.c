/* A config's vocabulary: the kind of its tokens, which special ones there are and, of characters, all of them, so that
 * a model's file stands alone. */
#include "base/memory.h"
#include "base/text.h"
#include "model/config.h"

#include <string.h>

struct vocab_plan config_vocab(const struct config *config) {
    const struct task *task = task_named(config->task);
    struct vocab_plan lesson = vocab_lesson(config->symbols);
    if (!config->tokens) return task ? task_vocab(task, config->symbols) : lesson;
    return (struct vocab_plan){.tokens = config->tokens,
                               .symbols = config->symbols,
                               .specials = config->specials,
                               .characters = config->characters,
                               .names = task ? task->symbol_names : NULL};
}

struct ch_vocab config_place_vocab(const struct config *config) {
    struct vocab_plan plan = config_vocab(config);
    struct ch_vocab vocab;
    vocab_place(&vocab, &plan);
    return vocab;
}

ch_status config_set_vocab(struct config *config, const struct vocab_plan *plan, ch_error *error) {
    char *characters = plan->characters ? mem_copy_string(plan->characters) : NULL;
    if (plan->characters && !characters) return fail_memory(error, "the model's vocabulary");
    mem_free(config->characters);
    config->characters = characters;
    config->tokens = plan->tokens;
    config->specials = plan->specials;
    config->symbols = plan->tokens->symbols ? plan->tokens->symbols : plan->symbols;
    return CH_OK;
}

/* ---- writing ---- */

static struct js_value *specials_to_json(unsigned specials) {
    struct js_value *array = js_new_array();
    for (int i = 0; i < VOCAB_SPECIAL_KINDS && array; i++) {
        if (!(specials >> i & 1) || js_add(array, js_new_text(vocab_special_text(i)))) continue;
        js_free(array);
        return NULL;
    }
    return array;
}

bool config_vocab_to_json(const struct config *config, struct js_value *object) {
    struct vocab_plan plan = config_vocab(config);
    return js_set(object, "tokens", js_new_text(plan.tokens->variant.name)) &&
           js_set(object, "specials", specials_to_json(plan.specials)) &&
           (!plan.characters || js_set(object, "characters", js_new_text(plan.characters)));
}

/* ---- reading ---- */

static ch_status read_tokens(struct vocab_plan *plan, const struct js_value *object, const char *where,
                             ch_error *error) {
    const struct js_value *value = js_find(object, "tokens");
    const char *name = tokens_numbers.variant.name; /* files of before there were others */
    ch_error cause;
    ch_status status = value ? js_text(value, where, "tokens", &name, error) : CH_OK;
    if (status != CH_OK) return status;
    plan->tokens = (const struct tokens *)family_find("tokens", tokens_row, name, &cause);
    if (!plan->tokens) return fail(error, CH_FAILED, "%s: %s", where, cause.message);
    int always = plan->tokens->symbols;
    if (always && plan->symbols != always)
        return fail(error, CH_FAILED, "%s: 'symbols': expected %d, since tokens are %s, found %d", where, always, name,
                    plan->symbols);
    return CH_OK;
}

/* The bit of a special token's name; 0: there is none. */
static unsigned special_of(const char *name) {
    for (int i = 0; i < VOCAB_SPECIAL_KINDS; i++)
        if (strcmp(name, vocab_special_text(i)) == 0) return 1u << i;
    return 0;
}

static ch_status read_specials(struct vocab_plan *plan, const struct js_value *object, const char *where,
                               ch_error *error) {
    const struct js_value *array = js_find(object, "specials");
    plan->specials = VOCAB_LESSON;
    if (!array && plan->tokens == &tokens_numbers) return CH_OK;
    ch_status status = js_expect(array, JS_ARRAY, where, "specials", error);
    plan->specials = 0;
    for (size_t i = 0; status == CH_OK && i < js_count(array); i++) {
        const char *name;
        status = js_text(js_at(array, i), where, "specials", &name, error);
        unsigned one = status == CH_OK ? special_of(name) : 0;
        if (status == CH_OK && one <= plan->specials) /* the sum of those before it, if they came in order */
            status = fail(error, CH_FAILED,
                          "%s: 'specials': expected some of <pad>, <sos>, <eos>, <mask> in this order, found '%s' at "
                          "place %zu",
                          where, name, i + 1);
        plan->specials |= one;
    }
    return status;
}

static ch_status read_characters(struct vocab_plan *plan, const struct js_value *object, const char *where,
                                 ch_error *error) {
    const struct js_value *value = js_find(object, "characters");
    int count;
    ch_error cause;
    if (plan->tokens != &tokens_characters)
        return value ? fail(error, CH_FAILED, "%s: 'characters': expected none, since tokens are %s", where,
                            plan->tokens->variant.name)
                     : CH_OK;
    ch_status status = js_text(value, where, "characters", &plan->characters, error);
    if (status != CH_OK) return status;
    if (characters_check(plan->characters, &count, &cause) != CH_OK)
        return fail(error, CH_FAILED, "%s: 'characters': %s", where, cause.message);
    if (count != plan->symbols)
        return fail(error, CH_FAILED, "%s: 'characters': expected as many as there are symbols, %d, found %d", where,
                    plan->symbols, count);
    return CH_OK;
}

ch_status config_vocab_from_json(struct config *config, const struct js_value *object, const char *where,
                                 ch_error *error) {
    struct vocab_plan plan = {.symbols = config->symbols};
    ch_status status = read_tokens(&plan, object, where, error);
    if (status == CH_OK) status = read_specials(&plan, object, where, error);
    if (status == CH_OK) status = read_characters(&plan, object, where, error);
    return status == CH_OK ? config_set_vocab(config, &plan, error) : status;
}
