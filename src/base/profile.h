/*
 * Profile: where the time of a step goes, an operation a row.
 *
 * A stopwatch with laps: profile_start sets it, and each profile_lap books the time since the last look on one
 * operation, so that the rows of a thread sum to its time. Each thread has a profile of its own; NULL measures nothing.
 */
#ifndef CH_BASE_PROFILE_H
#define CH_BASE_PROFILE_H

#include <stddef.h>

enum operation {
    OPERATION_PRODUCTS,
    OPERATION_ATTENTION,
    OPERATION_NORM,
    OPERATION_DROPOUT,
    OPERATION_BIAS,
    OPERATION_EMBEDDING,
    OPERATION_LOSS,
    OPERATION_OPTIMISER,
    OPERATION_TURNING,
    OPERATION_DATA,
    OPERATION_WAITING,
    OPERATION_OTHER,
    OPERATIONS
};

struct profile {
    double looked; /* when, in seconds of a clock that never goes back */
    double seconds[OPERATIONS];
};

void profile_start(struct profile *profile);
void profile_lap(struct profile *profile, enum operation operation);
/* The sum of all rows. */
double profile_total(const struct profile *profile);

/* What a person calls it: "matrix products". */
const char *profile_name(enum operation operation);

/* Seconds of that clock. */
double profile_clock(void);

#endif
