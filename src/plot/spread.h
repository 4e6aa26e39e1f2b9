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
/* How all numbers of a column are written: with so many decimals, plain ("-0.0312") or with a power of ten ("3.1e-5").
 */
struct spread_notation {
    bool plain;
    int decimals;
};

/* The notations of the means and of the deviations. */
void spreads_notations(const struct spreads *spreads, struct spread_notation *mean, struct spread_notation *deviation);
/* In at most eight characters, unless the value is beyond 1e99 either way; exactly 0 is "0". */
void spread_number(double value, struct spread_notation notation, char out[NUMBER_BYTES]);

double spreads_height(cairo_t *cr, const void *spreads, double width);
void spreads_draw(cairo_t *cr, const void *spreads, struct box box);

#endif
