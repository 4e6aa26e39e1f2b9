/*
 * Heat maps: numbers in, a picture file or text out. Nothing here knows where the numbers come from.
 *
 * Every function refuses an empty grid, an empty map and a bar without length with a sentence. Values outside
 * low..high are drawn as the nearer end, NaN as grey and, in text, as "?". Labels may be any bytes.
 */
#ifndef CH_PLOT_HEATMAP_H
#define CH_PLOT_HEATMAP_H

#include "clearhead.h"

struct heatmap {
    int rows, cols;
    const float *value;           /* (rows, cols) */
    const char *const *row_label; /* rows of them, or NULL: numbered from 0 */
    const char *const *col_label; /* cols of them, or NULL */
    const char *title;            /* NULL: none */
};

struct heatmap_grid {
    int count;
    const struct heatmap *map;   /* count of them */
    const char *x_axis, *y_axis; /* what columns and rows are; NULL: not said */
    const char *title;           /* NULL: none */
    double low, high;            /* the ends of the colour bar */
};

/* Draws all maps into one picture; the ending of path chooses the format (see plot/format.h). The file appears
 * whole or not at all, and an old one survives a failure. */
ch_status plot_heatmaps(const struct heatmap_grid *grid, const char *path, ch_error *error);

/* The same for a terminal that is `columns` wide (20 at least, less counts as 20): no line is wider. With
 * CH_COLOURS_NONE it is plain ASCII. The caller frees *out with ch_string_free. */
ch_status text_heatmap(const struct heatmap_grid *grid, ch_colours colours, int columns, char **out, ch_error *error);

/* One map as a table of numbers, laid out as the lesson prints it. The caller frees *out with ch_string_free. */
ch_status text_table(const struct heatmap *map, char **out, ch_error *error);

#endif
