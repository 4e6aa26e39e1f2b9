/* Numbers and names as a person reads them. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { WORDS = 32 }; /* bytes that each of the texts below fits in */

/* "235,981" */
void words_count(int64_t n, char out[WORDS]);
/* "921.8 KiB" */
void words_bytes(int64_t bytes, char out[WORDS]);
/* "12 s", "3 min 20 s", "2 h 05 min" */
void words_time(double seconds, char out[WORDS]);

/* Where the nearest of the names stands, by edit distance, or -1 if none is near enough to be a slip of the
 * fingers. */
int words_nearest(const char *word, const char *const *names, size_t count);

#endif
