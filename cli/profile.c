#include "profile.h"

#include <math.h>

/* Of a whole that may be no time at all. */
static double share(double seconds, const struct profile_times *times) {
    return times->seconds > 0 ? seconds / times->seconds : (double)NAN;
}

static double per_step(double seconds, const struct profile_times *times) {
    return times->steps > 0 ? seconds / (double)times->steps : (double)NAN;
}

static bool put_row(const char *name, double seconds, const struct profile_times *times) {
    return out("%-26s %12.3f ms %8.1f %%\n", name, 1e3 * per_step(seconds, times), 100 * share(seconds, times));
}

/* Everything that is not the first row. */
static double outside_products(const ch_trainer *trainer, const struct profile_times *times) {
    ch_profile_row products;
    return times->seconds - (ch_trainer_profile(trainer, 0, &products) ? products.seconds : 0);
}

bool profile_put(const ch_trainer *trainer, const struct profile_times *times) {
    ch_profile_row row;
    bool whole = out("\n%-26s %15s %10s\n", "operation", "time per step", "share");
    for (size_t i = 0; whole && ch_trainer_profile(trainer, i, &row); i++)
        whole = put_row(row.operation, row.seconds, times);
    return whole && put_row("step", times->seconds, times) &&
           put_row("outside matrix products", outside_products(trainer, times), times) &&
           out("outside steps (validation, checkpoints, log): %.2f s of %.2f s\n", times->whole - times->seconds,
               times->whole);
}

json_t *profile_json(const ch_trainer *trainer, const struct profile_times *times) {
    json_t *operations = json_array();
    ch_profile_row row;
    for (size_t i = 0; operations && ch_trainer_profile(trainer, i, &row); i++) {
        json_t *object =
            json_pack("{s:s, s:o, s:o}", "operation", row.operation, "seconds_per_step",
                      json_number(per_step(row.seconds, times)), "share", json_number(share(row.seconds, times)));
        if (!object || json_array_append_new(operations, object) != 0) {
            json_decref(operations);
            return NULL;
        }
    }
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "steps", (json_int_t)times->steps, "seconds_per_step",
                     json_number(per_step(times->seconds, times)), "outside_products_per_step",
                     json_number(per_step(outside_products(trainer, times), times)), "seconds_outside_steps",
                     json_number(times->whole - times->seconds), "operations", operations);
}
