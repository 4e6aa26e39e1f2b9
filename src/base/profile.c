#include "base/profile.h"

#include <time.h>

static const char *const names[] = {
    [OPERATION_PRODUCTS] = "matrix products",
    [OPERATION_ATTENTION] = "attention",
    [OPERATION_NORM] = "norm",
    [OPERATION_DROPOUT] = "dropout and residual",
    [OPERATION_BIAS] = "bias and activation",
    [OPERATION_EMBEDDING] = "embedding",
    [OPERATION_LOSS] = "loss",
    [OPERATION_OPTIMISER] = "optimiser",
    [OPERATION_TURNING] = "turning weights",
    [OPERATION_DATA] = "data",
    [OPERATION_WAITING] = "waiting",
    [OPERATION_OTHER] = "other",
};
_Static_assert(sizeof names / sizeof *names == OPERATIONS, "every operation has a name");

double profile_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void profile_start(struct profile *profile) {
    if (profile) profile->looked = profile_clock();
}

void profile_lap(struct profile *profile, enum operation operation) {
    if (!profile) return;
    double now = profile_clock();
    profile->seconds[operation] += now - profile->looked;
    profile->looked = now;
}

double profile_total(const struct profile *profile) {
    double total = 0;
    for (int i = 0; i < OPERATIONS; i++) total += profile->seconds[i];
    return total;
}

const char *profile_name(enum operation operation) {
    return names[operation];
}
