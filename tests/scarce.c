#include "scarce.h"
#include "models.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 100000 };

static struct {
    long calls, failing; /* so far; the first that fails */
    bool alone;
    long held; /* blocks that were not released */
} budget;

static bool fails(void) {
    budget.calls++;
    return budget.alone ? budget.calls == budget.failing : budget.calls >= budget.failing;
}

static void *allocate(size_t bytes) {
    if (fails()) return NULL;
    budget.held++;
    return malloc(bytes);
}

static void *reallocate(void *old, size_t bytes) {
    if (fails()) return NULL;
    budget.held += old == NULL;
    return realloc(old, bytes);
}

static void release(void *memory) {
    budget.held -= memory != NULL;
    free(memory);
}

void scarce_begin(long n, bool alone) {
    budget.calls = budget.held = 0;
    budget.failing = n;
    budget.alone = alone;
    ch_set_allocator(allocate, reallocate, release);
}

bool scarce_end(const char *what) {
    ch_set_allocator(NULL, NULL, NULL);
    if (budget.held != 0) fail_msg("%s, call %ld failing: %ld blocks are kept", what, budget.failing, budget.held);
    return budget.calls >= budget.failing;
}

long scarce_run(const char *what, int stride, scarce_work work, void (*repair)(void *context), void *context) {
    long failures = 0;
    for (long n = 1; n < MOST_CALLS; n += stride, failures++) {
        ch_error error = {0};
        scarce_begin(n, false);
        ch_status status = work(context, &error);
        scarce_end(what);
        if (status == CH_OK) return failures;
        if (status != CH_NO_MEMORY || error.status != CH_NO_MEMORY || strlen(error.message) < 10)
            fail_msg("%s, call %ld failing: status %d, '%s'", what, n, (int)status, error.message);
        if (repair) repair(context);
    }
    fail_msg("%s: not done with %d calls", what, MOST_CALLS);
    return 0;
}
