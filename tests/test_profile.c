/* The profile of a training changes no bit, and its rows are the time of the steps. */
#include "models.h"

#include <string.h>

static ch_recipe *small_recipe(const char *threads, const char *rng) {
    return recipe_of("d-model", "16", "heads", "2", "d-ff", "32", "layers", "1", "batch-size", "16", "threads", threads,
                     "rng", rng, NULL);
}

static double sum_of_rows(const ch_trainer *trainer, bool *named) {
    ch_profile_row row;
    double sum = 0;
    size_t count = 0;
    for (; ch_trainer_profile(trainer, count, &row); count++) {
        *named = *named || strcmp(row.operation, "matrix products") == 0;
        assert_true(row.seconds >= -1e-9); /* waiting is a difference */
        sum += row.seconds;
    }
    assert_int_equal(count, OPERATIONS);
    return sum;
}

/* The laps lie within the steps, so the rows are at most their time; what is outside the laps is two looks at a clock.
 */
static void check_sum(const char *threads, const char *rng, int steps) {
    ch_recipe *recipe = small_recipe(threads, rng);
    ch_trainer *trainer = trainer_of(recipe, NULL);
    double seconds = 0;
    bool named = false;
    ch_trainer_profile_start(trainer);
    for (int i = 0; i < steps; i++) seconds += take_steps(trainer, 1).seconds;
    double sum = sum_of_rows(trainer, &named);
    assert_true(named && 0 < sum && sum <= seconds * (1 + 1e-9));
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
}

static void rows_are_the_steps(void **state) {
    (void)state;
    check_sum("1", "philox", 1);
    check_sum("1", "philox", 5);
    check_sum("2", "philox", 5);
    check_sum("8", "philox", 5);
    check_sum("2", "torch", 3);
}

static void same_bits(const char *threads) {
    ch_recipe *recipe = small_recipe(threads, "philox");
    ch_trainer *plain = trainer_of(recipe, NULL), *profiled = trainer_of(recipe, NULL);
    take_steps(profiled, 1);
    ch_trainer_profile_start(profiled); /* at any time */
    take_steps(profiled, 4);
    take_steps(plain, 5);
    check_same("parameters", profiled->model->params.value, plain->model->params.value, plain->model->params.trained);
    ch_trainer_free(plain);
    ch_trainer_free(profiled);
    ch_recipe_free(recipe);
}

static void it_changes_nothing(void **state) {
    (void)state;
    same_bits("1");
    same_bits("2");
}

static void nothing_is_measured_unless_asked_for(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe("1", "philox");
    ch_trainer *trainer = trainer_of(recipe, NULL);
    ch_profile_row row;
    bool named = false;
    take_steps(trainer, 2);
    assert_false(ch_trainer_profile(trainer, 0, &row));
    ch_trainer_profile_start(trainer);
    assert_true(sum_of_rows(trainer, &named) == 0); /* no step was taken since */
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
}

static void laps(void **state) {
    (void)state;
    struct profile profile = {0};
    profile_start(NULL);
    profile_lap(NULL, OPERATION_NORM);
    profile_start(&profile);
    double started = profile.looked;
    profile_lap(&profile, OPERATION_NORM);
    profile_lap(&profile, OPERATION_DATA);
    profile_lap(&profile, OPERATION_NORM);
    assert_true(fabs(profile_total(&profile) - (profile.looked - started)) <= 1e-9 * profile.looked);
    for (int i = 0; i < OPERATIONS; i++) {
        assert_true(strlen(profile_name((enum operation)i)) > 0);
        if (i != OPERATION_NORM && i != OPERATION_DATA) assert_true(profile.seconds[i] == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laps),
        cmocka_unit_test(rows_are_the_steps),
        cmocka_unit_test(it_changes_nothing),
        cmocka_unit_test(nothing_is_measured_unless_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
