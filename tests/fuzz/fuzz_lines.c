/* Any bytes as the lines of an input, which comes in one piece, or with a pause behind the first half: lines_next gives
 * what splitting at line ends gives. */
#include "base/error.h"
#include "cli/lines.h"
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

struct splitting {
    const uint8_t *bytes;
    size_t at, length, number;
};

/* Whether the next line of the bytes is this one. */
static bool is_next(struct splitting *expected, const char *line, size_t length) {
    const uint8_t *start = expected->bytes + expected->at;
    size_t left = expected->length - expected->at;
    const uint8_t *end = left ? memchr(start, '\n', left) : NULL;
    size_t size = end ? (size_t)(end - start) : left;
    if (!left) return false;
    expected->at += size + (end != NULL);
    expected->number++;
    if (size && start[size - 1] == '\r') size--;
    return size == length && memcmp(start, line, size) == 0 && line[length] == '\0';
}

/* Takes lines until there is none, or not for the moment. */
static enum lines_state take(struct lines *lines, struct splitting *expected, bool wait) {
    char *line;
    size_t length;
    enum lines_state state;
    while ((state = lines_next(lines, wait, &line, &length)) == LINES_READY)
        ch_assert(is_next(expected, line, length) && lines->number == expected->number);
    return state;
}

static void send(int descriptor, const uint8_t *bytes, size_t length) {
    ssize_t wrote = length ? write(descriptor, bytes, length) : 0;
    ch_assert(wrote == (ssize_t)length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    enum { PIPE = 65536 };
    int ends[2], piped = pipe(ends);
    if (length > PIPE) length = PIPE;
    ch_assert(piped == 0);
    struct lines lines = {.descriptor = ends[0]};
    struct splitting expected = {.bytes = bytes, .length = length};
    send(ends[1], bytes, length / 2);
    ch_assert(take(&lines, &expected, false) == LINES_PAUSE);
    send(ends[1], bytes + length / 2, length - length / 2);
    close(ends[1]);
    ch_assert(take(&lines, &expected, true) == LINES_END);
    ch_assert(expected.at == length);
    lines_free(&lines);
    lines = (struct lines){.descriptor = -1};
    ch_assert(length || take(&lines, &expected, true) == LINES_FAILED);
    lines_free(&lines);
    close(ends[0]);
    return 0;
}
