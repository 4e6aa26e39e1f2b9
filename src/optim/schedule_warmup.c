/* lr * min(step / warmup, 1): linear warmup, then flat. */
#include "optim/schedule.h"

static double rate(const struct rates *r, int64_t step) {
    return step < r->warmup ? r->lr * ((double)step / (double)r->warmup) : r->lr;
}

const struct schedule schedule_warmup = {
    .variant = {"warmup", "linear over the warmup steps, then flat"},
    .rate = rate,
};
