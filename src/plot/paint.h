/* How a terminal shows one value: an escape sequence's colours and the character drawn in them. */
#ifndef CH_PLOT_PAINT_H
#define CH_PLOT_PAINT_H

#include "clearhead.h"
#include "plot/colour.h"

struct paint {
    char code[32]; /* what stands between "ESC[" and "m"; empty without colours */
    char glyph[4]; /* one column wide */
};

enum { ASCII_SHADES = 10 };

/* The paint of t in 0..1, or of NaN. */
struct paint paint_of(ch_colours colours, enum colour_map map, double t);

/* The colour that draws the characters of line i; the glyph is not set. */
struct paint paint_line(ch_colours colours, int i);

#endif
