#include "terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, WIDEST = 1000 };

static int columns_of(int descriptor) {
    struct winsize size;
    if (isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char *text = getenv("COLUMNS");
    long columns = text ? strtol(text, NULL, 10) : 0;
    return columns > 0 && columns <= WIDEST ? (int)columns : USUAL_COLUMNS;
}

int terminal_columns(void) {
    return columns_of(STDOUT_FILENO);
}

static const char *environment(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static bool ends_in(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Which colours, if any are wanted. */
static ch_colours colours_of_terminal(void) {
    const char *colours = environment("COLORTERM");
    if (strcmp(colours, "truecolor") == 0 || strcmp(colours, "24bit") == 0) return CH_COLOURS_TRUE;
    return ends_in(environment("TERM"), "256color") ? CH_COLOURS_256 : CH_COLOURS_16;
}

/* Whether the locale says that the terminal takes another encoding. One that says nothing is taken to know UTF-8. */
static bool knows_utf8(void) {
    const char *locale = environment("LC_ALL");
    if (!*locale) locale = environment("LC_CTYPE");
    if (!*locale) locale = environment("LANG");
    return !*locale || strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
}

bool terminal_colours(const char *choice, ch_colours *colours) {
    bool automatic = strcmp(choice, "auto") == 0, always = strcmp(choice, "always") == 0;
    bool plain =
        *environment("NO_COLOR") || strcmp(environment("TERM"), "dumb") == 0 || !knows_utf8() || !isatty(STDOUT_FILENO);
    *colours = always || (automatic && !plain) ? colours_of_terminal() : CH_COLOURS_NONE;
    return automatic || always || strcmp(choice, "never") == 0;
}

double terminal_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct progress progress_start(bool wanted) {
    bool dumb = strcmp(environment("TERM"), "dumb") == 0; /* it could not take a line back */
    return (struct progress){.on = wanted && isatty(STDERR_FILENO) && !dumb};
}

bool progress_due(const struct progress *progress) {
    return progress->on && terminal_clock() - progress->drawn >= 0.1;
}

void progress_draw(struct progress *progress, const char *format, ...) {
    char line[256];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    /* A line as wide as the terminal would wrap, and then it could not be erased. */
    fprintf(stderr, "\r%.*s\033[K", columns_of(STDERR_FILENO) - 1, line);
    progress->visible = true;
    progress->drawn = terminal_clock();
}

void progress_erase(struct progress *progress) {
    if (progress->visible) fputs("\r\033[K", stderr);
    progress->visible = false;
}
