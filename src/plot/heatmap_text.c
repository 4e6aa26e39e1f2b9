/*
 * Heat maps for a terminal. A cell is two columns wide, which makes it about square; one column where the map
 * would not fit; and where even that is too wide, a cell stands for step x step values. Maps stand side by side
 * as the width allows.
 */
#include "plot/cells.h"
#include "plot/heatmap.h"
#include "plot/label.h"
#include "plot/paint.h"
#include "plot/text_out.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_COLUMNS = 20, MOST_COLUMNS = 4096, LONGEST_ROW_LABEL = 16, HIGHEST_HEADING = 8, GAP = 3 };

struct view {
    const struct heatmap_grid *grid;
    struct cells *cells;
    ch_colours colours;
    enum label_set set;
    int columns;
    int cell;    /* columns of a cell: 1 or 2 */
    int step;    /* values a side that a cell stands for */
    int label;   /* columns of the row labels */
    int heading; /* lines of the column labels, which are written downwards */
    int across;  /* maps side by side */
    int panel;   /* columns of one map with its row labels, or of its title */
    struct text_out out;
};

static struct label row_label(const struct view *view, int map, int row) {
    int most = view->columns / 4 < LONGEST_ROW_LABEL ? view->columns / 4 : LONGEST_ROW_LABEL;
    return label_at(view->grid->map[map].row_label, row * view->step, most, view->set);
}

/* Written downwards: one character a line. */
static struct label col_label(const struct view *view, int map, int col) {
    return label_at(view->grid->map[map].col_label, col * view->step, HIGHEST_HEADING, view->set);
}

static void choose_label_width(struct view *view) {
    view->step = 1;
    for (int m = 0; m < view->grid->count; m++) {
        for (int r = 0; r < view->grid->map[m].rows; r++) {
            int width = row_label(view, m, r).width;
            if (width > view->label) view->label = width;
        }
    }
}

static void choose_cells(struct view *view) {
    int rows, cols, room = view->columns - view->label - 1;
    heatmap_grid_extent(view->grid, &rows, &cols);
    view->cell = cols <= room / 2 ? 2 : 1;
    view->step = cols <= room ? 1 : divide_up(cols, room);
    view->panel = view->label + 1 + divide_up(cols, view->step) * view->cell;
    for (int m = 0; m < view->grid->count; m++) {
        int width = label_clean(view->grid->map[m].title, LEAST_COLUMNS, view->set).width;
        if (width > view->panel) view->panel = width;
    }
    view->across = (view->columns + GAP) / (view->panel + GAP);
    if (view->across > view->grid->count) view->across = view->grid->count;
}

static int characters(const char *text) {
    int count = 0, width;
    for (size_t bytes; (bytes = label_character(text, &width)) > 0; text += bytes) count++;
    return count;
}

static void choose_heading(struct view *view) {
    view->heading = 1;
    for (int m = 0; m < view->grid->count; m++) {
        for (int c = 0; c < view->cells[m].cols; c++) {
            int lines = characters(col_label(view, m, c).text);
            if (lines > view->heading) view->heading = lines;
        }
    }
}

/* The columns of a line that belong to a map's cells begin here. */
static int cells_begin(const struct view *view, int place) {
    return place * (view->panel + GAP) + view->label + 1;
}

static void put_map_title(struct view *view, int map, int place) {
    struct label label = label_clean(view->grid->map[map].title, view->panel, view->set);
    if (label.width == 0) return;
    text_out_pad(&view->out, place * (view->panel + GAP));
    text_out_add(&view->out, label.text, label.width);
}

/* One line of the column labels: a label written downwards ends on the last line, next to its column. */
static void put_heading(struct view *view, int map, int place, int line) {
    for (int c = 0; c < view->cells[map].cols; c++) {
        struct label label = col_label(view, map, c);
        int skip = line - (view->heading - characters(label.text)), width;
        const char *at = label.text;
        size_t bytes = label_character(at, &width);
        if (skip < 0) continue;
        for (; skip > 0 && bytes > 0; skip--) {
            at += bytes;
            bytes = label_character(at, &width);
        }
        if (bytes == 0) continue;
        struct label character = {.text = "?", .width = 1}; /* for one that is wider than its cell */
        if (width <= view->cell) {
            memcpy(character.text, at, bytes);
            character.text[bytes] = '\0';
            character.width = width;
        }
        text_out_pad(&view->out, cells_begin(view, place) + c * view->cell);
        text_out_add(&view->out, character.text, character.width);
    }
}

/* One cell; the escape sequence is written only where the colour changes. */
static void put_cell(struct view *view, float t, int width, struct paint *last) {
    struct paint paint = paint_of(view->colours, t);
    if (strcmp(paint.code, last->code) != 0) {
        text_out_add(&view->out, "\x1b[", 0);
        text_out_add(&view->out, paint.code, 0);
        text_out_add(&view->out, "m", 0);
    }
    for (int i = 0; i < width; i++) text_out_add(&view->out, paint.glyph, 1);
    *last = paint;
}

static void end_cells(struct view *view, const struct paint *last) {
    if (last->code[0]) text_out_add(&view->out, "\x1b[0m", 0);
}

static void put_row(struct view *view, int map, int place, int row) {
    const struct cells *cells = &view->cells[map];
    struct paint last = {.code = ""};
    if (row >= cells->rows) return;
    struct label label = row_label(view, map, row);
    text_out_pad(&view->out, cells_begin(view, place) - 1 - label.width);
    text_out_add(&view->out, label.text, label.width);
    text_out_pad(&view->out, cells_begin(view, place));
    for (int c = 0; c < cells->cols; c++)
        put_cell(view, cells->t[(size_t)row * (size_t)cells->cols + (size_t)c], view->cell, &last);
    end_cells(view, &last);
}

/* The maps first..first+count-1, side by side. */
static void put_maps(struct view *view, int first, int count) {
    int rows = 0;
    bool titled = false;
    for (int i = 0; i < count; i++) {
        if (view->cells[first + i].rows > rows) rows = view->cells[first + i].rows;
        titled = titled || view->grid->map[first + i].title;
    }
    if (titled) {
        for (int i = 0; i < count; i++) put_map_title(view, first + i, i);
        text_out_newline(&view->out);
    }
    for (int line = 0; line < view->heading; line++) {
        for (int i = 0; i < count; i++) put_heading(view, first + i, i, line);
        text_out_newline(&view->out);
    }
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < count; i++) put_row(view, first + i, i, r);
        text_out_newline(&view->out);
    }
    text_out_newline(&view->out);
}

/* "rows: generated token", cut at the width of the terminal. */
static void put_axis(struct view *view, const char *what, const char *name) {
    if (!name) return;
    text_out_add(&view->out, what, (int)strlen(what));
    struct label label = label_clean(name, view->columns - view->out.column, view->set);
    text_out_add(&view->out, label.text, label.width);
    text_out_newline(&view->out);
}

static void put_notes(struct view *view) {
    char note[160];
    if (view->cell == 2) return;
    if (view->step == 1)
        snprintf(note, sizeof note, "(cells at half their width, to fit %d columns)", view->columns);
    else
        snprintf(note, sizeof note,
                 "(wider than %d columns: each cell is the mean of %d x %d values and has the label of the first)",
                 view->columns, view->step, view->step);
    text_out_words(&view->out, note, view->columns);
}

/* Makes place for `width` columns more: a blank before them, or a new line. */
static void put_space(struct view *view, int width) {
    if (view->out.column + 1 + width > view->columns) text_out_newline(&view->out);
    if (view->out.column > 0) text_out_add(&view->out, " ", 1);
}

static void put_end(struct view *view, double value) {
    char text[NUMBER_BYTES];
    int width = snprintf(text, sizeof text, "%.3g", value);
    put_space(view, width);
    text_out_add(&view->out, text, width);
}

static void put_bar(struct view *view) {
    int length = view->columns < 4 * ASCII_SHADES ? ASCII_SHADES : 2 * ASCII_SHADES;
    struct paint last = {.code = ""};
    put_end(view, view->grid->low);
    put_space(view, length + 2);
    text_out_add(&view->out, "[", 1);
    for (int i = 0; i < length; i++) put_cell(view, ((float)i + 0.5f) / (float)length, 1, &last);
    end_cells(view, &last);
    text_out_add(&view->out, "]", 1);
    put_end(view, view->grid->high);
    text_out_newline(&view->out);
}

ch_status text_heatmap(const struct heatmap_grid *grid, ch_colours colours, int columns, char **out, ch_error *error) {
    *out = NULL;
    ch_status status = heatmap_grid_check(grid, error);
    if (status) return status;
    struct view view = {.grid = grid, .colours = colours, .columns = columns};
    view.set = colours == CH_COLOURS_NONE ? LABEL_ASCII : LABEL_UTF8;
    if (columns < LEAST_COLUMNS) view.columns = LEAST_COLUMNS;
    if (columns > MOST_COLUMNS) view.columns = MOST_COLUMNS;
    choose_label_width(&view);
    choose_cells(&view);
    status = cells_new(grid, view.step, &view.cells, error);
    if (status) return status;
    choose_heading(&view);
    if (grid->title) {
        put_axis(&view, "", grid->title);
        text_out_newline(&view.out);
    }
    for (int first = 0; first < grid->count; first += view.across)
        put_maps(&view, first, grid->count - first < view.across ? grid->count - first : view.across);
    put_notes(&view);
    put_axis(&view, "columns: ", grid->x_axis);
    put_axis(&view, "rows: ", grid->y_axis);
    put_bar(&view);
    cells_free(view.cells, grid->count);
    return text_out_finish(&view.out, out, error);
}
