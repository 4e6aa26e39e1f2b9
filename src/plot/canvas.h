/* What every picture needs of cairo: text that is placed and measured in one way, frames, the colour bar. */
#ifndef CH_PLOT_CANVAS_H
#define CH_PLOT_CANVAS_H

#include "plot/colour.h"
#include "plot/label.h"

#include <cairo.h>

/* Which part of a text stands at the point it is drawn at; up and down it is always centred there. */
enum canvas_align { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT };
enum canvas_direction { DIRECTION_ACROSS, DIRECTION_UPWARDS };

/* A 1 x 1 canvas on which text can be measured before the size of the page is known. */
cairo_t *canvas_new_for_measuring(void);

void canvas_colour(cairo_t *cr, struct colour colour);
double canvas_text_width(cairo_t *cr, const char *text, double size);
/* A text cut so that it is at most `room` pixels wide. */
struct label canvas_fit(cairo_t *cr, const char *text, double size, double room);
void canvas_text(cairo_t *cr, double x, double y, const char *text, double size, enum canvas_align align,
                 enum canvas_direction direction);
void canvas_line(cairo_t *cr, double x0, double y0, double x1, double y1);
/* A thin frame around a box of whole pixels. */
void canvas_frame(cairo_t *cr, double x, double y, double width, double height);

/* The colour bar from low (bottom) to high, with its numbers at the right. */
void canvas_bar(cairo_t *cr, double x, double y, double width, double height, double low, double high, double size);
/* Pixels from the left of the bar to the right end of its numbers. */
double canvas_bar_width(cairo_t *cr, double width, double low, double high, double size);

#endif
