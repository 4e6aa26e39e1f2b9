/*
 * Gradients against central differences, (f(x + h) - f(x - h)) / 2h, of whatever has a forward and a backward.
 *
 * A subject is a function of inputs and parameters whose value is a number: for a layer, its output times fixed
 * random weights. Before backward, gradients of parameters hold a number that must still be in the sum, and the
 * arena is full of NaN, so that what is not written shows. |a - b| <= 1e-7 max(1, |a|, |b|): with h = 1e-5 the
 * differences are off by h^2 / 6 of the third derivative and by the rounding of f over h, both near 1e-10.
 */
#ifndef TESTS_GRADIENT_H
#define TESTS_GRADIENT_H

#include "nn/pass.h"
#include "support.h"

enum { MOST_INPUTS = 4, MOST_OUTPUTS = 4096 };

struct subject {
    char what[128];
    struct params own, *params; /* params: those that count, own unless a model brings its own */
    struct arena arena;
    struct pass pass;
    const struct batch *batch, *memory;
    struct {
        const char *name;
        real *x, *dx;
        size_t count;
    } input[MOST_INPUTS];
    int inputs;
    real weight[MOST_OUTPUTS]; /* dloss / doutput */
    void *layer, *saved;       /* of the functions below */
    double (*loss)(struct subject *);
    void (*backward)(struct subject *); /* after loss: fills input[].dx and adds to pass.grad */
    double worst;
};

/* With dropout at `rate` and the first core of the table; what is not set here is the caller's. */
void subject_start(struct subject *subject, double rate, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* An input of random numbers in -1..1; returns them. */
real *subject_input(struct subject *subject, const char *name, size_t count);
/* Lays out what was declared in subject->own and fills it with numbers, feed-forwards away from ReLU's kink. */
void subject_commit(struct subject *subject);
/* Another model's parameters instead, committed and with memory. */
void subject_borrow(struct subject *subject, struct params *params);
/* The sum of output times weight. */
double subject_weigh(const struct subject *subject, const real *output, size_t count);

/* Every element of every input and of every trained parameter; a frozen row gets exactly nothing. */
void subject_check(struct subject *subject);
/* All parameters at once, along a random direction. */
void subject_check_direction(struct subject *subject, uint64_t seed);
void subject_end(struct subject *subject);

#endif
