/*
 * Polynomial-decay averaging, Shamir & Zhang 2013 (section 4): the n-th weights w_n enter the mean a with the share
 * part / (n + part - 1), so that old ones fade with the power part - 1 of n / now, and the mean spans the same part of
 * a short run and of a long one. With part 1 it is the plain mean of all.
 */
#include "optim/average.h"

/* The mean takes every EVERY-th step's weights: neighbours are alike, and reading all weights takes time. The first
 * steps differ much, so it takes each of them. */
enum { EVERY = 8 };

static int64_t taken(int64_t step) {
    return step < EVERY ? step : EVERY - 1 + step / EVERY;
}

double average_share(int64_t part, int64_t step) {
    int64_t n = taken(step);
    return n == taken(step - 1) ? 0 : (double)part / (double)(n + part - 1);
}
