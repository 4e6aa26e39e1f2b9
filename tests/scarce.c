#include "scarce.h"
#include "models.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 100000, STRIDE = SANITIZED ? 11 : 1 };

static struct {
    long left; /* calls that still succeed */
    long held; /* blocks that were not released */
} budget;

static void *allocate(size_t bytes) {
    if (budget.left-- <= 0) return NULL;
    budget.held++;
    return malloc(bytes);
}

static void *reallocate(void *old, size_t bytes) {
    if (budget.left-- <= 0) return NULL;
    budget.held += old == NULL;
    return realloc(old, bytes);
}

static void release(void *memory) {
    budget.held -= memory != NULL;
    free(memory);
}

long scarce_run(const char *what, scarce_work work, void (*repair)(void *context), void *context) {
    long failures = 0;
    for (long n = 0; n < MOST_CALLS; n += STRIDE, failures++) {
        ch_error error = {0};
        budget.left = n;
        budget.held = 0;
        ch_set_allocator(allocate, reallocate, release);
        ch_status status = work(context, &error);
        long held = budget.held;
        ch_set_allocator(NULL, NULL, NULL);
        if (held != 0) fail_msg("%s, call %ld failing: %ld blocks are kept", what, n + 1, held);
        if (status == CH_OK) return failures;
        if (status != CH_NO_MEMORY || error.status != CH_NO_MEMORY || strlen(error.message) < 10)
            fail_msg("%s, call %ld failing: status %d, '%s'", what, n + 1, (int)status, error.message);
        if (repair) repair(context);
    }
    fail_msg("%s: not done with %d calls", what, MOST_CALLS);
    return 0;
}
