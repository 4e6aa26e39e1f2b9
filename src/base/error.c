#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_message(ch_error *error, ch_status status, const char *format, va_list arguments) {
    if (!error) return;
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    /* A sentence stays one line, whatever bytes a file name or a file's content put into it. */
    for (char *c = error->message; *c; c++) memset(c, '?', text_control(c));
}

ch_status fail(ch_error *error, ch_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_message(error, status, format, arguments);
    va_end(arguments);
    return status;
}

ch_status fail_errno(ch_error *error, const char *format, ...) {
    int number = errno;
    va_list arguments;
    va_start(arguments, format);
    write_message(error, CH_FAILED, format, arguments);
    va_end(arguments);
    if (error) {
        size_t used = strlen(error->message);
        snprintf(error->message + used, sizeof error->message - used, ": %s", strerror(number));
    }
    return CH_FAILED;
}

ch_status fail_memory(ch_error *error, const char *what) {
    return fail(error, CH_NO_MEMORY, "out of memory for %s", what);
}

_Noreturn void assert_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "%s:%d: bug in the calling code: %s\n", file, line, condition);
    abort();
}
