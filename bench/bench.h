/*
 * clearhead-bench: how fast the kernels and whole models are, beside what this machine can do.
 *
 * A kind of case is a table of cases of one shape (all matrix products, all attention cores ...). The harness checks a
 * case over the very inputs that it is going to time, refuses to time what is wrong, and compares the rate with a limit
 * that it measures in the same run.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/error.h"
#include "base/philox.h"
#include "base/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CASE_NAME = 64 };

/* What one run does. Arithmetic that somebody has to do (2 for each multiplication and addition of a product), or bytes
 * that must be read and written; the other is 0. */
struct work {
    double flop, bytes;
};

struct kind {
    const char *name;
    /* Gives the name of case i, behind the kind's own and a slash; false past the last. */
    bool (*row)(size_t i, char name[CASE_NAME]);
    /* The case, before it, whose time that of case i is told beside; i itself: none. NULL: of no case. */
    size_t (*plain)(size_t i);
    /* Inputs of case i on so many threads; NULL after an error. */
    void *(*open)(size_t i, int threads, ch_error *error);
    /* Compares a run with the reference; the sentence says what is wrong. */
    ch_status (*verify)(void *state, ch_error *error);
    ch_status (*run)(void *state, ch_error *error);
    struct work (*work)(const void *state); /* of the last run */
    void (*close)(void *state);             /* NULL is fine */
    bool threaded;                          /* timed by the wall clock, others by their thread's processor time */
};

extern const struct kind kind_gemm, kind_attention, kind_rows, kind_train, kind_decode;

/* ---- one case, timed: harness.c ---- */

struct timing {
    double median, first_quartile, third_quartile, least; /* seconds of a run */
    double rate;                                          /* FLOP/s or bytes/s, the median */
    struct work work;                                     /* of the last run */
    double of_plain;                                      /* median beside that of the plain case; 0: none was timed */
    int samples, repeats;                                 /* runs of a sample */
};

/* Verifies, then times for at least `seconds`. */
ch_status measure(const struct kind *kind, void *state, double seconds, struct timing *timing, ch_error *error);

/* ---- the machine's limits: machine.c ---- */

struct machine {
    int threads;
    double gemm_one, gemm_all; /* FLOP/s of products 1024 x 1024 x 1024 on one thread; one on each thread */
    double copy;               /* bytes/s, read and written, of a copy in memory by one thread */
    double load;               /* mean of the last minute before: above 0, somebody else was at work */
    char processor[64];
};

ch_status machine_measure(struct machine *machine, int threads, ch_error *error);
/* What the timing is compared with: FLOP/s of the threads that the kind uses, or bytes/s of a copy of as many bytes. */
ch_status machine_limit(const struct machine *machine, const struct kind *kind, const struct timing *timing,
                        double *limit, ch_error *error);

/* ---- results: report.c ---- */

/* json: where a line of JSON goes; NULL: a line for a person on standard output. False if it cannot be written. */
bool report_machine(const struct machine *machine, FILE *json);
bool report_case(const char *name, const struct kind *kind, const struct timing *timing, double limit, FILE *json);

/* ---- what cases share: inputs.c ---- */

/* Zeroed, or NULL after an error. */
real *input_reals(size_t count, ch_error *error);
/* Uniform in -1..1, the same for the same seed. */
void input_fill(real *x, size_t count, uint64_t seed);
/* A number below `range`, likewise. */
int input_below(uint64_t seed, size_t draw, int range);

/* The tolerance of the tests: 84 roundings of max(1, |expected|), 1e-5 in float. */
double usual_tolerance(void);
/* |found - expected| <= tolerance * max(1, |expected|) for all, or the sentence for the first that is not so. */
ch_status agree(const char *what, const real *found, const real *expected, size_t count, double tolerance,
                ch_error *error);

/* Sizes of issue and README: the lesson, small, base. */
struct size {
    const char *name;
    int width, heads, hidden, layers, symbols, shortest, longest, batch;
};
enum { SIZES = 3 };
extern const struct size sizes[SIZES];
/* Rows of a shard: a fourth of the batch, sequences of mean length. */
int shard_rows(const struct size *size);

/* ---- what whole models share: models.c ---- */

/* Useful arithmetic of a forward pass over a source of s tokens and t decoder rows. */
double forward_flop(const ch_model *model, double s, double t);
ch_status set_number(ch_recipe *recipe, const char *option, int value, ch_error *error);
/* The lesson's model and loop at a size, or NULL after an error. */
ch_recipe *recipe_of_size(const struct size *size, int threads, ch_error *error);

#endif
