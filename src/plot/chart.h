/*
 * Line charts: a few series against a common x, on a linear or logarithmic y axis, and a key that says which line is
 * which. Lines differ in colour and in their dashes, so that they are told apart in grey print, too.
 */
#ifndef CH_PLOT_CHART_H
#define CH_PLOT_CHART_H

#include "plot/panel.h"

struct series {
    const char *name;
    int count;
    const double *x, *y; /* what the axes cannot hold leaves a gap */
    int style;           /* which colour and dashes, from 0 */
    bool reference;      /* separate small circles in grey: what others measured */
};

/* A range of y that is marked where the lines begin, and a level across the whole chart. */
struct mark {
    double low, high; /* equal: a level */
    const char *label;
};

/* The content of a panel_chart. */
struct chart {
    const char *title; /* NULL: none */
    const char *x_axis, *y_axis;
    bool log_y;
    int series_count, mark_count;
    const struct series *series;
    const struct mark *mark;
};

/* The content of a panel_key. */
struct key {
    int count;
    const struct series *series;
};

/* Whether there is a value that the axes can hold. */
bool chart_can_be_drawn(const struct chart *chart);

/* ---- what the files of charts share ---- */

/* The scales that hold all series and marks. */
void chart_scales(const struct chart *chart, struct scale *x, struct scale *y);

/* At most so many ticks of the x axis; where every x is a whole number, there are none between. */
struct ticks chart_x_ticks(const struct chart *chart, const struct scale *x, int most);

/* Sets colour and dashes; a line drawn then is the series'. */
void series_pen(cairo_t *cr, const struct series *series);
/* The small circle of a point. */
void series_point(cairo_t *cr, const struct series *series, double x, double y);
/* Whether its points are few enough to be marked on the line. */
bool series_has_points(const struct series *series);
/* What stands for the series in text: one ASCII character, with the series' colour if there are colours. */
void series_glyph(struct text_out *out, const struct series *series, ch_colours colours);

double chart_height(cairo_t *cr, const void *chart, double width);
void chart_draw(cairo_t *cr, const void *chart, struct box box);
void chart_text(struct text_out *out, const void *chart, ch_colours colours, int columns);

#endif
