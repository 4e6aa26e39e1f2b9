#include "plot/cells.h"
#include "plot/label.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>

enum { MOST = 1000000 }; /* rows or columns: far beyond what is readable, and widths still fit an int */

ch_status heatmap_check(const struct heatmap *map, ch_error *error) {
    if (map->rows >= 1 && map->cols >= 1 && map->rows <= MOST && map->cols <= MOST) return CH_OK;
    struct label title = label_clean(map->title ? map->title : "without a title", 60, LABEL_UTF8);
    return fail(error, CH_USAGE, "cannot draw the map '%s': expected 1 to %d rows and columns, found %d x %d",
                title.text, MOST, map->rows, map->cols);
}

ch_status heatmap_grid_check(const struct heatmap_grid *grid, ch_error *error) {
    if (grid->count < 1) return fail(error, CH_USAGE, "cannot draw: expected at least one map, found %d", grid->count);
    if (!(grid->low < grid->high) || !isfinite(grid->low) || !isfinite(grid->high))
        return fail(error, CH_USAGE, "cannot draw: expected a bar from a low to a higher value, found %g to %g",
                    grid->low, grid->high);
    for (int i = 0; i < grid->count; i++) {
        ch_status status = heatmap_check(&grid->map[i], error);
        if (status) return status;
    }
    return CH_OK;
}

void heatmap_grid_extent(const struct heatmap_grid *grid, int *rows, int *cols) {
    *rows = *cols = 0;
    for (int i = 0; i < grid->count; i++) {
        if (grid->map[i].rows > *rows) *rows = grid->map[i].rows;
        if (grid->map[i].cols > *cols) *cols = grid->map[i].cols;
    }
}

int divide_up(int n, int step) {
    return (n - 1) / step + 1;
}

/* The mean over one cell, each value scaled to the bar and clamped first, so that no infinity spreads. */
static float mean(const struct heatmap *map, const struct heatmap_grid *grid, int row, int col, int step) {
    double sum = 0;
    int count = 0;
    for (int r = row; r < row + step && r < map->rows; r++) {
        for (int c = col; c < col + step && c < map->cols; c++) {
            double value = (double)map->value[(size_t)r * (size_t)map->cols + (size_t)c];
            if (isnan(value)) continue;
            /* halves, because high - low can be more than a double holds */
            double t = (value / 2 - grid->low / 2) / (grid->high / 2 - grid->low / 2);
            sum += fmin(fmax(t, 0), 1);
            count++;
        }
    }
    return count ? (float)(sum / count) : NAN;
}

static bool fill(struct cells *cells, const struct heatmap *map, const struct heatmap_grid *grid, int step) {
    cells->rows = divide_up(map->rows, step);
    cells->cols = divide_up(map->cols, step);
    cells->t = mem_new((size_t)cells->rows * (size_t)cells->cols, sizeof *cells->t);
    if (!cells->t) return false;
    float *t = cells->t;
    for (int r = 0; r < cells->rows; r++)
        for (int c = 0; c < cells->cols; c++) *t++ = mean(map, grid, r * step, c * step, step);
    return true;
}

ch_status cells_new(const struct heatmap_grid *grid, int step, struct cells **cells, ch_error *error) {
    *cells = mem_new((size_t)grid->count, sizeof **cells);
    bool done = *cells != NULL;
    for (int i = 0; done && i < grid->count; i++) done = fill(&(*cells)[i], &grid->map[i], grid, step);
    if (done) return CH_OK;
    cells_free(*cells, grid->count);
    *cells = NULL;
    return fail_memory(error, "the cells of a heat map");
}

void cells_free(struct cells *cells, int count) {
    if (!cells) return;
    for (int i = 0; i < count; i++) mem_free(cells[i].t);
    mem_free(cells);
}
