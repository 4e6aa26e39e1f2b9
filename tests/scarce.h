/* Memory that runs out: an allocator whose calls fail, and a piece of work that is done again and again, with one call
 * more succeeding each time, until it is done. Whatever it could not do must be said, and nothing may be kept. */
#ifndef TESTS_SCARCE_H
#define TESTS_SCARCE_H

#include "clearhead.h"

#include <stdbool.h>

/* From here on the n-th call (from 1) of the allocator fails: it alone, or it and all that follow. */
void scarce_begin(long n, bool alone);
/* All the memory there is, again. Whether a call has failed; fails the test if what was taken since is still held. */
bool scarce_end(const char *what);

/* Does the work and gives back all its memory, also on failure. */
typedef ch_status (*scarce_work)(void *context, ch_error *error);

/* Runs the work with every call failing and then with one call more succeeding each time, or `stride` calls more. After
 * each failure, `repair` (which may be NULL) is called with all the memory there is. Returns how often the work failed;
 * fails the test if it never succeeds, or fails without a sentence. */
long scarce_run(const char *what, int stride, scarce_work work, void (*repair)(void *context), void *context);

#endif
