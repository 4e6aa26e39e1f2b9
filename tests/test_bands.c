/* Bands of a recipe: read strictly, kept in the run's recipe, found at their steps, dropped once they mean nothing. */
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO "[{\"step\": 4, \"low\": 0.5, \"high\": 90}, {\"step\": 8, \"low\": 0, \"high\": 0}]"

static ch_status read_text(ch_recipe *recipe, const char *text, ch_error *error) {
    const char *path = path_in(folder, "recipe.json");
    put_bytes(path, text, strlen(text));
    return ch_recipe_read(recipe, path, error);
}

/* The options of run_recipe, and two bands. */
static ch_recipe *banded(void) {
    ch_recipe *recipe = run_recipe("seed", "0");
    ch_error error;
    check_ok(read_text(recipe, "{\"bands\": " TWO ", \"lr\": 0.02}", &error), &error);
    return recipe;
}

static void check_two(const ch_recipe *recipe) {
    assert_int_equal(recipe->bands.count, 2);
    assert_null(ch_recipe_unbanded(recipe));
    const ch_band *first = bands_find(&recipe->bands, 4);
    assert_true(first && first->step == 4 && first->low == 0.5 && first->high == 90);
    assert_true(bands_find(&recipe->bands, 8) == first + 1);
    assert_null(bands_find(&recipe->bands, 5));
}

/* Options of the same file, before the bands and behind them, belong to them. */
static void read_and_written(void **state) {
    (void)state;
    ch_recipe *recipe = banded(), *back = run_recipe("seed", "0");
    ch_error error;
    check_two(recipe);
    char *text = ch_recipe_json(recipe);
    check_ok(read_text(back, text, &error), &error);
    check_two(back);
    char *again = ch_recipe_json(back);
    assert_string_equal(again, text);
    ch_string_free(text), ch_string_free(again);
    ch_recipe_free(recipe), ch_recipe_free(back);
}

static void check_refused(const char *bands, const char *says, const char *more) {
    char text[512];
    ch_recipe *recipe = banded();
    ch_error error;
    snprintf(text, sizeof text, "{\"lr\": 0.5, \"bands\": %s}", bands);
    check_sentence(read_text(recipe, text, &error), CH_USAGE, &error, "recipe.json: '", says, more, NULL);
    check_two(recipe); /* as it was */
    assert_true(recipe->lr == 0.02);
    assert_int_equal(read_text(recipe, text, NULL), CH_USAGE);
    ch_recipe_free(recipe);
}

static void bad_bands_are_refused(void **state) {
    (void)state;
    check_refused("{}", "'bands'", "array");
    check_refused("250", "'bands'", "array");
    check_refused("[5]", "'bands[0]'", "object");
    check_refused("[{\"step\": 4, \"low\": 1}]", "'bands[0].high'", "");
    check_refused("[{\"low\": 1, \"high\": 2}]", "'bands[0].step'", "");
    check_refused("[{\"step\": 4.5, \"low\": 1, \"high\": 2}]", "'bands[0].step'", "whole number");
    check_refused("[{\"step\": 4, \"low\": \"1\", \"high\": 2}]", "'bands[0].low'", "number");
    check_refused("[{\"step\": 4, \"low\": -1, \"high\": 2}]", "'bands[0].low'", "at least 0, found -1");
    check_refused("[{\"step\": 4, \"low\": 3, \"high\": 2}]", "'bands[0]'", "at most high, found 3 and 2");
    check_refused("[{\"step\": 0, \"low\": 1, \"high\": 2}]", "'bands[0].step'",
                  "behind 0, since steps ascend, found 0");
    check_refused("[{\"step\": 4, \"low\": 1, \"high\": 2}, {\"step\": 4, \"low\": 1, \"high\": 2}]", "'bands[1].step'",
                  "behind 4");
    check_refused("[{\"step\": 4, \"low\": 1, \"high\": 2, \"loss\": 1}]", "'bands[0]'",
                  "unknown key 'loss'; have step, low, high");
}

static void too_many_are_refused(void **state) {
    (void)state;
    char text[8192] = "{\"bands\": [";
    for (int i = 0; i <= MOST_BANDS; i++)
        snprintf(text + strlen(text), 64, "%s{\"step\": %d, \"low\": 1, \"high\": 2}", i ? ", " : "", i + 1);
    strcat(text, "]}");
    ch_recipe *recipe = banded();
    ch_error error;
    check_sentence(read_text(recipe, text, &error), CH_USAGE, &error, "expected at most 64, found 65", NULL);
    ch_recipe_free(recipe);
}

static void a_step_that_does_not_come_is_refused(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("seed", "0");
    ch_error error;
    check_ok(read_text(recipe, "{\"bands\": [{\"step\": 11, \"low\": 1, \"high\": 2}]}", &error), &error);
    check_sentence(ch_recipe_check(recipe, &error), CH_USAGE, &error, "bands: expected steps of at most 10", "found 11",
                   NULL);
    ch_recipe_free(recipe);
}

/* A value of each option that differs from run_recipe's. */
static const char *const shaping[][2] = {{"lr", "0.03"},      {"steps", "12"}, {"task", "copy"}, {"dropout", "0"},
                                         {"validation", "8"}, {"tie", "all"},  {"average", "0"}};
static const char *const free_options[][2] = {{"seed", "3"},           {"rng", "torch"},    {"threads", "1"},
                                              {"log-every", "1"},      {"save-every", "2"}, {"attention", "explicit"},
                                              {"log-gradients", "on"}, {"lr", "2e-2"},      {"text", "a book.txt"}};

static void other_options_drop_them(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shaping / sizeof *shaping; i++) {
        ch_recipe *recipe = banded();
        set_option(recipe, shaping[i][0], shaping[i][1]);
        assert_int_equal(recipe->bands.count, 0);
        assert_string_equal(ch_recipe_unbanded(recipe), shaping[i][0]);
        char *text = ch_recipe_json(recipe);
        assert_null(strstr(text, "bands"));
        ch_string_free(text);
        ch_recipe_free(recipe);
    }
    for (size_t i = 0; i < sizeof free_options / sizeof *free_options; i++) {
        ch_recipe *recipe = banded();
        set_option(recipe, free_options[i][0], free_options[i][1]);
        check_two(recipe);
        ch_recipe_free(recipe);
    }
}

/* ---- the recipes that are installed ---- */

/* What knows nothing loses ln 65 on the text that they were measured on, and they must tell it. */
static void recipes_have_bands(void **state) {
    (void)state;
    static const char *const files[] = {"tinyshakespeare.json", "tinyshakespeare-modern.json"};
    static const int steps[] = {250, 500, 1000, 1500, 2000};
    for (size_t f = 0; f < 2; f++) {
        ch_recipe *recipe;
        ch_error error;
        char path[512];
        snprintf(path, sizeof path, CH_SOURCE "/recipes/%s", files[f]);
        check_ok(ch_recipe_new(&recipe, &error), &error);
        check_ok(ch_recipe_read(recipe, path, &error), &error);
        set_option(recipe, "text", "a text.txt");
        check_ok(ch_recipe_check(recipe, &error), &error);
        assert_int_equal(recipe->bands.count, 5);
        double before = log(65);
        for (int i = 0; i < 5; i++) {
            const ch_band *band = &recipe->bands.band[i];
            assert_int_equal(band->step, steps[i]);
            assert_true(band->low < band->high && band->high < before);
            before = band->high;
        }
        ch_recipe_free(recipe);
    }
}

/* ---- in a run ---- */

static bool see_band(const ch_step *step, void *context) {
    bool *seen = context;
    assert_int_equal(step->band != NULL, step->step == 4 || step->step == 8);
    assert_true(!step->band || (step->band->step == step->step && !isnan(step->validation_loss)));
    seen[step->step] = step->band;
    return step->step != 6;
}

/* Stopped between them and gone on with. */
static void a_run_meets_its_bands(void **state) {
    (void)state;
    bool seen[11] = {false};
    ch_recipe *recipe = banded();
    char *run = strdup(path_in(folder, "run"));
    ch_trainer *trainer = trainer_of(recipe, run);
    ch_error error;
    assert_int_equal(ch_trainer_run(trainer, see_band, seen, &error), CH_STOPPED);
    ch_trainer_free(trainer);
    check_ok(ch_trainer_resume(run, NULL, NULL, 0, &trainer, &error), &error);
    check_two(ch_trainer_recipe(trainer));
    check_ok(ch_trainer_run(trainer, see_band, seen, &error), &error);
    ch_trainer_free(trainer);
    assert_true(seen[4] && seen[8] && !seen[10]);
    static const char *const changed[] = {"steps"};
    set_option(recipe, "steps", "12");
    check_ok(ch_trainer_resume(run, recipe, changed, 1, &trainer, &error), &error);
    assert_string_equal(ch_recipe_unbanded(ch_trainer_recipe(trainer)), "steps");
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_and_written),        cmocka_unit_test(bad_bands_are_refused),
        cmocka_unit_test(too_many_are_refused),    cmocka_unit_test(a_step_that_does_not_come_is_refused),
        cmocka_unit_test(other_options_drop_them), cmocka_unit_test(recipes_have_bands),
        cmocka_unit_test(a_run_meets_its_bands),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
