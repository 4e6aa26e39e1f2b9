/*
 * Models of many parts at once: every preset, then rows of all families and options together, drawn from a fixed seed
 * so that the name of a failing one says all of it. A new family or variant is drawn without a line here.
 */
#ifndef TESTS_COMBINATIONS_H
#define TESTS_COMBINATIONS_H

#include "models.h"

enum { COMBINATIONS = 50 };

/* Sets preset or combination i, sizes of width and heads included, and gives its name; NULL past the last. Sequences of
 * up to 9 symbols fit its positions. What ch_recipe_check refuses is drawn again. */
const char *set_combination(ch_recipe *recipe, size_t i);
/* How many were refused for the COMBINATIONS that were not. */
int combinations_refused(void);

/* Every part (set_part), then every preset and combination. */
const char *set_case(ch_recipe *recipe, size_t i);
/* The model of a recipe with this name: one that finds hidden tokens where that says so. */
ch_model *model_of_case(const ch_recipe *recipe, const char *name);

#endif
