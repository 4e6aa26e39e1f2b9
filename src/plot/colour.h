/* Colours: the one colour map, and what a screen or a reader makes of a colour. */
#ifndef CH_PLOT_COLOUR_H
#define CH_PLOT_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

struct colour {
    uint8_t red, green, blue;
};

enum { COLOUR_ANCHORS = 33 }; /* the map is linear between these, at equal distances */

struct colour colour_anchor(int i);

/* The colour of t in 0..1 (clamped); NaN, "there is no value here", is a grey that the map does not hold. */
struct colour colour_of(double t);

/* Relative luminance, 0..1 (WCAG 2, sRGB). */
double colour_luminance(struct colour colour);
/* Whether black can be read better on it than white. */
bool colour_wants_black(struct colour colour);

/* The nearest of the colours 16..255 of a terminal with 256. */
int colour_in_256(struct colour colour);

#endif
