/* Errors of the world become a status and a sentence; bugs of the caller stop the program. */
#ifndef CH_BASE_ERROR_H
#define CH_BASE_ERROR_H

#include "clearhead.h"

/* Fills *error (which may be NULL) and returns status, so that a failing function ends in `return fail(...)`. */
ch_status fail(ch_error *error, ch_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* fail(CH_FAILED) with the reason of errno at the end: "cannot write a/b: No space left on device". */
ch_status fail_errno(ch_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

ch_status fail_memory(ch_error *error, const char *what);

/* Always on: a condition that only a bug in the calling code can break. */
#define ch_assert(condition) ((condition) ? (void)0 : assert_failed(#condition, __FILE__, __LINE__))
_Noreturn void assert_failed(const char *condition, const char *file, int line);

#endif
