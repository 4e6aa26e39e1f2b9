/* The cells of a heat map as they are drawn: scaled to 0..1, and averaged where there are too many. */
#ifndef CH_PLOT_CELLS_H
#define CH_PLOT_CELLS_H

#include "plot/heatmap.h"

struct cells {
    int rows, cols;
    float *t; /* (rows, cols): 0 is the bar's low end, 1 its high end; NaN: no value */
};

/* The sentence for a map or a grid that cannot be drawn. */
ch_status heatmap_check(const struct heatmap *map, ch_error *error);
ch_status heatmap_grid_check(const struct heatmap_grid *grid, ch_error *error);

/* The most rows and columns of any map of the grid. */
void heatmap_grid_extent(const struct heatmap_grid *grid, int *rows, int *cols);

/* One struct cells for each map, in *cells; each cell is the mean of step x step neighbours that have a value. */
ch_status cells_new(const struct heatmap_grid *grid, int step, struct cells **cells, ch_error *error);
void cells_free(struct cells *cells, int count);

/* n / step, rounded up: how many cells of `step` values n values make. */
int divide_up(int n, int step);

#endif
