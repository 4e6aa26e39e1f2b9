/* Words for messages. */
#ifndef CH_BASE_TEXT_H
#define CH_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The name nearest to `word` by edit distance, or NULL if none is near enough to be a slip of the fingers. */
const char *text_nearest(const char *word, const char *const *names, size_t count);

/* "a, b, c" into out; cut with "..." where it does not fit. */
void text_list(const char *const *names, size_t count, char *out, size_t size);

/* Bytes of the control character that `text` begins with, 0 if it begins with none. In UTF-8 some have two. */
size_t text_control(const char *text);

/* x for printf, which would write the sign of a NaN. */
double text_number(double x);

/* A number as a person would write it, if that is the same number; else with all its digits. */
void text_exactly(double x, char *out, size_t size);

/* What makes a word a plural: "s", but for one. */
const char *text_plural(uint64_t count);

enum { TEXT_RANGE = 48 };
/* "0 to 5"; "0" where there is nothing else. */
const char *text_range(int64_t least, int64_t most, char out[TEXT_RANGE]);

#endif
