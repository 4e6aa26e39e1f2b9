/*
 * Attention by its definition, in long double: a loop for each sign of the formulas, and no line of any core. For
 * problems of cores.h.
 */
#ifndef TESTS_DEFINITION_H
#define TESTS_DEFINITION_H

#include "cores.h"

/* Whether key j is hidden from query i of sequence b. */
bool is_hidden(const struct scores *s, int b, int i, int j);
/* The score of query i on key j as the softmax takes it, unless it is hidden. */
long double exact_score(const struct problem *p, int b, int h, int i, int j);
/* The derivative of its soft cap, 1 without one. */
long double exact_cap(const struct problem *p, int b, int h, int i, int j);
/* The number of T5's bucket of a key at `ahead` = j - p. */
int exact_bucket(const struct score_buckets *buckets, int ahead);
/* The weights of one query; gives whether it sees anything. */
bool exact_weights(real *row, const struct problem *p, int b, int h, int i);
/* out, dq, dk, dv and, where there are buckets, dtable; rows lie as those of the problem. */
void exact_attention(struct result *exact, const struct problem *p);

#endif
