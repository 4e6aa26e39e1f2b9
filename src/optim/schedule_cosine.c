/*
 * Linear warmup, then half a cosine (Loshchilov & Hutter 2017, one cycle), in nanoGPT's form. With i = step - 1 steps
 * done before:
 *   i < warmup:  lr (i + 1) / (warmup + 1)
 *   else:        min_lr + (lr - min_lr) (1 + cos(pi (i - warmup) / (steps - warmup))) / 2
 * So lr comes at step warmup + 1, and min_lr would come one step behind the last.
 */
#include "optim/schedule.h"

#include <math.h>

static double rate(const struct rates *r, int64_t step) {
    int64_t done = step - 1;
    if (done < r->warmup) return r->lr * (double)(done + 1) / (double)(r->warmup + 1);
    if (done >= r->steps) return r->min_lr;
    double part = (double)(done - r->warmup) / (double)(r->steps - r->warmup);
    return r->min_lr + 0.5 * (1 + cos(3.14159265358979323846 * part)) * (r->lr - r->min_lr);
}

const struct schedule schedule_cosine = {
    .variant = {"cosine", "linear over the warmup steps, then half a cosine down to min-lr at the last step"},
    .falls = true,
    .rate = rate,
};
