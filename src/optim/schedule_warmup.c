/* lr * min(step / warmup, 1): linear warmup, then flat. */
#include "optim/schedule.h"

static double rate(double lr, int64_t warmup, int64_t steps, int64_t step) {
    (void)steps;
    return step < warmup ? lr * ((double)step / (double)warmup) : lr;
}

const struct schedule schedule_warmup = {
    .variant = {"warmup", "linear over the warmup steps, then flat"},
    .rate = rate,
};
