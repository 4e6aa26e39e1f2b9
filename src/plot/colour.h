/* Colours: maps from a value to a colour, the colours of lines, and what a screen or a reader makes of one. */
#ifndef CH_PLOT_COLOUR_H
#define CH_PLOT_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

struct colour {
    uint8_t red, green, blue;
};

enum colour_map {
    COLOUR_RISING,   /* from little to much: only grows lighter */
    COLOUR_DIVERGING /* from a negative end over nothing, which is almost white, to a positive one */
};

enum { COLOUR_ANCHORS = 33 }; /* a map is linear between these, at equal distances */

struct colour colour_anchor(enum colour_map map, int i);

/* The colour of t in 0..1 (clamped); NaN, "there is no value here", is a grey that no map holds. */
struct colour colour_of(enum colour_map map, double t);

enum { COLOUR_LINES = 5 };
/* The colour of line i, which repeats after COLOUR_LINES. */
struct colour colour_line(int i);

/* Relative luminance, 0..1 (WCAG 2, sRGB). */
double colour_luminance(struct colour colour);
/* Whether black can be read better on it than white. */
bool colour_wants_black(struct colour colour);

/* The nearest of the colours 16..255 of a terminal with 256. */
int colour_in_256(struct colour colour);

#endif
