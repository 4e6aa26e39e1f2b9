/*
 * --log-gradients: the norms in gradients.jsonl are those of the gradients and changes that a second trainer holds in
 * memory, their squares add up to the log's gradient norm, training is the same with and without them, and a resumed
 * run's file equals an uninterrupted one's.
 */
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double norm_of(const real *a, const real *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double x = (double)a[i] - (b ? (double)b[i] : 0);
        sum += x * x;
    }
    return sqrt(sum);
}

/* Sums of squares in double, perhaps in another order: a few units in the last place of each. */
static void check_norm(double found, double expected) {
    if (fabs(found - expected) > 1e-12 * fmax(1, expected)) fail_msg("found %.17g, expected %.17g", found, expected);
}

static void check_line(const struct js_value *line, const ch_trainer *trainer, const real *before,
                       const ch_step *step) {
    const struct params *params = &trainer->model->params;
    const struct js_value *gradient = js_find(line, "gradient"), *update = js_find(line, "update");
    double squares = 0;
    size_t tensors = 0;
    assert_true(number_of(line, "schema") == 1 && number_of(line, "step") == (double)step->step);
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (!param_is_trained(row)) continue;
        tensors++;
        double norm = number_of(gradient, row->name);
        check_norm(norm, norm_of(trainer->grad[0] + row->offset, NULL, row->count));
        check_norm(number_of(update, row->name),
                   norm_of(params->value + row->offset, before + row->offset, row->count));
        squares += norm * norm;
    }
    assert_int_equal(js_count(gradient), tensors);
    assert_int_equal(js_count(update), tensors);
    assert_true(tensors > 20);
    check_norm(sqrt(squares), step->grad_norm); /* before clipping, which is at 1 */
}

static void norms_are_those_of_gradients_and_changes(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("log-gradients", "on");
    char *run = whole_run("norms", recipe);
    size_t size;
    char *log = file_bytes(path_in(run, "gradients.jsonl"), &size), *at = log;
    ch_trainer *trainer = trainer_of(recipe, NULL);
    const struct params *params = &trainer->model->params;
    real *before = new_reals(params->block);
    bool clipped = false;
    for (int64_t s = 1; s <= 10; s++) {
        memcpy(before, params->value, params->block * sizeof *before);
        ch_step step = take_steps(trainer, 1);
        clipped = clipped || step.grad_norm > 1;
        if (s != 1 && s % 3 != 0 && s % 4 != 0 && s != 10) continue; /* the steps of the log */
        struct js_value *line = next_line(&at);
        check_line(line, trainer, before, &step);
        js_free(line);
    }
    assert_int_equal(*at, '\0');
    assert_true(clipped); /* else "before clipping" is not tested */
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    free(before), free(log), free(run);
}

static void training_is_the_same_with_and_without(void **state) {
    (void)state;
    ch_recipe *on = run_recipe("log-gradients", "on"), *off = run_recipe("log-gradients", "off");
    char *with = whole_run("with", on), *without = whole_run("without", off);
    assert_true(is_there(with, "gradients.jsonl"));
    assert_false(is_there(without, "gradients.jsonl"));
    check_same_file(with, without, "model.safetensors");
    check_same_file(with, without, "log.jsonl");
    check_same_file(with, without, "checkpoints/10/trainer.safetensors");
    ch_recipe_free(on);
    ch_recipe_free(off);
    free(with), free(without);
}

static bool stop_at(const ch_step *step, void *context) {
    return step->step < *(int64_t *)context;
}

static ch_trainer *resumed(const char *run) {
    ch_trainer *trainer;
    ch_error error;
    check_ok(ch_trainer_resume(run, NULL, NULL, 0, &trainer, &error), &error);
    return trainer;
}

static void append(const char *path, const char *text) {
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Stopped at any step, with lines behind the checkpoint as a killed run leaves them. */
static void resumed_is_uninterrupted(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("log-gradients", "on");
    char *whole = whole_run("whole", recipe);
    for (int64_t step = 1; step < 10; step++) {
        char name[32], says[64], stale[64];
        snprintf(name, sizeof name, "stopped-%d", (int)step);
        snprintf(says, sizeof says, "stopped after step %d", (int)step);
        char *run = strdup(path_in(folder, name));
        ch_trainer *trainer = trainer_of(recipe, run);
        ch_error error;
        check_sentence(ch_trainer_run(trainer, stop_at, &step, &error), CH_STOPPED, &error, says, NULL);
        ch_trainer_free(trainer);
        snprintf(stale, sizeof stale, "{\"schema\":1,\"step\":%d}\n{\"sch", (int)step + 1);
        append(path_in(run, "gradients.jsonl"), stale);
        trainer = resumed(run);
        check_ok(ch_trainer_run(trainer, NULL, NULL, &error), &error);
        ch_trainer_free(trainer);
        check_same_file(run, whole, "gradients.jsonl");
        check_same_file(run, whole, "model.safetensors");
        free(run);
    }
    free(whole);
    ch_recipe_free(recipe);
}

static void it_cannot_change_on_the_way(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("log-gradients", "off"), *changes = run_recipe("log-gradients", "on");
    char *run = whole_run("fixed", recipe);
    static const char *const changed[] = {"log-gradients"};
    ch_trainer *trainer;
    ch_error error;
    check_sentence(ch_trainer_resume(run, changes, changed, 1, &trainer, &error), CH_USAGE, &error,
                   "log-gradients cannot change", "it has 'off', found 'on'", NULL);
    ch_recipe_free(recipe);
    ch_recipe_free(changes);
    free(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_are_those_of_gradients_and_changes),
        cmocka_unit_test(training_is_the_same_with_and_without),
        cmocka_unit_test(resumed_is_uninterrupted),
        cmocka_unit_test(it_cannot_change_on_the_way),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
