/* Recipes: every row of the table at and beyond its limits, recipe files, and the checks that concern several options.
 */
#include "runs.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- every row ---- */

static void check_value(const char *option, const char *value, bool good) {
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    char *old = strdup(ch_recipe_get(recipe, option));
    ch_error error;
    ch_status status = ch_recipe_set(recipe, option, value, &error);
    if (good) {
        check_ok(status, &error);
        assert_string_equal(ch_recipe_get(recipe, option), value);
    } else {
        check_sentence(status, CH_USAGE, &error, option, value, NULL);
        assert_int_equal(ch_recipe_set(recipe, option, value, NULL), CH_USAGE);
        assert_string_equal(ch_recipe_get(recipe, option), old);
    }
    free(old);
    ch_recipe_free(recipe);
}

static void every_default_is_good(void **state) {
    (void)state;
    size_t rows = 0;
    for (const ch_option *option; (option = ch_recipe_option(rows)); rows++) {
        check_value(option->name, option->default_value, true);
        assert_true(strlen(option->help) > 5 && strlen(option->group) > 2);
        assert_true(!option->value || strlen(option->value) > 0); /* none: a switch */
    }
    assert_int_equal(rows, RECIPE_OPTIONS);
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    ch_error error;
    check_ok(ch_recipe_check(recipe, &error), &error);
    ch_recipe_free(recipe);
}

/* The lesson's. */
static void defaults_are_the_lessons(void **state) {
    (void)state;
    ch_recipe *r = recipe_of("seed", "0", NULL);
    assert_true(r->task == &task_reverse && r->attention == &attention_fused && !r->rng->torch);
    assert_true(r->min_len == 4 && r->max_len == 10);
    assert_true(r->d_model == 64 && r->heads == 4 && r->d_ff == 256 && r->layers == 2 && r->dropout == 0.1);
    assert_true(r->batch_size == 64 && r->steps == 3000 && r->warmup == 400 && r->lr == 1e-3 && r->clip == 1);
    ch_recipe_free(r);
}

/* Least, most, and the first values beyond; what a table of limits says twice, once here. */
static const struct {
    const char *option, *least, *most, *below, *above;
} limits[] = {
    {"symbols", "1", "10000000", "0", "10000001"},
    {"min-len", "1", "1000000", "0", "1000001"},
    {"max-len", "1", "1000000", "0", "1000001"},
    {"d-model", "1", "1000000", "0", "1000001"},
    {"heads", "1", "4096", "0", "4097"},
    {"kv-heads", "0", "4096", "-1", "4097"},
    {"d-head", "0", "1000000", "-1", "1000001"},
    {"d-ff", "1", "10000000", "0", "10000001"},
    {"layers", "1", "10000", "0", "10001"},
    {"dropout", "0", "0.999999", "-0.000001", "1"},
    {"held-out", "0", "0.999999", "-0.000001", "1"},
    {"max-positions", "2", "10000000", "1", "10000001"},
    {"rope-base", "1", "999999999", "0.9", "1000000000"},
    {"rope-factor", "1", "999999", "0.999", "1000000"},
    {"window", "0", "10000000", "-1", "10000001"},
    {"soft-cap", "0", "999999", "-0.1", "1000000"},
    {"batch-size", "1", "1000000", "0", "1000001"},
    {"steps", "1", "1000000000000", "0", "1000000000001"},
    {"lr", "0", "1e6", "-1e-9", "1000001"},
    {"min-lr", "0", "1e6", "-1e-9", "1000001"},
    {"warmup", "0", "1000000000000", "-1", "1000000000001"},
    {"clip", "0", "1e30", "-1", "2e30"},
    {"beta1", "0", "0.999999", "-1e-9", "1"},
    {"beta2", "0", "0.999999", "-1e-9", "1"},
    {"epsilon", "0", "1", "-1e-9", "1.000001"},
    {"weight-decay", "0", "1e6", "-1e-9", "1000001"},
    {"average", "0", "1000000", "-1", "1000001"},
    {"seed", "0", "9007199254740992", "-1", "9007199254740994"},
    {"threads", "0", "1024", "-1", "1025"},
    {"log-every", "1", "1000000000000", "0", "1000000000001"},
    {"save-every", "1", "1000000000000", "0", "1000000000001"},
    {"validation", "0", "1000000", "-1", "1000001"},
};

static const char *const nonsense[] = {"",
                                       "x",
                                       "1x",
                                       "1 2",
                                       " 1",
                                       "1 ",
                                       "--1",
                                       "nan",
                                       "inf",
                                       "-inf",
                                       "0x10",
                                       "1e",
                                       "1,5",
                                       "1_0",
                                       "+",
                                       "1e99",
                                       "-99999999999999999999",
                                       "\n1"};

static void limits_hold(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        check_value(limits[i].option, limits[i].least, true);
        check_value(limits[i].option, limits[i].most, true);
        check_value(limits[i].option, limits[i].below, false);
        check_value(limits[i].option, limits[i].above, false);
    }
}

/* Any text may be a file's name. */
static bool is_path(const char *option) {
    return strcmp(option, "text") == 0;
}

static void nonsense_is_refused_everywhere(void **state) {
    (void)state;
    for (size_t row = 0; ch_recipe_option(row); row++)
        for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
            const char *option = ch_recipe_option(row)->name;
            if (is_path(option)) continue;
            ch_recipe *recipe = recipe_of("seed", "0", NULL);
            ch_error error;
            check_sentence(ch_recipe_set(recipe, option, nonsense[i], &error), CH_USAGE, &error, option, NULL);
            ch_recipe_free(recipe);
        }
    check_value("steps", "1.5", false);
    check_value("d-model", "1e3", false);
    check_value("lr", "1e-4", true);
}

static void switches_are_on_or_off(void **state) {
    (void)state;
    check_value("log-gradients", "on", true);
    check_value("log-gradients", "off", true);
    check_value("log-gradients", "ON", false);
    check_value("log-gradients", "1", false);
}

/* A row that the tests above do not know would go unchecked. */
static void every_row_is_a_number_with_limits_a_switch_or_a_name(void **state) {
    (void)state;
    for (size_t row = 0; ch_recipe_option(row); row++) {
        const char *option = ch_recipe_option(row)->name;
        bool known = ch_family_variant(option, 0) != NULL || !ch_recipe_option(row)->value || is_path(option);
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
            known = known || strcmp(limits[i].option, option) == 0;
        if (!known) fail_msg("no limits are tested for '%s'", option);
    }
}

static void names_are_suggested(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    ch_error error;
    check_sentence(ch_recipe_set(recipe, "d-modle", "8", &error), CH_USAGE, &error, "unknown option 'd-modle'",
                   "did you mean 'd-model'", "save-every", NULL);
    check_sentence(ch_recipe_set(recipe, "frobnicate-everything", "8", &error), CH_USAGE, &error,
                   "unknown option 'frobnicate-everything'; have task", NULL);
    check_sentence(ch_recipe_set(recipe, "task", "revrse", &error), CH_USAGE, &error,
                   "unknown task 'revrse'; have reverse, copy", "did you mean 'reverse'", NULL);
    check_sentence(ch_recipe_set(recipe, "attention", "flash", &error), CH_USAGE, &error,
                   "unknown attention 'flash'; have fused, explicit", NULL);
    check_sentence(ch_recipe_set(recipe, "norm", "batchnorm", &error), CH_USAGE, &error, "have layernorm, rmsnorm",
                   NULL);
    check_sentence(ch_recipe_set(recipe, "rng", "Torch", &error), CH_USAGE, &error, "did you mean 'torch'", NULL);
    char value[200];
    memset(value, '1', 199);
    value[199] = '\0';
    check_sentence(ch_recipe_set(recipe, "steps", value, &error), CH_USAGE, &error, "steps", "199", NULL);
    ch_recipe_free(recipe);
}

static void every_variant_can_be_chosen(void **state) {
    (void)state;
    int chosen = 0;
    for (size_t f = 0; ch_family_name(f); f++)
        for (size_t i = 0; ch_family_variant(ch_family_name(f), i); i++) {
            assert_true(strlen(ch_family_variant(ch_family_name(f), i)->help) > 5);
            /* chosen by a file's ending, and by assembly and task */
            if (strcmp(ch_family_name(f), "plot") == 0 || strcmp(ch_family_name(f), "head") == 0) continue;
            check_value(ch_family_name(f), ch_family_variant(ch_family_name(f), i)->name, true);
            chosen++;
        }
    assert_true(chosen >= 12);
    assert_null(ch_family_variant("no such family", 0));
    assert_null(ch_family_variant("task", 99));
}

/* ---- files ---- */

static const char *put(const char *text) {
    const char *path = path_in(folder, "recipe.json");
    put_bytes(path, text, strlen(text));
    return path;
}

static void check_file_refused(const char *text, const char *says) {
    ch_recipe *recipe = recipe_of("layers", "3", NULL);
    char *before = ch_recipe_json(recipe);
    const char *path = put(text);
    ch_error error = {0};
    ch_status status = ch_recipe_read(recipe, path, &error);
    if (status == CH_OK) fail_msg("'%s' was taken", text);
    if (!strstr(error.message, path) || !strstr(error.message, says))
        fail_msg("'%s' does not name %s and say '%s'", error.message, path, says);
    assert_int_equal(ch_recipe_read(recipe, path, NULL), status);
    char *after = ch_recipe_json(recipe);
    assert_string_equal(after, before); /* not even the good keys before the bad one */
    ch_string_free(before);
    ch_string_free(after);
    ch_recipe_free(recipe);
}

static void bad_files_leave_the_recipe_alone(void **state) {
    (void)state;
    check_file_refused("{\"layers\": 1, \"stepps\": 5}", "did you mean 'steps'");
    check_file_refused("{\"layers\": 1, \"steps\": true}", "steps");
    check_file_refused("{\"layers\": 1, \"steps\": null}", "steps");
    check_file_refused("{\"layers\": 1, \"steps\": [5]}", "steps");
    check_file_refused("{\"layers\": 1, \"steps\": {}}", "steps");
    check_file_refused("{\"layers\": 1, \"steps\": 1.5}", "steps: expected a whole number");
    check_file_refused("{\"layers\": 1, \"steps\": 0}", "steps: expected a whole number from 1");
    check_file_refused("{\"layers\": 1, \"task\": 5}", "unknown task '5'");
    check_file_refused("{\"layers\": 1, \"task\": \"\"}", "unknown task ''");
    check_file_refused("{\"layers\": 1, \"lr\": 1e7}", "lr: expected a number");
    check_file_refused("{\"layers\": 1, \"layers\": 2}", "layers");
    check_file_refused("{\"layers\": 1, \"schema\": 2}", "'schema': expected 1, found 2");
    check_file_refused("{\"layers\": 1, \"schema\": \"1\"}", "'schema'");
    check_file_refused("{\"layers\": 1,}", "");
    check_file_refused("{\"layers\": 1} x", "");
    check_file_refused("[1, 2]", "an object");
    check_file_refused("\"text\"", "");
    check_file_refused("", "is empty");
    check_file_refused(" ", "");
    check_file_refused("{\"task\": \"\xff\"}", "");
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    ch_error error;
    check_sentence(ch_recipe_read(recipe, path_in(folder, "none.json"), &error), CH_FAILED, &error, "none.json",
                   "No such file", NULL);
    check_sentence(ch_recipe_read(recipe, folder, &error), CH_FAILED, &error, "expected a file, found a folder", NULL);
    ch_recipe_free(recipe);
}

/* Whoever sets last wins; what a file does not name stays. */
static void later_calls_win(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("layers", "5", "heads", "8", NULL);
    ch_error error;
    check_ok(ch_recipe_read(recipe, put("{\"layers\": 1, \"lr\": 0.25, \"task\": \"copy\"}"), &error), &error);
    set_option(recipe, "lr", "0.5");
    assert_true(recipe->layers == 1 && recipe->heads == 8 && recipe->lr == 0.5 && recipe->task == &task_copy);
    check_ok(ch_recipe_read(recipe, put("{}"), &error), &error);
    assert_true(recipe->layers == 1 && recipe->lr == 0.5);
    ch_recipe_free(recipe);
}

/* A recipe written and read again is the same in every bit of every value. */
static void json_and_back(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("lr", "0.1234567890123456789", "dropout", "0.3", "seed", "9007199254740992", "task",
                                  "copy", "rng", "torch", "attention", "explicit", "clip", "1e-30", NULL);
    ch_recipe *back = recipe_of("seed", "0", NULL);
    char *text = ch_recipe_json(recipe);
    ch_error error;
    check_ok(ch_recipe_read(back, put(text), &error), &error);
    assert_memory_equal(back, recipe, offsetof(ch_recipe, text));
    char *again = ch_recipe_json(back);
    assert_string_equal(again, text);
    ch_string_free(text);
    ch_string_free(again);
    ch_recipe_free(recipe);
    ch_recipe_free(back);
}

/* ---- the optimiser's constants ---- */

static void check_constants(ch_recipe *recipe, double beta1, double beta2, double epsilon) {
    struct optimizer_constants found = optimizer_resolve(recipe->optimizer, recipe->constants);
    assert_true(found.beta1 == beta1 && found.beta2 == beta2 && found.epsilon == epsilon);
    ch_recipe_free(recipe);
}

static void constants_are_the_optimisers_unless_said(void **state) {
    (void)state;
    check_constants(recipe_of("optimizer", "adam", NULL), 0.9, 0.98, 1e-9);
    check_constants(recipe_of("optimizer", "adam-default", NULL), 0.9, 0.999, 1e-8);
    check_constants(recipe_of("optimizer", "adamw", NULL), 0.9, 0.999, 1e-8);
    check_constants(recipe_of("optimizer", "adamw", "beta2", "0.99", NULL), 0.9, 0.99, 1e-8);
    check_constants(recipe_of("beta1", "0.5", "epsilon", "1e-3", NULL), 0.5, 0.98, 1e-3);
    ch_recipe *plain = recipe_of("optimizer", "adamw", NULL);
    assert_true(plain->weight_decay == 0.01); /* PyTorch's */
    ch_recipe_free(plain);
}

/* ---- presets ---- */

static void check_options(const ch_recipe *recipe, const char *settings) {
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", settings);
    for (char *setting; (setting = strsep(&rest, " "));) {
        char *value = strchr(setting, '=');
        *value++ = '\0';
        assert_string_equal(ch_recipe_get(recipe, setting), value);
    }
}

static void presets_are_several_options_at_once(void **state) {
    (void)state;
    static const char *const expected[] = {
        "preset=lesson arch=encoder-decoder kv-heads=0 norm=layernorm norm-placement=post position=sinusoidal ffn=relu "
        "bias=all tie=none embedding-scale=sqrt init=xavier",
        "preset=modern arch=encoder-decoder kv-heads=2 norm=rmsnorm norm-placement=pre position=rope ffn=swiglu "
        "bias=none tie=none embedding-scale=sqrt init=normal",
        "preset=gpt2 arch=decoder-only kv-heads=0 norm=layernorm norm-placement=pre position=learned ffn=gelu-tanh "
        "bias=no-output tie=target-output embedding-scale=one init=normal",
        "preset=llama arch=decoder-only kv-heads=0 norm=rmsnorm norm-placement=pre position=rope ffn=swiglu bias=none "
        "tie=none embedding-scale=one init=normal",
        "preset=bert arch=encoder-only kv-heads=0 norm=layernorm norm-placement=post position=learned ffn=gelu "
        "bias=all tie=none embedding-scale=one init=normal",
    };
    for (size_t i = 0; preset_row(i); i++) {
        assert_true(i < sizeof expected / sizeof *expected);
        ch_recipe *recipe = recipe_of("preset", preset_row(i)->name, NULL);
        check_options(recipe, expected[i]);
        check_options(recipe, "d-model=64 heads=4 d-head=0 d-ff=256 layers=2 dropout=0.1 max-positions=64 lr=0.001");
        if (i > 0) assert_true(preset_row(i)->help != preset_row(0)->help);
        ch_recipe_free(recipe);
    }
}

/* The first preset is the recipe that nobody changed. */
static void lesson_is_the_default(void **state) {
    (void)state;
    ch_recipe *fresh = recipe_of("seed", "0", NULL), *lesson = recipe_of("preset", "lesson", NULL);
    for (size_t i = 0; ch_recipe_option(i); i++) {
        const char *name = ch_recipe_option(i)->name, *value = preset_value(fresh->preset, name);
        assert_string_equal(ch_recipe_get(lesson, name), ch_recipe_get(fresh, name));
        if (value) assert_string_equal(value, ch_recipe_option(i)->default_value);
    }
    ch_recipe_free(fresh);
    ch_recipe_free(lesson);
}

/* Whatever comes first; and of two presets nothing of the earlier is left. */
static void options_win_over_presets(void **state) {
    (void)state;
    ch_recipe *before = recipe_of("position", "alibi", "ffn", "relu", "preset", "llama", NULL);
    ch_recipe *behind = recipe_of("preset", "gpt2", "preset", "llama", "ffn", "relu", "position", "alibi", NULL);
    check_options(before, "preset=llama arch=decoder-only position=alibi ffn=relu norm=rmsnorm bias=none");
    for (size_t i = 0; ch_recipe_option(i); i++) {
        const char *name = ch_recipe_option(i)->name;
        assert_string_equal(ch_recipe_get(behind, name), ch_recipe_get(before, name));
    }
    ch_recipe_free(behind);
    set_option(before, "preset", "lesson");
    check_options(before, "arch=encoder-decoder position=alibi ffn=relu norm=layernorm bias=all init=xavier");
    ch_recipe_free(before);
}

/* A file's options over a preset, be that the file's or not; a bad preset leaves everything; what is written is read.
 */
static void presets_of_files(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("preset", "bert", NULL), *again = recipe_of("seed", "0", NULL);
    ch_error error;
    check_ok(ch_recipe_read(recipe, put("{\"ffn\": \"geglu\", \"preset\": \"modern\", \"heads\": 6}"), &error), &error);
    check_options(recipe, "preset=modern ffn=geglu heads=6 kv-heads=2 arch=encoder-decoder position=rope");
    assert_int_equal(ch_recipe_set(recipe, "preset", "gpt5", &error), CH_USAGE);
    check_options(recipe, "preset=modern ffn=geglu kv-heads=2");
    set_option(recipe, "preset", "llama");
    check_options(recipe, "preset=llama ffn=geglu heads=6 kv-heads=0 arch=decoder-only");
    char *text = ch_recipe_json(recipe);
    check_ok(ch_recipe_read(again, put(text), &error), &error);
    set_option(again, "preset", "bert"); /* everything was given */
    set_option(again, "preset", "llama");
    char *back = ch_recipe_json(again);
    assert_string_equal(back, text);
    set_option(again, "preset", "bert");
    check_options(again, "arch=decoder-only ffn=geglu position=rope");
    ch_string_free(text);
    ch_string_free(back);
    ch_recipe_free(recipe);
    ch_recipe_free(again);
}

/* ---- several options at once ---- */

static void check_together(ch_recipe *recipe, const char *one, const char *two) {
    ch_error error;
    ch_model *model;
    ch_trainer *trainer;
    check_sentence(ch_recipe_check(recipe, &error), CH_USAGE, &error, one, two, NULL);
    check_sentence(ch_model_new(recipe, &model, &error), CH_USAGE, &error, one, two, NULL);
    check_sentence(ch_trainer_new(recipe, NULL, &trainer, &error), CH_USAGE, &error, one, two, NULL);
    assert_null(model);
    assert_null(trainer);
    assert_int_equal(ch_recipe_check(recipe, NULL), CH_USAGE);
    assert_int_equal(ch_model_new(recipe, &model, NULL), CH_USAGE);
    assert_int_equal(ch_trainer_new(recipe, NULL, &trainer, NULL), CH_USAGE);
    ch_recipe_free(recipe);
}

static void options_must_fit_each_other(void **state) {
    (void)state;
    check_together(recipe_of("d-model", "10", "heads", "4", NULL), "d-model 10 is not divisible", "heads 4");
    check_together(recipe_of("d-model", "2", "heads", "4", NULL), "d-model 2", "heads 4");
    check_together(recipe_of("heads", "4", "kv-heads", "3", NULL), "kv-heads: expected a number that divides heads 4",
                   "found 3");
    check_together(recipe_of("heads", "2", "kv-heads", "4", NULL), "divides heads 2", "found 4");
    check_together(recipe_of("heads", "4096", "d-head", "1000000", NULL), "d-head: expected heads times d-head",
                   "4096 times 1000000");
    check_together(recipe_of("d-model", "9", "heads", "3", NULL), "even number, found 9", "sinusoidal");
    check_together(recipe_of("position", "rope", "d-model", "12", "heads", "4", NULL), "d-head", "found 3");
    check_together(recipe_of("position", "rope-interleaved", "d-head", "5", NULL), "d-head", "even number, found 5");
    check_together(recipe_of("rope-base", "500", NULL), "rope-base", "position rope or rope-interleaved, found sinus");
    check_together(recipe_of("position", "alibi", "rope-scaling", "ntk", NULL), "rope-scaling", "found alibi");
    check_together(recipe_of("position", "none", "rope-factor", "2", NULL), "rope-factor", "found none");
    check_together(recipe_of("position", "rope", "rope-factor", "2", NULL),
                   "rope-factor: expected 1 without rope-scaling", "found 2");
    check_together(recipe_of("position", "rope", "rope-scaling", "ntk", NULL), "rope-scaling ntk changes nothing",
                   "rope-factor above 1");
    check_together(recipe_of("soft-cap", "0.0001", NULL), "soft-cap: expected 0, for none, or at least 0.001",
                   "found 0.0001");
    check_together(recipe_of("tokens", "bytes", NULL), "tokens: found bytes", "a task has no use for");
    check_together(recipe_of("held-out", "0.5", NULL), "held-out: found 0.5", "it is of texts");
    check_together(recipe_of("text", "book.txt", "arch", "decoder-only", "min-len", "3", NULL), "min-len: found 3",
                   "a text has no use for");
    check_together(recipe_of("min-len", "6", "max-len", "5", NULL), "min-len 6", "max-len 5");
    check_together(recipe_of("max-len", "10", "max-positions", "10", NULL), "11 positions", "max-positions is 10");
    check_together(recipe_of("arch", "decoder-only", "max-positions", "64", "tie", "all", NULL), "tie all: one stack",
                   "arch decoder-only");
    check_together(recipe_of("weight-decay", "0.1", NULL), "weight-decay: optimizer adam has none", "found 0.1; adamw");
    check_together(recipe_of("schedule", "cosine", "lr", "0.01", "min-lr", "0.02", NULL), "min-lr: expected at most lr",
                   "0.01, found 0.02");
    check_together(recipe_of("min-lr", "0.0001", NULL), "min-lr: schedule warmup does not fall",
                   "found 0.0001; cosine");
    check_together(recipe_of("max-len", "10", "max-positions", "10", "position", "learned", NULL), "11 positions",
                   "max-positions is 10");
    check_together(recipe_of("preset", "modern", "heads", "1", NULL), "divides heads 1", "found 2 of preset modern");
    check_together(recipe_of("preset", "modern", "heads", "1", "kv-heads", "4", NULL), "divides heads 1", "found 4");
    check_together(recipe_of("preset", "bert", NULL), "task reverse asks for a sequence",
                   "arch encoder-only of preset bert cannot write one");
    check_together(recipe_of("preset", "gpt2", "arch", "encoder-only", "task", "brackets", NULL),
                   "tie target-output of preset gpt2: an output of classes",
                   "with task brackets and arch encoder-only");
    check_together(recipe_of("preset", "gpt2", "task", "brackets", NULL), "task brackets asks for a class",
                   "arch decoder-only of preset gpt2 writes tokens");
    ch_recipe *fits = recipe_of("max-len", "10", "max-positions", "11", NULL);
    ch_error error;
    check_ok(ch_recipe_check(fits, &error), &error);
    set_options(fits, "position=rope max-len=30"); /* positions that can extend */
    check_ok(ch_recipe_check(fits, &error), &error);
    ch_recipe_free(fits);
}

/* Refused from the sizes alone, by more than any machine has: nothing large is ever asked of the system. */
static void check_too_large(ch_recipe *recipe) {
    ch_trainer *trainer;
    ch_error error;
    check_sentence(ch_trainer_new(recipe, NULL, &trainer, &error), CH_NO_MEMORY, &error, "GiB of memory",
                   "this machine has", NULL);
    assert_null(trainer);
    assert_int_equal(ch_trainer_new(recipe, NULL, &trainer, NULL), CH_NO_MEMORY);
    ch_recipe_free(recipe);
}

static void too_large_is_refused(void **state) {
    (void)state;
    check_too_large(recipe_of("d-model", "1000000", NULL));
    check_too_large(recipe_of("d-model", "1000000", "heads", "1", "layers", "1", "d-ff", "1", NULL));
    check_too_large(recipe_of("batch-size", "1000000", "max-len", "999999", "max-positions", "1000000", NULL));
    check_too_large(recipe_of("max-positions", "10000000", "d-model", "1000000", NULL));
    ch_recipe *recipe = recipe_of("d-model", "1000000", NULL);
    ch_model *model;
    ch_error error;
    check_sentence(ch_model_new(recipe, &model, &error), CH_NO_MEMORY, &error, "GiB of memory", NULL);
    assert_null(model);
    set_option(recipe, "d-ff", "10000000");
    set_option(recipe, "layers", "10000"); /* more bytes than 64 bits count */
    check_sentence(ch_model_new(recipe, &model, &error), CH_NO_MEMORY, &error, "memory", NULL);
    assert_null(model);
    ch_recipe_free(recipe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_default_is_good),
        cmocka_unit_test(defaults_are_the_lessons),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(nonsense_is_refused_everywhere),
        cmocka_unit_test(switches_are_on_or_off),
        cmocka_unit_test(every_row_is_a_number_with_limits_a_switch_or_a_name),
        cmocka_unit_test(names_are_suggested),
        cmocka_unit_test(every_variant_can_be_chosen),
        cmocka_unit_test(bad_files_leave_the_recipe_alone),
        cmocka_unit_test(later_calls_win),
        cmocka_unit_test(json_and_back),
        cmocka_unit_test(constants_are_the_optimisers_unless_said),
        cmocka_unit_test(presets_are_several_options_at_once),
        cmocka_unit_test(lesson_is_the_default),
        cmocka_unit_test(options_win_over_presets),
        cmocka_unit_test(presets_of_files),
        cmocka_unit_test(options_must_fit_each_other),
        cmocka_unit_test(too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
