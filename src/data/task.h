/* Family task: what the answer to a source is. */
#ifndef CH_DATA_TASK_H
#define CH_DATA_TASK_H

#include "base/family.h"

struct task {
    ch_variant variant;
    /* answer (length) from source (length) */
    void (*answer)(int *answer, const int *source, int length);
    int classes; /* the answer is one of so many; 0: it is a sequence */
};

extern const struct task task_reverse, task_copy;
const ch_variant *task_row(size_t i);

#endif
