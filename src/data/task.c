#include "data/task.h"

static const struct task *const tasks[] = {&task_reverse, &task_copy, NULL};

const ch_variant *task_row(size_t i) {
    return tasks[i] ? &tasks[i]->variant : NULL;
}
