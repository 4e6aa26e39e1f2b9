#include "gradient.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double step = 1e-5, tolerance = 1e-7;
static const real present = 0.5; /* in every gradient of a parameter before backward adds to it */

enum { ARENA = 1 << 21 };

void subject_start(struct subject *s, double rate, const char *format, ...) {
    *s = (struct subject){.params = &s->own};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->what, sizeof s->what, format, arguments);
    va_end(arguments);
    assert_true(arena_reserve(&s->arena, ARENA));
    fill_random(s->weight, MOST_OUTPUTS, 99, 1);
    s->pass = (struct pass){.params = s->params,
                            .arena = &s->arena,
                            .core = (const struct attention_core *)attention_core_row(0),
                            .dropout = rate > 0 ? DROPOUT_PHILOX : DROPOUT_OFF,
                            .dropout_rate = RC(rate),
                            .dropout_key = philox_derive(1, PHILOX_DROPOUT, 2)};
}

real *subject_input(struct subject *s, const char *name, size_t count) {
    assert_true(s->inputs < MOST_INPUTS);
    int i = s->inputs++;
    s->input[i].name = name;
    s->input[i].count = count;
    s->input[i].x = new_reals(count);
    s->input[i].dx = new_reals(count);
    fill_random(s->input[i].x, count, 10 + (uint64_t)i, 1);
    return s->input[i].x;
}

/* Weights of a feed-forward so small and biases so large that no perturbation and no input in -2..2 of width
 * up to 6 brings a sum near 0; signs alternate, so half of its units are off. */
static void fill_row(struct params *params, int id) {
    const struct param *row = &params->row[id];
    real *value = params->value + row->offset;
    bool feed_forward = strstr(row->name, "ff.") != NULL;
    fill_random(value, row->count, 1000 + (uint64_t)id, feed_forward ? 0.2 : 0.6);
    if (feed_forward && row->role == ROLE_LINEAR_BIAS)
        for (size_t i = 0; i < row->count; i++) value[i] = i % 2 ? RC(2.5) : -RC(2.5);
}

void subject_borrow(struct subject *s, struct params *params) {
    s->params = params;
    s->pass.params = params;
    for (int id = 0; id < params->count; id++)
        if (param_is_trained(&params->row[id])) fill_row(params, id);
    s->pass.grad = params_new_block(params);
    assert_non_null(s->pass.grad);
}

void subject_commit(struct subject *s) {
    assert_int_equal(params_commit(&s->own, NULL), CH_OK);
    assert_int_equal(params_allocate(&s->own, NULL), CH_OK);
    subject_borrow(s, &s->own);
}

double subject_weigh(const struct subject *s, const real *output, size_t count) {
    assert_true(count <= MOST_OUTPUTS);
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)s->weight[i] * (double)output[i];
    return sum;
}

static double loss_of(struct subject *s) {
    arena_reset(&s->arena, 0);
    return s->loss(s);
}

static void run_backward(struct subject *s) {
    memset(s->arena.memory, 0xff, s->arena.capacity); /* NaN everywhere */
    fill_value(s->pass.grad, s->params->trained, present);
    for (int i = 0; i < s->inputs; i++) fill_value(s->input[i].dx, s->input[i].count, RC(NAN));
    loss_of(s);
    s->backward(s);
}

static void compare(struct subject *s, const char *name, size_t element, double gradient, double expected) {
    double error = fabs(gradient - expected) / fmax(1, fmax(fabs(gradient), fabs(expected)));
    if (!(error <= tolerance))
        fail_msg("%s: the gradient of %s[%zu] is %.12g, differences give %.12g", s->what, name, element, gradient,
                 expected);
    s->worst = fmax(s->worst, error);
}

static double difference(struct subject *s, real *x) {
    real before = *x, high = before + RC(step), low = before - RC(step);
    *x = high;
    double up = loss_of(s);
    *x = low;
    double down = loss_of(s);
    *x = before;
    return (up - down) / ((double)high - (double)low);
}

static void check_row(struct subject *s, const struct param *row) {
    const real *grad = s->pass.grad + row->offset;
    size_t width = row->count / (size_t)row->shape[0];
    for (size_t i = 0; i < row->count; i++) {
        if (row->frozen_row >= 0 && i / width == (size_t)row->frozen_row)
            assert_true(grad[i] == present);
        else
            compare(s, row->name, i, (double)(grad[i] - present), difference(s, s->params->value + row->offset + i));
    }
}

void subject_check(struct subject *s) {
    run_backward(s);
    for (int n = 0; n < s->inputs; n++)
        for (size_t i = 0; i < s->input[n].count; i++)
            compare(s, s->input[n].name, i, (double)s->input[n].dx[i], difference(s, s->input[n].x + i));
    for (int id = 0; id < s->params->count; id++)
        if (param_is_trained(&s->params->row[id])) check_row(s, &s->params->row[id]);
}

/* value += factor * direction, but for frozen rows; gives the gradient along it. */
static double move(struct subject *s, const real *direction, double factor) {
    double along = 0;
    for (int id = 0; id < s->params->count; id++) {
        const struct param *row = &s->params->row[id];
        size_t width = row->count / (size_t)row->shape[0];
        for (size_t i = 0; i < row->count && param_is_trained(row); i++) {
            if (row->frozen_row >= 0 && i / width == (size_t)row->frozen_row) continue;
            size_t at = row->offset + i;
            s->params->value[at] += RC(factor) * direction[at];
            along += (double)(s->pass.grad[at] - present) * (double)direction[at];
        }
    }
    return along;
}

void subject_check_direction(struct subject *s, uint64_t seed) {
    real *direction = new_reals(s->params->trained);
    size_t bytes = s->params->trained * sizeof(real);
    real *before = new_reals(s->params->trained);
    memcpy(before, s->params->value, bytes);
    fill_random(direction, s->params->trained, seed, 1);
    run_backward(s);
    double along = move(s, direction, step), up = loss_of(s);
    memcpy(s->params->value, before, bytes);
    move(s, direction, -step);
    double down = loss_of(s);
    memcpy(s->params->value, before, bytes);
    compare(s, "a direction", (size_t)seed, along, (up - down) / (2 * step));
    free(direction);
    free(before);
}

void subject_end(struct subject *s) {
    print_message("             %-56s worst %.1e\n", s->what, s->worst);
    for (int i = 0; i < s->inputs; i++) {
        free(s->input[i].x);
        free(s->input[i].dx);
    }
    mem_free_aligned(s->pass.grad);
    params_free(&s->own);
    arena_release(&s->arena);
}
