/*
 * What the tests of runs share: a folder for the whole group of tests, a small run's recipe, whole runs in that folder,
 * and the lines of JSON that they leave.
 */
#ifndef TESTS_RUNS_H
#define TESTS_RUNS_H

#include "base/json.h"
#include "models.h"

/* Made before the group's tests and gone after them; both return 0, as cmocka wants it. */
extern char *folder;
int make_folder(void **state);
int drop_folder(void **state);

/* Ten steps of a small model with checkpoints after 4, 8 and 10, and one option more. */
ch_recipe *run_recipe(const char *option, const char *value);
/* Runs it to its end and frees the trainer. */
void finish_run(ch_trainer *trainer);
/* A whole run in <folder>/<name>, whose path it returns; free() it. */
char *whole_run(const char *name, const ch_recipe *recipe);

/* Takes one line and moves behind it; js_free() it. */
struct js_value *next_line(char **at);
/* A number of an object; fails the test if there is none. */
double number_of(const struct js_value *object, const char *key);

#endif
