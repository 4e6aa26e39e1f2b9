/* Distributions, a row each: how the values of each of many tensors are spread. */
#ifndef CH_PLOT_SPREAD_H
#define CH_PLOT_SPREAD_H

#include "plot/panel.h"

enum { SPREAD_QUANTILES = 7 };

struct spread {
    const char *name;
    int64_t count;
    double quantile[SPREAD_QUANTILES]; /* smallest, 5 %, 25 %, median, 75 %, 95 %, largest */
    double mean, deviation;
};

/* The content of a panel_spreads. */
struct spreads {
    const char *axis; /* what the values are */
    int count;
    const struct spread *row;
};

/* Fills all but the name; sorts the values. count > 0, all values finite. */
void spread_measure(double *value, size_t count, struct spread *spread);

/* ---- what the files of distributions share ---- */

struct scale spreads_scale(const struct spreads *spreads);
/* "0.0312", "-1.5": a mean or a deviation in at most seven characters. */
void spread_number(double value, char out[NUMBER_BYTES]);

double spreads_height(cairo_t *cr, const void *spreads, double width);
void spreads_draw(cairo_t *cr, const void *spreads, struct box box);

#endif
