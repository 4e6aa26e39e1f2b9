/*
 * Heat maps for a terminal. A cell is two columns wide, which makes it about square; one column where the map
 * would not fit; and where even that is too wide, a cell stands for step x step values. Maps stand side by side
 * as the width allows; maps whose columns have places stand below one another, each above the whole axis.
 */
#include "plot/heatmap_panel.h"
#include "plot/paint.h"

#include <stdio.h>
#include <string.h>

enum {
    LEAST_COLUMNS = 20,
    LONGEST_ROW_LABEL = 16,
    HIGHEST_HEADING = 8,
    GAP = 3,
    MOST_ROWS = 24, /* of a stretched map */
    TITLE_LINES = 4,
    TICK_GAP = 2,
    NOTE = 160
};

struct view {
    const struct heatmap_grid *grid;
    ch_colours colours;
    enum label_set set;
    int columns;
    int cell; /* columns of a cell: 1 or 2 */
    struct cell_step step;
    int label;   /* columns of the row labels */
    int cells;   /* across the widest map */
    int heading; /* lines of the column labels, which are written downwards */
    int across;  /* maps side by side */
    int panel;   /* columns of one map with its row labels, or of its title */
    struct text_out *out;
};

static struct label row_label(const struct view *view, int map, int row) {
    int most = view->columns * 2 / 5 < LONGEST_ROW_LABEL ? view->columns * 2 / 5 : LONGEST_ROW_LABEL;
    return label_at(view->grid->map[map].row_label, row * view->step.row, most, view->set);
}

/* Written downwards: one character a line. */
static struct label col_label(const struct view *view, int map, int col) {
    return label_at(view->grid->map[map].col_label, col * view->step.col, HIGHEST_HEADING, view->set);
}

static void choose_label_width(struct view *view) {
    view->step = (struct cell_step){1, 1};
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
    if (view->grid->end) cols = room;
    view->cell = cols <= room / 2 ? 2 : 1;
    view->step.col = cols <= room ? 1 : divide_up(cols, room);
    view->step.row = view->grid->aspect > 0 ? divide_up(rows, MOST_ROWS) : view->step.col;
    view->cells = divide_up(cols, view->step.col);
    view->panel = view->label + 1 + view->cells * view->cell;
    for (int m = 0; m < view->grid->count; m++) {
        int width = label_clean(view->grid->map[m].title, LEAST_COLUMNS, view->set).width;
        if (width > view->panel) view->panel = width;
    }
    view->across = view->grid->end ? 1 : (view->columns + GAP) / (view->panel + GAP);
    if (view->across > view->grid->count) view->across = view->grid->count;
}

static int cells_across(const struct view *view, int map) {
    return heatmap_cells(view->grid, &view->grid->map[map], view->step, view->cells);
}

static int cells_down(const struct view *view, int map) {
    return divide_up(view->grid->map[map].rows, view->step.row);
}

static int characters(const char *text) {
    int count = 0, width;
    for (size_t bytes; (bytes = label_character(text, &width)) > 0; text += bytes) count++;
    return count;
}

static void choose_heading(struct view *view) {
    view->heading = view->grid->end ? 0 : 1;
    for (int m = 0; m < view->grid->count; m++) {
        for (int c = 0; c < cells_across(view, m) && !view->grid->end; c++) {
            int lines = characters(col_label(view, m, c).text);
            if (lines > view->heading) view->heading = lines;
        }
    }
}

/* The columns of a line that belong to a map's cells begin here. */
static int cells_begin(const struct view *view, int place) {
    return place * (view->panel + GAP) + view->label + 1;
}

static int title_lines(const struct view *view, int map, struct label line[TITLE_LINES]) {
    return label_wrap(view->grid->map[map].title, view->set, view->panel, label_columns, NULL, line, TITLE_LINES);
}

/* The titles of maps that stand side by side. */
static void put_titles(struct view *view, int first, int count) {
    struct label line[TITLE_LINES];
    int lines = 0;
    for (int i = 0; i < count; i++) {
        int its = title_lines(view, first + i, line);
        if (its > lines) lines = its;
    }
    for (int l = 0; l < lines; l++) {
        for (int i = 0; i < count; i++) {
            if (l >= title_lines(view, first + i, line)) continue;
            text_out_pad(view->out, i * (view->panel + GAP));
            text_out_add(view->out, line[l].text, line[l].width);
        }
        text_out_newline(view->out);
    }
}

/* The axis of steps below a map: a line with its ticks, and their numbers. */
static void put_ticks(struct view *view) {
    struct ticks most = heatmap_ticks(view->grid, MOST_TICKS); /* their widest number is the last */
    int room = (int)strlen(most.text[most.count - 1]) + TICK_GAP;
    struct ticks ticks = heatmap_ticks(view->grid, view->cells / room);
    int begin = cells_begin(view, 0), cell[MOST_TICKS], next = 0;
    for (int i = 0; i < ticks.count; i++) {
        int at = (int)(ticks.value[i] / (double)view->grid->end * view->cells);
        cell[i] = at < view->cells ? at : view->cells - 1;
    }
    text_out_pad(view->out, begin);
    for (int c = 0; c < view->cells; c++) {
        bool tick = next < ticks.count && cell[next] == c;
        next += tick;
        text_out_add(view->out, tick ? "+" : "-", 1);
    }
    text_out_newline(view->out);
    for (int i = 0; i < ticks.count; i++) {
        int width = (int)strlen(ticks.text[i]), at = begin + cell[i] - (width - 1) / 2;
        if (at + width > view->columns) at = view->columns - width;
        if (at <= view->out->column && view->out->column > 0) continue;
        text_out_pad(view->out, at);
        text_out_add(view->out, ticks.text[i], width);
    }
    text_out_newline(view->out);
}

/* One line of the column labels: a label written downwards ends on the last line, next to its column. */
static void put_heading(struct view *view, int map, int place, int line) {
    for (int c = 0; c < cells_across(view, map); c++) {
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
        text_out_pad(view->out, cells_begin(view, place) + c * view->cell);
        text_out_add(view->out, character.text, character.width);
    }
}

/* One cell; the escape sequence is written only where the colour changes. */
static void put_cell(struct view *view, double t, int width, struct paint *last) {
    struct paint paint = paint_of(view->colours, view->grid->colours, t);
    if (strcmp(paint.code, last->code) != 0) {
        text_out_add(view->out, "\x1b[", 0);
        text_out_add(view->out, paint.code, 0);
        text_out_add(view->out, "m", 0);
    }
    for (int i = 0; i < width; i++) text_out_add(view->out, paint.glyph, 1);
    *last = paint;
}

static void end_cells(struct view *view, const struct paint *last) {
    if (last->code[0]) text_out_add(view->out, "\x1b[0m", 0);
}

static void put_row(struct view *view, int map, int place, int row) {
    const struct heatmap *shown = &view->grid->map[map];
    struct paint last = {.code = ""};
    if (row >= cells_down(view, map)) return;
    struct label label = row_label(view, map, row);
    text_out_pad(view->out, cells_begin(view, place) - 1 - label.width);
    text_out_add(view->out, label.text, label.width);
    text_out_pad(view->out, cells_begin(view, place));
    for (int c = 0; c < cells_across(view, map); c++)
        put_cell(view,
                 heatmap_cell(view->grid, shown, row * view->step.row,
                              heatmap_column(view->grid, shown, c, view->step, view->cells), view->step),
                 view->cell, &last);
    end_cells(view, &last);
}

/* The maps first..first+count-1, side by side. */
static void put_maps(struct view *view, int first, int count) {
    int rows = 0;
    for (int i = 0; i < count; i++)
        if (cells_down(view, first + i) > rows) rows = cells_down(view, first + i);
    put_titles(view, first, count);
    for (int line = 0; line < view->heading; line++) {
        for (int i = 0; i < count; i++) put_heading(view, first + i, i, line);
        text_out_newline(view->out);
    }
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < count; i++) put_row(view, first + i, i, r);
        text_out_newline(view->out);
    }
    if (view->grid->end) put_ticks(view);
    text_out_newline(view->out);
}

/* "rows: generated token", cut at the width of the terminal. */
static void put_axis(struct view *view, const char *what, const char *name) {
    if (!name) return;
    text_out_add(view->out, what, (int)strlen(what));
    struct label label = label_clean(name, view->columns - view->out->column, view->set);
    text_out_add(view->out, label.text, label.width);
    text_out_newline(view->out);
}

static void put_notes(struct view *view) {
    char words[NOTE], note[NOTE + 80] = "";
    heatmap_step_text(view->grid, view->step, words, sizeof words);
    if (*words && view->grid->end)
        snprintf(note, sizeof note, "(%s)", words);
    else if (*words)
        snprintf(note, sizeof note, "(to fit %d columns: %s and has the label of the first)", view->columns, words);
    else if (view->cell == 1)
        snprintf(note, sizeof note, "(cells at half their width, to fit %d columns)", view->columns);
    if (*note) text_out_words(view->out, note, view->columns);
}

/* Makes place for `width` columns more: a blank before them, or a new line. */
static void put_space(struct view *view, int width) {
    if (view->out->column + 1 + width > view->columns) text_out_newline(view->out);
    if (view->out->column > 0) text_out_add(view->out, " ", 1);
}

static void put_end(struct view *view, const char *text) {
    int width = (int)strlen(text);
    put_space(view, width);
    text_out_add(view->out, text, width);
}

static void put_bar(struct view *view) {
    char low[NUMBER_BYTES], high[NUMBER_BYTES];
    int length = view->columns < 4 * ASCII_SHADES ? ASCII_SHADES : 2 * ASCII_SHADES;
    struct paint last = {.code = ""};
    scale_ends(&view->grid->bar, low, high);
    put_end(view, low);
    put_space(view, length + 2);
    text_out_add(view->out, "[", 1);
    for (int i = 0; i < length; i++) put_cell(view, (i + 0.5) / length, 1, &last);
    end_cells(view, &last);
    text_out_add(view->out, "]", 1);
    put_end(view, high);
    text_out_newline(view->out);
}

void heatmap_text(struct text_out *out, const void *grid, ch_colours colours, int columns) {
    struct view view = {.grid = grid, .colours = colours, .columns = columns, .set = text_out_set(colours), .out = out};
    choose_label_width(&view);
    choose_cells(&view);
    choose_heading(&view);
    if (view.grid->title) text_out_words(out, label_clean(view.grid->title, NOTE, LABEL_ASCII).text, columns);
    for (int first = 0; first < view.grid->count; first += view.across)
        put_maps(&view, first, view.grid->count - first < view.across ? view.grid->count - first : view.across);
    put_notes(&view);
    put_axis(&view, "columns: ", view.grid->x_axis);
    put_axis(&view, "rows: ", view.grid->y_axis);
    put_bar(&view);
}
