#include "runs.h"

#include <string.h>

char *folder;

int make_folder(void **state) {
    (void)state;
    folder = make_temp_folder();
    return 0;
}

int drop_folder(void **state) {
    (void)state;
    remove_folder(folder);
    return 0;
}

ch_recipe *run_recipe(const char *option, const char *value) {
    return recipe_of("d-model", "8", "heads", "2", "d-ff", "12", "layers", "1", "max-positions", "12", "batch-size",
                     "5", "steps", "10", "warmup", "4", "lr", "0.01", "log-every", "3", "save-every", "4", "validation",
                     "7", option, value, NULL);
}

void finish_run(ch_trainer *trainer) {
    ch_error error;
    check_ok(ch_trainer_run(trainer, NULL, NULL, &error), &error);
    ch_trainer_free(trainer);
}

char *whole_run(const char *name, const ch_recipe *recipe) {
    char *run = strdup(path_in(folder, name));
    finish_run(trainer_of(recipe, run));
    return run;
}

struct js_value *next_line(char **at) {
    char *end = strchr(*at, '\n');
    assert_non_null(end);
    struct js_value *line;
    ch_error error;
    check_ok(js_parse(*at, (size_t)(end - *at), "line", &line, &error), &error);
    *at = end + 1;
    return line;
}

double number_of(const struct js_value *object, const char *key) {
    double value;
    ch_error error;
    check_ok(js_double(js_find(object, key), "object", key, &value, &error), &error);
    return value;
}
