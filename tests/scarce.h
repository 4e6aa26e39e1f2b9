/* Memory that runs out: a piece of work is done again and again, with one call more of the allocator succeeding each
 * time, until it is done. Whatever it could not do must be said, and nothing may be kept. */
#ifndef TESTS_SCARCE_H
#define TESTS_SCARCE_H

#include "clearhead.h"

/* Does the work and gives back all its memory, also on failure. */
typedef ch_status (*scarce_work)(void *context, ch_error *error);

/* Runs the work with n calls succeeding, n from 0 up (under the sanitizers, which are slow, every eleventh). After each
 * failure, `repair` (which may be NULL) is called with all the memory there is. Returns how often the work failed;
 * fails the test if it never succeeds. */
long scarce_run(const char *what, scarce_work work, void (*repair)(void *context), void *context);

#endif
