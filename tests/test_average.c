/* The mean of the weights: its shares against the weights that polynomial decay gives each step, and a training's mean
 * against one summed here from every step's weights. */
#include "optim/average.h"
#include "runs.h"

#include <float.h>
#include <stdlib.h>

static const double epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;

enum { STEPS = 200 };

/* All of the first eight steps enter the mean, then every eighth. */
static bool enters(int step) {
    return step <= 8 || step % 8 == 0;
}

/* weight[step]: of each of the steps 1..last in the mean after the last, in closed form. The n-th of those that enter
 * weighs as n (n + 1) ... (n + part - 2), in proportion to the last one's, and all sum to 1. */
static void closed_form(double *weight, int part, int last) {
    int of_all = 0, n = 0;
    double sum = 0;
    for (int step = 1; step <= last; step++) of_all += enters(step);
    for (int step = 1; step <= last; step++) {
        n += enters(step);
        weight[step] = enters(step);
        for (int i = 0; i < part - 1; i++) weight[step] *= (double)(n + i) / (of_all + i);
        sum += weight[step];
    }
    for (int step = 1; step <= last; step++) weight[step] /= sum;
}

/* A mean of unit vectors, one for each step, has the steps' weights as its entries. */
static void shares_are_those_of_polynomial_decay(void **state) {
    (void)state;
    static const int parts[] = {1, 2, 3, 8, 32, 100};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        double mean[STEPS + 1] = {0}, expected[STEPS + 1];
        for (int step = 1; step <= STEPS; step++) {
            double share = average_share(parts[p], step);
            assert_int_equal(share > 0, enters(step));
            for (int s = 1; s <= step; s++) mean[s] += share * ((s == step ? 1 : 0) - mean[s]);
        }
        closed_form(expected, parts[p], STEPS);
        for (int s = 1; s <= STEPS; s++) assert_true(fabs(mean[s] - expected[s]) < 1e-13);
    }
}

/* Each move of the mean rounds to half a unit of the largest weight, and a run of 20 steps makes nine. */
static void a_trainings_model_is_the_mean_of_its_weights(void **state) {
    (void)state;
    enum { LAST = 20, PART = 3 };
    ch_recipe *recipe = run_recipe("average", "3");
    set_option(recipe, "steps", "20");
    ch_trainer *trainer = trainer_of(recipe, NULL);
    const struct params *params = &trainer->model->params;
    double *mean = calloc(params->block, sizeof *mean), weight[LAST + 1], largest = 0, apart = 0;
    assert_non_null(mean);
    closed_form(weight, PART, LAST);
    for (int step = 1; step <= LAST; step++) {
        take_steps(trainer, 1);
        for (size_t i = 0; i < params->trained; i++) {
            mean[i] += weight[step] * (double)params->value[i];
            largest = fmax(largest, fabs((double)params->value[i]));
            apart = fmax(apart, fabs((double)params->value[i] - mean[i]));
        }
    }
    const struct params *result = &ch_trainer_model(trainer)->params;
    for (size_t i = 0; i < params->trained; i++)
        assert_true(fabs((double)result->value[i] - mean[i]) <= 16 * epsilon * largest);
    assert_true(apart > 1e-3); /* else any step's weights would do */
    check_same("buffers", result->value + params->trained, params->value + params->trained,
               params->block - params->trained);
    free(mean);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
}

static void without_a_mean_it_is_the_weights_themselves(void **state) {
    (void)state;
    ch_recipe *recipe = run_recipe("average", "0");
    char *run = whole_run("none", recipe);
    ch_trainer *trainer = trainer_of(recipe, NULL);
    take_steps(trainer, 10);
    assert_ptr_equal(ch_trainer_model(trainer), trainer->model);
    ch_model *saved = open_model(path_in(run, "checkpoints/10"));
    check_same("parameters", saved->params.value, trainer->model->params.value, saved->params.block);
    ch_model_free(saved);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    free(run);
}

/* What is validated and kept differs, what is trained does not. */
static void training_is_the_same_with_and_without(void **state) {
    (void)state;
    ch_recipe *with = run_recipe("average", "8"), *without = run_recipe("average", "0");
    ch_trainer *a = trainer_of(with, NULL), *b = trainer_of(without, NULL);
    for (int i = 0; i < 10; i++) {
        ch_step left = take_steps(a, 1), right = take_steps(b, 1);
        assert_true(left.loss == right.loss && left.grad_norm == right.grad_norm);
    }
    check_same("parameters", a->model->params.value, b->model->params.value, a->model->params.block);
    ch_trainer_free(a);
    ch_trainer_free(b);
    ch_recipe_free(with);
    ch_recipe_free(without);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_polynomial_decay),
        cmocka_unit_test(a_trainings_model_is_the_mean_of_its_weights),
        cmocka_unit_test(without_a_mean_it_is_the_weights_themselves),
        cmocka_unit_test(training_is_the_same_with_and_without),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
