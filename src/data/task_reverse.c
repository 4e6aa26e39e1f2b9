/* The answer is the source backwards: cross-attention must become an anti-diagonal. */
#include "data/task.h"

static void answer(int *answer, const int *source, int length) {
    for (int i = 0; i < length; i++) answer[i] = source[length - 1 - i];
}

const struct task task_reverse = {
    .variant = {"reverse", "digits, backwards: 3 1 4 1 5 -> 5 1 4 1 3"},
    .answer = answer,
};
