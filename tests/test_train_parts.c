/*
 * Training with each part of a model: stopped and resumed is uninterrupted, more threads give the same bits, a step
 * after the first allocates nothing.
 */
#include "base/memory.h"
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called with a recipe that has one part more or less than the lesson's, and its number. */
static void with_every_part(void (*check)(const ch_recipe *recipe, size_t i)) {
    bool more = true;
    for (size_t i = 0; more; i++) {
        ch_recipe *recipe = run_recipe("rng", i % 2 ? "torch" : "philox");
        more = set_part(recipe, i);
        if (more) check(recipe, i);
        ch_recipe_free(recipe);
    }
}

static bool stop_at_five(const ch_step *step, void *context) {
    (void)context;
    return step->step < 5;
}

static void check_resume(const ch_recipe *recipe, size_t i) {
    static const char *const files[] = {"model.safetensors", "log.jsonl", "checkpoints/10/trainer.safetensors"};
    char name[32];
    snprintf(name, sizeof name, "%zu-whole", i);
    char *whole = whole_run(name, recipe);
    snprintf(name, sizeof name, "%zu-stopped", i);
    char *stopped = strdup(path_in(folder, name));
    ch_trainer *trainer = trainer_of(recipe, stopped);
    ch_error error;
    check_sentence(ch_trainer_run(trainer, stop_at_five, NULL, &error), CH_STOPPED, &error, "after step 5", NULL);
    ch_trainer_free(trainer);
    check_ok(ch_trainer_resume(stopped, NULL, NULL, 0, &trainer, &error), &error);
    finish_run(trainer);
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) check_same_file(stopped, whole, files[f]);
    free(whole), free(stopped);
}

static void stopped_and_resumed_is_uninterrupted(void **state) {
    (void)state;
    with_every_part(check_resume);
}

/* The parameters after five steps; free() them. */
static real *trained(const ch_recipe *recipe, size_t *count) {
    ch_trainer *trainer = trainer_of(recipe, NULL);
    take_steps(trainer, 5);
    *count = trainer->model->params.block;
    real *copy = new_reals(*count);
    memcpy(copy, trainer->model->params.value, *count * sizeof *copy);
    ch_trainer_free(trainer);
    return copy;
}

static void check_threads(const ch_recipe *given, size_t i) {
    (void)i;
    size_t count;
    ch_recipe *recipe = run_recipe("threads", "3");
    for (size_t row = 0; ch_recipe_option(row); row++) {
        const char *option = ch_recipe_option(row)->name;
        if (strcmp(option, "threads") != 0) set_option(recipe, option, ch_recipe_get(given, option));
    }
    real *more = trained(recipe, &count);
    set_option(recipe, "threads", "1");
    real *one = trained(recipe, &count);
    check_same("parameters on more threads", more, one, count);
    free(more), free(one);
    ch_recipe_free(recipe);
}

static void more_threads_give_the_same_bits(void **state) {
    (void)state;
    with_every_part(check_threads);
}

static void check_allocations(const ch_recipe *recipe, size_t i) {
    (void)i;
    ch_trainer *trainer = trainer_of(recipe, NULL);
    take_steps(trainer, 1);
    uint64_t before = mem_allocations();
    take_steps(trainer, 3);
    assert_int_equal(mem_allocations(), before);
    ch_trainer_free(trainer);
}

static void a_step_allocates_nothing(void **state) {
    (void)state;
    with_every_part(check_allocations);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_and_resumed_is_uninterrupted),
        cmocka_unit_test(more_threads_give_the_same_bits),
        cmocka_unit_test(a_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
