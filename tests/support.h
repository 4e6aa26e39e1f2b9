/*
 * What the tests share: numbers from a seed, closeness that says where it fails, small batches, folders that go
 * away. Includes cmocka and what it wants before it.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include "base/batch.h"
#include "base/real.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- numbers ---- */

/* x (n) uniform in -scale..scale, the same for the same seed on any machine. */
void fill_random(real *x, size_t n, uint64_t seed, double scale);
void fill_value(real *x, size_t n, real value);
/* A whole number in from..to, both included; `draw` tells the draws of one seed apart. */
int random_int(uint64_t seed, uint64_t draw, int from, int to);
/* n of them, uninitialised but never NULL; free() gives them back. */
real *new_reals(size_t n);

/* ---- closeness: |a - b| <= tolerance * max(1, |b|); NaN is close to NaN only, an infinity to itself ---- */

/* The worst |a - b| / max(1, |b|); INFINITY where one alone is NaN or they are different infinities. */
double worst_difference(const real *a, const real *b, size_t n);
/* Fails the test at the first pair that is not close, naming what, index and both values. */
void check_close(const char *what, const real *a, const real *b, size_t n, double tolerance);
/* Fails the test unless both hold the same bits. */
void check_same(const char *what, const real *a, const real *b, size_t n);

/* A check that is made many times and reported once: the worst difference beside what is allowed. */
struct figure {
    const char *what;
    double tolerance, worst;
};

void figure_check(struct figure *figure, const real *a, const real *b, size_t n);
void figure_show(const struct figure *figure);

/* ---- batches; free with batch_buffer_free ---- */

/* Packed; sequence b has length[b] rows from `position` on and is example `first + b`. */
struct batch_buffer packed_batch(const int *length, int sequences, int position, uint32_t first);
/* The same sequences in a padded layout: sequence b starts at row b * longest, the rows behind its own are padding. */
struct batch_buffer padded_batch(const int *length, int sequences, int longest, int position, uint32_t first);

/* ---- folders ---- */

/* A new empty folder under $TMPDIR or /tmp; remove_folder takes it away, with all in it, and frees the name. */
char *make_temp_folder(void);
void remove_folder(char *folder);

#endif
