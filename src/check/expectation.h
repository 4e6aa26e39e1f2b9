/* What a task means, said a second time and apart from the code that makes its answers, so that each checks the other.
 */
#ifndef CH_CHECK_EXPECTATION_H
#define CH_CHECK_EXPECTATION_H

struct expectation {
    const char *task;
    const char *words;                   /* what a target is */
    int (*source_of)(int t, int length); /* the source token, of so many, that target token t repeats */
    const char *alignment;               /* what cross-attention must therefore become: a verdict of ch_alignment */
    int (*class_of)(int *symbols, int length); /* of a task that asks for a class; the symbols may be written over */
};

/* NULL: nothing is known about the task. */
const struct expectation *expectation_of(const char *task);

#endif
