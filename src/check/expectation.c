#include "check/expectation.h"

#include <stddef.h>
#include <string.h>

static int backwards(int t, int length) {
    return length - 1 - t;
}

static int in_order(int t, int length) {
    (void)length;
    return t;
}

/* Nothing is left of balanced brackets once each pair of neighbours that fit has been taken out. */
static int balanced(int *symbols, int length) {
    for (int i = 0; i + 1 < length;) {
        if (symbols[i] % 2 != 0 || symbols[i + 1] != symbols[i] + 1) {
            i++;
            continue;
        }
        length -= 2;
        for (int k = i; k < length; k++) symbols[k] = symbols[k + 2];
        i = i > 0 ? i - 1 : 0;
    }
    return length == 0;
}

static const struct expectation table[] = {
    {"reverse", "the source backwards", backwards, "reversing", NULL},
    {"copy", "the source as it is", in_order, "copying", NULL},
    {"brackets", "1 where they are balanced, else 0", NULL, NULL, balanced},
};

const struct expectation *expectation_of(const char *task) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].task, task) == 0) return &table[i];
    return NULL;
}
