/* Numbers and names as a person reads them. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { WORDS = 32, SHOWN = 4096 }; /* bytes that a number's text fits in, and a shown one is cut to */

/* Bytes of the UTF-8 character that a text of so many bytes begins with, 1 to 4; 0: it begins with none. */
size_t words_character(const char *text, size_t length);

/* In place: "?" for every byte that a terminal must not see, those of control characters and of what is no UTF-8. */
void words_clean(char *text);
/* The same of a text of so many bytes, a zero behind them, whose lines and tabs stay. */
void words_clean_text(char *text, size_t length);
/* A name or a path from outside, cleaned for standard output. */
struct words_shown {
    char text[SHOWN];
};
struct words_shown words_shown(const char *text);

/* x for printf, which would write the sign of a NaN. */
double words_plain(double x);

/* "235,981" */
void words_count(int64_t n, char out[WORDS]);
/* "921.8 KiB" */
void words_bytes(int64_t bytes, char out[WORDS]);
/* Fixed digits behind the point, "2.5649"; "1.23e+40" where they would only be long. */
void words_number(double x, int digits, char out[WORDS]);
/* What makes a word a plural: "s", but for one. */
const char *words_plural(uint64_t count);
/* "12 s", "3 min 20 s", "2 h 05 min" */
void words_time(double seconds, char out[WORDS]);

/* Where the nearest of the names stands, by edit distance, or -1 if none is near enough to be a slip of the
 * fingers. */
int words_nearest(const char *word, const char *const *names, size_t count);

#endif
