/* Family task: what the answer to a source is, a sequence or a class. */
#ifndef CH_DATA_TASK_H
#define CH_DATA_TASK_H

#include "base/family.h"
#include "data/draws.h"
#include "data/vocab.h"

enum task_kind { TASK_TO_SEQUENCE, TASK_TO_CLASS };

struct task {
    ch_variant variant;
    enum task_kind kind;
    bool in_pairs;            /* symbols and lengths are even numbers */
    const char *symbol_names; /* letters that the first symbols go by; NULL: numbers */
    /* to a sequence: the answer (length) to a source (length), whose symbols are any */
    void (*answer)(int *answer, const int *source, int length);
    /* to a class: draws a source (length) and gives its class; scratch (length) */
    int (*draw)(int *source, int length, int symbols, struct draws *draws, int *scratch);
    int classes;
    const char *const *class_name; /* (classes) */
};

extern const struct task task_reverse, task_copy, task_brackets;
const ch_variant *task_row(size_t i);
/* The task of a name, NULL if there is none. */
const struct task *task_named(const char *name);

/* The vocabulary of a task with so many symbols. */
struct vocab_plan task_vocab(const struct task *task, int symbols);

#endif
