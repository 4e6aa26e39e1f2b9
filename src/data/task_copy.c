/* The answer is the source itself: cross-attention must become a diagonal. */
#include "data/task.h"

static void answer(int *answer, const int *source, int length) {
    for (int i = 0; i < length; i++) answer[i] = source[i];
}

const struct task task_copy = {
    .variant = {"copy", "digits, as they are: 3 1 4 1 5 -> 3 1 4 1 5"},
    .answer = answer,
};
