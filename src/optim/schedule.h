/* Family schedule: the learning rate of a step. */
#ifndef CH_OPTIM_SCHEDULE_H
#define CH_OPTIM_SCHEDULE_H

#include "base/family.h"

struct schedule {
    ch_variant variant;
    /* The rate of step 1, 2, ... */
    double (*rate)(double lr, int64_t warmup, int64_t steps, int64_t step);
};

extern const struct schedule schedule_warmup;
const ch_variant *schedule_row(size_t i);

#endif
