/* The terminal: how wide it is, which colours it has, and one line of progress on it. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "clearhead.h"

/* Of standard output: what the terminal says, else COLUMNS, else 80. */
int terminal_columns(void);

/* The colours for standard output. choice: "auto", "always" or "never"; false: it is none of these. */
bool terminal_colours(const char *choice, ch_colours *colours);

/* Seconds on a clock that is never set. */
double terminal_clock(void);

/* A line on standard error that is drawn again and again, if that is a terminal; nothing at all if it is not. */
struct progress {
    bool on;      /* there is a terminal to draw on, and somebody wants it */
    bool visible; /* the line stands there now */
    double drawn; /* when */
};

struct progress progress_start(bool wanted);
/* Whether it is time to draw: at most ten times a second. */
bool progress_due(const struct progress *progress);
void progress_draw(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Before anything else is printed. */
void progress_erase(struct progress *progress);

#endif
