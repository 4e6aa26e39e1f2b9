#include "plot/paint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Which of n equal steps holds t. */
static int step_of(double t, int n) {
    int step = (int)(t * n);
    return step < n ? step : n - 1;
}

static struct paint ascii(double t) {
    struct paint paint = {.code = ""};
    paint.glyph[0] = isnan(t) ? '?' : " .:-=+*#%@"[step_of(t, ASCII_SHADES)];
    return paint;
}

/* Sixteen colours hold no even scale, but black, blue, cyan, light green and yellow do rise in lightness, as the
 * colour map does; three densities of dots of the next colour make the steps between them. */
static struct paint sixteen(double t) {
    static const int ramp[] = {40, 44, 46, 102, 103};
    static const char *const dots[] = {" ", "░", "▒", "▓"};
    enum { SEGMENTS = sizeof ramp / sizeof *ramp - 1, DOTS = sizeof dots / sizeof *dots };
    struct paint paint;
    int step = step_of(t, SEGMENTS * DOTS + 1), segment = step / DOTS;
    int next = segment < SEGMENTS ? segment + 1 : segment;
    snprintf(paint.code, sizeof paint.code, "0;%d;%d", ramp[next] - 10, ramp[segment]); /* 30 draws what 40 fills */
    strcpy(paint.glyph, dots[step % DOTS]);
    return paint;
}

struct paint paint_of(ch_colours colours, enum colour_map map, double t) {
    if (colours == CH_COLOURS_NONE) return ascii(t);
    if (isnan(t) && colours == CH_COLOURS_16) return (struct paint){"0;30;100", "?"};
    if (colours == CH_COLOURS_16) return sixteen(t);
    struct paint paint = {.glyph = " "};
    struct colour colour = colour_of(map, t);
    if (colours == CH_COLOURS_256)
        snprintf(paint.code, sizeof paint.code, "0;30;48;5;%d", colour_in_256(colour));
    else
        snprintf(paint.code, sizeof paint.code, "0;30;48;2;%d;%d;%d", colour.red, colour.green, colour.blue);
    if (isnan(t)) paint.glyph[0] = '?';
    return paint;
}

struct paint paint_line(ch_colours colours, int i) {
    static const int sixteen_colours[COLOUR_LINES] = {94, 91, 39, 32, 35}; /* the nearest; 39: the terminal's own */
    struct paint paint = {.code = ""};
    struct colour colour = colour_line(i);
    if (colours == CH_COLOURS_NONE) return paint;
    /* Black would be lost on a dark terminal. */
    if (colours == CH_COLOURS_16 || colour_luminance(colour) == 0)
        snprintf(paint.code, sizeof paint.code, "%d", sixteen_colours[i % COLOUR_LINES]);
    else if (colours == CH_COLOURS_256)
        snprintf(paint.code, sizeof paint.code, "38;5;%d", colour_in_256(colour));
    else
        snprintf(paint.code, sizeof paint.code, "38;2;%d;%d;%d", colour.red, colour.green, colour.blue);
    return paint;
}
