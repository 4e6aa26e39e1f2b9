#include "data/task.h"

#include <string.h>

static const struct task *const tasks[] = {&task_reverse, &task_copy, &task_brackets, NULL};

const ch_variant *task_row(size_t i) {
    return tasks[i] ? &tasks[i]->variant : NULL;
}

const struct task *task_named(const char *name) {
    size_t i = 0;
    while (tasks[i] && strcmp(tasks[i]->variant.name, name) != 0) i++;
    return tasks[i];
}

struct vocab_plan task_vocab(const struct task *task, int symbols) {
    struct vocab_plan plan = vocab_lesson(symbols);
    plan.names = task->symbol_names;
    return plan;
}
