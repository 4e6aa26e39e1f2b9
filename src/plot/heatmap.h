/*
 * Heat maps: numbers in, a panel of a page or text out. Nothing here knows where the numbers come from.
 *
 * An empty grid, an empty map and a bar without length are refused with a sentence. Values outside the bar are drawn as
 * its nearer end, what it cannot hold (NaN, and on a logarithmic bar what is not above 0) as grey and, in text, as "?".
 * Labels may be any bytes.
 */
#ifndef CH_PLOT_HEATMAP_H
#define CH_PLOT_HEATMAP_H

#include "plot/colour.h"
#include "plot/scale.h"

#include "clearhead.h"

struct heatmap {
    int rows, cols;
    const float *value;           /* (rows, cols) */
    const char *const *row_label; /* rows of them, or NULL: numbered from 0 */
    const char *const *col_label; /* cols of them, or NULL */
    const char *title;            /* NULL: none */
    const char *row_word;         /* in front of a row of numbers; NULL: the lesson's "generated" */
    const char *col_word;         /* in front of their heading; NULL: the lesson's "src:" */
    const int64_t *place;         /* (cols) rising, from 0 on: where columns stand on the grid's axis; or NULL */
};

/* The content of a panel_maps. */
struct heatmap_grid {
    int count;
    const struct heatmap *map;   /* count of them */
    const char *title;           /* of them all; NULL: none */
    const char *x_axis, *y_axis; /* what columns and rows are; NULL: not said */
    struct scale bar;            /* from the one end of the colours to the other */
    enum colour_map colours;
    double aspect; /* height of a map by its width; 0: its cells are square */
    bool sampled;  /* where cells are too many, one stands for its neighbours; else their mean does */
    int64_t end;   /* where columns have a place: the axis of all maps goes from 0 to here. 0: columns have none */
};

/* One map as a table of numbers, laid out as the lesson prints it. The caller frees *out with ch_string_free. */
ch_status text_table(const struct heatmap *map, char **out, ch_error *error);

/* ---- what the files of heat maps share ---- */

/* The sentence for a map or a grid that cannot be drawn. */
ch_status heatmap_check(const struct heatmap *map, ch_error *error);
ch_status heatmap_grid_check(const struct heatmap_grid *grid, ch_error *error);

/* The most rows and columns of any map of the grid. */
void heatmap_grid_extent(const struct heatmap_grid *grid, int *rows, int *cols);

/* How many values make a cell, down and across. */
struct cell_step {
    int row, col;
};

/* How many cells across a map takes, where the widest of the grid takes `cells`. */
int heatmap_cells(const struct heatmap_grid *grid, const struct heatmap *map, struct cell_step step, int cells);
/* The first column that a cell shows. With places it is the one nearest to the cell's middle, or -1 where the first is
 * farther off than the second is from it: nothing is known there. */
int heatmap_column(const struct heatmap_grid *grid, const struct heatmap *map, int cell, struct cell_step step,
                   int cells);
/* At most so many ticks of that axis, at whole numbers. */
struct ticks heatmap_ticks(const struct heatmap_grid *grid, int most);

/* The place on the bar, 0..1, of the cell whose first value is (row, col); NaN where it has no value. */
double heatmap_cell(const struct heatmap_grid *grid, const struct heatmap *map, int row, int col,
                    struct cell_step step);

/* n / step, rounded up: how many cells of `step` values n values make. */
int divide_up(int n, int step);

/* What a cell stands for: "each cell is the mean of 2 x 3 values"; empty where it is one value. */
void heatmap_step_text(const struct heatmap_grid *grid, struct cell_step step, char *out, size_t size);

#endif
