/* The profile of a training: what its threads measured, as wall time. */
#include "train/trainer.h"
#include "base/parallel.h"

void ch_trainer_profile_start(ch_trainer *trainer) {
    trainer->profiled = true;
}

/* While the lanes work, the caller's whole time is booked as waiting. What the lanes measured takes its place, divided
 * by the threads that shared it, and what is left of the waiting is threads with nothing to do. */
static void merge(struct profile *merged, const struct ch_trainer *t) {
    int threads = team_threads(t->team), workers = threads < t->lanes ? threads : t->lanes;
    *merged = t->own_profile;
    for (int lane = 0; lane < t->lanes; lane++) {
        const struct profile *its = &t->lane_profile[lane];
        for (int i = 0; i < OPERATIONS; i++) merged->seconds[i] += its->seconds[i] / workers;
        merged->seconds[OPERATION_WAITING] -= profile_total(its) / workers;
    }
}

bool ch_trainer_profile(const ch_trainer *trainer, size_t i, ch_profile_row *row) {
    if (!trainer->profiled || i >= OPERATIONS) return false;
    struct profile merged;
    merge(&merged, trainer);
    *row = (ch_profile_row){profile_name((enum operation)i), merged.seconds[i]};
    return true;
}
