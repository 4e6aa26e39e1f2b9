#include "plot/heatmap.h"
#include "base/error.h"
#include "base/text.h"
#include "plot/heatmap_panel.h"
#include "plot/label.h"
#include "plot/numbers.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 1000000, MOST_MAPS = 256 }; /* rows or columns: far beyond what is readable, and products fit */

ch_status heatmap_check(const struct heatmap *map, ch_error *error) {
    if (map->rows >= 1 && map->cols >= 1 && map->rows <= MOST && map->cols <= MOST) return CH_OK;
    struct label title = label_clean(map->title ? map->title : "without a title", 60, LABEL_UTF8);
    return fail(error, CH_USAGE, "cannot draw the map '%s': expected 1 to %d rows and columns, found %d x %d",
                title.text, MOST, map->rows, map->cols);
}

ch_status heatmap_grid_check(const struct heatmap_grid *grid, ch_error *error) {
    const struct scale *bar = &grid->bar;
    if (grid->count < 1 || grid->count > MOST_MAPS)
        return fail(error, CH_USAGE, "cannot draw: expected 1 to %d maps in one picture, found %d", MOST_MAPS,
                    grid->count);
    if (!(bar->low < bar->high) || !isfinite(bar->low) || !isfinite(bar->high) || (bar->log && bar->low <= 0))
        return fail(error, CH_USAGE, "cannot draw: expected a bar from a low to a higher value, found %g to %g",
                    text_number(bar->low), text_number(bar->high));
    for (int i = 0; i < grid->count; i++) {
        ch_status status = heatmap_check(&grid->map[i], error);
        if (status) return status;
        ch_assert(!grid->end || (grid->map[i].place && grid->map[i].place[grid->map[i].cols - 1] <= grid->end));
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

int heatmap_cells(const struct heatmap_grid *grid, const struct heatmap *map, struct cell_step step, int cells) {
    if (!grid->end) return divide_up(map->cols, step.col);
    double share = (double)map->place[map->cols - 1] / (double)grid->end;
    return (int)fmin(fmax(ceil(share * cells - 1e-9), 1), cells);
}

int heatmap_column(const struct heatmap_grid *grid, const struct heatmap *map, int cell, struct cell_step step,
                   int cells) {
    if (!grid->end) return cell * step.col;
    double width = (double)grid->end / cells, middle = (cell + 0.5) * width;
    int low = 0, high = map->cols - 1; /* the first column behind the middle is among low..high, or there is none */
    double gap = (double)(map->cols > 1 ? map->place[1] - map->place[0] : map->place[0]);
    if (middle < (double)map->place[0] - gap) return -1;
    while (low < high) {
        int half = low + (high - low) / 2;
        if ((double)map->place[half] < middle)
            low = half + 1;
        else
            high = half;
    }
    bool before = low > 0 && middle - (double)map->place[low - 1] < (double)map->place[low] - middle;
    return before ? low - 1 : low;
}

struct ticks heatmap_ticks(const struct heatmap_grid *grid, int most) {
    struct scale axis = {0, (double)grid->end, false};
    return scale_ticks(&axis, grid->end < most ? (int)grid->end + 1 : most);
}

/* Each value is put on the bar and clamped first, so that no infinity spreads. */
double heatmap_cell(const struct heatmap_grid *grid, const struct heatmap *map, int row, int col,
                    struct cell_step step) {
    int rows = grid->sampled ? 1 : step.row, cols = grid->sampled ? 1 : step.col, count = 0;
    double sum = 0;
    if (col < 0) return (double)NAN;
    for (int r = row; r < row + rows && r < map->rows; r++) {
        for (int c = col; c < col + cols && c < map->cols; c++) {
            double place = scale_place(&grid->bar, (double)map->value[(size_t)r * (size_t)map->cols + (size_t)c]);
            if (isnan(place)) continue;
            sum += fmin(fmax(place, 0), 1);
            count++;
        }
    }
    return count ? sum / count : (double)NAN;
}

void heatmap_step_text(const struct heatmap_grid *grid, struct cell_step step, char *out, size_t size) {
    const char *what = grid->sampled ? "the first of" : "the mean of";
    if (!grid->end && step.row == 1 && step.col == 1)
        *out = '\0';
    else if (!grid->end)
        snprintf(out, size, "each cell is %s %d x %d values", what, step.row, step.col);
    else if (step.row == 1)
        snprintf(out, size, "each cell is of the logged %s nearest to it", grid->x_axis);
    else
        snprintf(out, size, "each cell is of the logged %s nearest to it, and %s %d rows", grid->x_axis, what,
                 step.row);
}

/* ---- the panel ---- */

static struct js_value *labels(const char *const *label, int count) {
    struct js_value *list = js_new_array();
    bool complete = list;
    for (int i = 0; i < count && complete; i++) complete = js_add(list, label ? numbers_text(label[i]) : js_new_int(i));
    return numbers_finish(list, complete);
}

static struct js_value *places(const struct heatmap *map) {
    struct js_value *list = js_new_array();
    bool complete = list;
    for (int i = 0; i < map->cols && complete; i++) complete = js_add(list, js_new_int(map->place[i]));
    return numbers_finish(list, complete);
}

static struct js_value *rows_of(const struct heatmap *map) {
    struct js_value *list = js_new_array();
    bool complete = list;
    for (int r = 0; r < map->rows && complete; r++)
        complete = js_add(list, numbers_floats(map->value + (size_t)r * (size_t)map->cols, map->cols));
    return numbers_finish(list, complete);
}

static struct js_value *map_numbers(const struct heatmap *map) {
    struct js_value *object = js_new_object();
    bool complete = object && (!map->title || js_set(object, "title", numbers_text(map->title))) &&
                    js_set(object, "rows", labels(map->row_label, map->rows)) &&
                    js_set(object, "columns", map->place ? places(map) : labels(map->col_label, map->cols)) &&
                    js_set(object, "values", rows_of(map));
    return numbers_finish(object, complete);
}

static struct js_value *numbers(const void *content) {
    const struct heatmap_grid *grid = content;
    struct js_value *object = js_new_object(), *list = js_new_array();
    bool complete = object && list && (!grid->title || js_set(object, "title", numbers_text(grid->title))) &&
                    (!grid->x_axis || js_set(object, "x", numbers_text(grid->x_axis))) &&
                    (!grid->y_axis || js_set(object, "y", numbers_text(grid->y_axis)));
    for (int i = 0; i < grid->count && complete; i++) complete = js_add(list, map_numbers(&grid->map[i]));
    if (complete) return numbers_finish(object, js_set(object, "maps", list));
    js_free(list);
    return numbers_finish(object, false);
}

static ch_status check(const void *content, ch_error *error) {
    return heatmap_grid_check(content, error);
}

const struct panel_kind panel_maps = {
    .name = "maps",
    .check = check,
    .height = heatmap_height,
    .draw = heatmap_draw,
    .text = heatmap_text,
    .numbers = numbers,
};
