/*
 * Lines from a descriptor, read so that a conversation never waits: standard streams of C would block for more
 * input than the one line that is there, and cannot say whether the input has paused.
 */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct lines {
    int descriptor;
    char *text; /* what was read: [start, end) is not given out yet, and [start, scanned) holds no line end */
    size_t capacity, start, scanned, end;
    bool ended;
    size_t number; /* of the last line given out, from 1 */
};

enum lines_state {
    LINES_READY,
    LINES_PAUSE, /* no whole line is there, and the input has nothing more at the moment */
    LINES_END,
    LINES_FAILED /* errno says why */
};

/* The next line, of any length, ended by a zero byte instead of its line end (LF or CR LF; the last line may lack
 * it); lives until the next call. wait: blocks until there is one. */
enum lines_state lines_next(struct lines *lines, bool wait, char **line, size_t *length);
void lines_free(struct lines *lines);

#endif
