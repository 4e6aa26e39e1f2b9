#include "lines.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 65536 }; /* room for at least this many bytes before each read */

static bool poll_input(int descriptor, int timeout) {
    struct pollfd input = {.fd = descriptor, .events = POLLIN};
    int ready;
    do ready = poll(&input, 1, timeout);
    while (ready < 0 && errno == EINTR);
    return ready != 0; /* where poll itself fails, read will say why */
}

/* Moves what is left to the front and makes room behind it, one byte more than read will fill. */
static bool make_room(struct lines *lines) {
    size_t left = lines->end - lines->start;
    if (lines->start) memmove(lines->text, lines->text + lines->start, left);
    lines->scanned -= lines->start;
    lines->start = 0;
    lines->end = left;
    if (lines->capacity - left > CHUNK) return true;
    if (lines->capacity > SIZE_MAX / 4) return false;
    size_t capacity = lines->capacity ? 2 * lines->capacity : 2 * CHUNK;
    char *text = realloc(lines->text, capacity);
    if (!text) return false;
    lines->text = text;
    lines->capacity = capacity;
    return true;
}

static bool fill(struct lines *lines) {
    if (!make_room(lines)) {
        errno = ENOMEM;
        return false;
    }
    for (;;) {
        ssize_t got = read(lines->descriptor, lines->text + lines->end, lines->capacity - lines->end - 1);
        if (got >= 0) {
            lines->end += (size_t)got;
            lines->ended = got == 0;
            return true;
        }
        if (errno == EAGAIN)
            poll_input(lines->descriptor, -1); /* somebody made it non-blocking */
        else if (errno != EINTR)
            return false;
    }
}

/* Gives out [start, stop), which ends before the byte at `next`. */
static enum lines_state give(struct lines *lines, size_t stop, size_t next, char **line, size_t *length) {
    *line = lines->text + lines->start;
    *length = stop - lines->start;
    if (*length && (*line)[*length - 1] == '\r') --*length;
    (*line)[*length] = '\0';
    lines->start = lines->scanned = next;
    lines->number++;
    return LINES_READY;
}

enum lines_state lines_next(struct lines *lines, bool wait, char **line, size_t *length) {
    for (;;) {
        size_t unseen = lines->end - lines->scanned;
        char *end = unseen ? memchr(lines->text + lines->scanned, '\n', unseen) : NULL;
        if (end) {
            size_t stop = (size_t)(end - lines->text);
            return give(lines, stop, stop + 1, line, length);
        }
        lines->scanned = lines->end;
        if (lines->ended)
            return lines->start < lines->end ? give(lines, lines->end, lines->end, line, length) : LINES_END;
        if (!wait && !poll_input(lines->descriptor, 0)) return LINES_PAUSE;
        if (!fill(lines)) return LINES_FAILED;
    }
}

void lines_free(struct lines *lines) {
    free(lines->text);
}
