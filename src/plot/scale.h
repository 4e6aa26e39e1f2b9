/*
 * Scales: where a value stands on an axis or a colour bar, and the round numbers that are written beside it: 1, 2 or 5
 * times a power of ten.
 */
#ifndef CH_PLOT_SCALE_H
#define CH_PLOT_SCALE_H

#include "plot/label.h"

#include <stdbool.h>

struct scale {
    double low, high; /* low < high; both above 0 on a logarithmic scale */
    bool log;
};

enum { MOST_TICKS = 16 };

struct ticks {
    int count;
    double value[MOST_TICKS];
    char text[MOST_TICKS][NUMBER_BYTES]; /* as many digits as tell them apart; all plain, or all with a power of ten */
};

/* A scale that holds both values, which may come in any order and be equal. Not finite, or not above 0 on a
 * logarithmic scale: 0..1, or 0.1..1. Ends beyond 1e300, and below 1e-300 on a logarithmic scale, are taken as those.
 */
struct scale scale_of(double low, double high, bool log);
/* The same, widened to the round numbers around its ends. */
struct scale scale_rounded(struct scale scale);

/* 0 at low, 1 at high, outside for values outside; NaN for what a logarithmic scale cannot hold. */
double scale_place(const struct scale *scale, double value);

/* At most `most` ticks (2..MOST_TICKS), rising, all within the scale. */
struct ticks scale_ticks(const struct scale *scale, int most);

/* Its two ends as numbers, both plain or both with a power of ten. */
void scale_ends(const struct scale *scale, char low[NUMBER_BYTES], char high[NUMBER_BYTES]);

/* A number with a power of ten: "1.5e-5"; 0 is "0". */
void scale_power(double value, int decimals, char out[NUMBER_BYTES]);

#endif
