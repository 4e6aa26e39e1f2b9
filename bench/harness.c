/*
 * Times one case. A sample is one run, or as many runs as make it long enough for the clock; what is told is the median
 * of the samples and their quartiles, since a machine that others use has slow moments and no fast ones.
 */
#include "bench.h"

#include <stdlib.h>
#include <time.h>

enum { LEAST_SAMPLES = 5, MOST_SAMPLES = 2000 };
static const double least_sample = 200e-6; /* seconds: a thousand times the clock's own cost */

static double clock_of(const struct kind *kind) {
    struct timespec now;
    clock_gettime(kind->threaded ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static ch_status sample(const struct kind *kind, void *state, int repeats, double *seconds, ch_error *error) {
    double started = clock_of(kind);
    for (int i = 0; i < repeats; i++) {
        ch_status status = kind->run(state, error);
        if (status != CH_OK) return status;
    }
    *seconds = (clock_of(kind) - started) / repeats;
    return CH_OK;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int count, double share) {
    double at = share * (count - 1);
    int below = (int)at;
    return below + 1 < count ? sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]) : sorted[below];
}

static double amount(struct work work) {
    return work.flop > 0 ? work.flop : work.bytes;
}

static void summarise(struct timing *timing, double *seconds, double *rate) {
    int n = timing->samples;
    qsort(seconds, (size_t)n, sizeof *seconds, ascending);
    qsort(rate, (size_t)n, sizeof *rate, ascending);
    timing->median = quantile(seconds, n, 0.5);
    timing->first_quartile = quantile(seconds, n, 0.25);
    timing->third_quartile = quantile(seconds, n, 0.75);
    timing->least = seconds[0];
    timing->rate = quantile(rate, n, 0.5);
}

ch_status measure(const struct kind *kind, void *state, double seconds, struct timing *timing, ch_error *error) {
    double taken[MOST_SAMPLES], rate[MOST_SAMPLES], once, spent = 0;
    *timing = (struct timing){0};
    ch_status status = kind->verify(state, error);
    if (status == CH_OK) status = sample(kind, state, 1, &once, error);
    if (status != CH_OK) return status;
    timing->repeats = once < least_sample ? (int)(least_sample / fmax(once, 1e-9)) + 1 : 1;
    while (timing->samples < MOST_SAMPLES && (spent < seconds || timing->samples < LEAST_SAMPLES)) {
        double *t = &taken[timing->samples];
        status = sample(kind, state, timing->repeats, t, error);
        if (status != CH_OK) return status;
        timing->work = kind->work(state);
        rate[timing->samples++] = amount(timing->work) / fmax(*t, 1e-12);
        spent += *t * timing->repeats;
    }
    summarise(timing, taken, rate);
    return CH_OK;
}
