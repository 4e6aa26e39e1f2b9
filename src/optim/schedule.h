/* Family schedule: the learning rate of a step. */
#ifndef CH_OPTIM_SCHEDULE_H
#define CH_OPTIM_SCHEDULE_H

#include "base/family.h"

struct rates {
    double lr, min_lr;
    int64_t warmup, steps;
};

struct schedule {
    ch_variant variant;
    bool falls; /* towards min_lr at the last step, so that the number of steps is settled when a run starts */
    /* The rate of step 1, 2, ... */
    double (*rate)(const struct rates *rates, int64_t step);
};

extern const struct schedule schedule_warmup, schedule_cosine;
const ch_variant *schedule_row(size_t i);

#endif
