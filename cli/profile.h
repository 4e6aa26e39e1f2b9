/* What `train --profile` shows: where the time of a step went. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "output.h"

/* Of so many steps, which took so long together, of a run that took `whole` seconds. */
struct profile_times {
    int64_t steps;
    double seconds, whole;
};

/* A table on standard output; false if it failed. */
bool profile_put(const ch_trainer *trainer, const struct profile_times *times);
/* The same as an object; NULL when memory runs out. */
json_t *profile_json(const ch_trainer *trainer, const struct profile_times *times);

#endif
