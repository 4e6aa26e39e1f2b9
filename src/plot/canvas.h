/*
 * What every picture needs of cairo: text that is placed and measured in one way, frames, the colour bar.
 *
 * Lengths are in units of the page (see page.h), of which a pixel is a part or a multiple. What has to be sharp in
 * pixels is put on a whole one with canvas_snap.
 */
#ifndef CH_PLOT_CANVAS_H
#define CH_PLOT_CANVAS_H

#include "plot/colour.h"
#include "plot/label.h"
#include "plot/scale.h"

#include <cairo.h>

struct box {
    double x, y, width, height;
};

/* Sizes of letters: the page's title, a panel's title, the name of an axis, numbers and labels at ticks. */
#define SIZE_TITLE 18.0
#define SIZE_PANEL 14.0
#define SIZE_AXIS 13.5
#define SIZE_TICK 12.5
#define SIZE_SMALL 11.0

/* From a frame to what is written beside it, and how long a tick is. */
#define CANVAS_OUTSIDE 8.0
#define CANVAS_TICK 4.0

/* Which part of a text stands at the point it is drawn at; up and down it is always centred there. */
enum canvas_align { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT };
enum canvas_direction { DIRECTION_ACROSS, DIRECTION_UPWARDS };

/* A canvas of `scale` pixels a unit on which text can be measured before the size of the page is known. */
cairo_t *canvas_new_for_measuring(double scale);

/* Pixels a unit. */
double canvas_scale(cairo_t *cr);
/* The nearest place, or length, that is a whole number of pixels. */
double canvas_snap(cairo_t *cr, double place);

void canvas_colour(cairo_t *cr, struct colour colour);
/* The colour of frames and letters. */
void canvas_ink(cairo_t *cr);
double canvas_text_width(cairo_t *cr, const char *text, double size);
/* A text cut so that it is at most `room` wide. */
struct label canvas_fit(cairo_t *cr, const char *text, double size, double room);
/* A text in as many lines as it takes to be at most `room` wide, at most CANVAS_LINES; returns their number. */
enum { CANVAS_LINES = 4 };
int canvas_wrap(cairo_t *cr, const char *text, double size, double room, struct label line[CANVAS_LINES]);
/* Such lines, centred around x, from y downwards; returns the height that they take, which is 0 for an empty text. */
double canvas_lines(cairo_t *cr, double x, double y, const char *text, double size, double room);
/* That height alone. */
double canvas_lines_height(cairo_t *cr, const char *text, double size, double room);
void canvas_text(cairo_t *cr, double x, double y, const char *text, double size, enum canvas_align align,
                 enum canvas_direction direction);
/* Of one unit's width. */
void canvas_line(cairo_t *cr, double x0, double y0, double x1, double y1);
/* A thin frame around a box. */
void canvas_frame(cairo_t *cr, struct box box);

/* A colour bar from the scale's low end at the bottom to its high one, with ticks and numbers at the right. */
void canvas_bar(cairo_t *cr, struct box bar, enum colour_map map, const struct scale *scale);
/* From the left of a bar that is `width` wide to the right end of its numbers. */
double canvas_bar_width(cairo_t *cr, double width, double height, const struct scale *scale);

#endif
