/*
 * Line charts for a terminal: each series a letter of its own, drawn over one another in their order, so that a line
 * which is hidden by another still shows where they part.
 */
#include "plot/chart.h"
#include "plot/paint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 9, MOST_CELLS = 160, LONGEST_NUMBER = 8, TICKS_DOWN = 4, COLUMNS_A_TICK = 14 };

void series_glyph(struct text_out *out, const struct series *series, ch_colours colours) {
    static const char glyphs[] = "*o+x#@";
    size_t count = sizeof glyphs - 1;
    char glyph[2] = {series->reference ? '.' : glyphs[(size_t)series->style % count], '\0'};
    struct paint paint = paint_line(colours, series->style);
    bool coloured = paint.code[0] && !series->reference;
    if (coloured) {
        text_out_add(out, "\x1b[", 0);
        text_out_add(out, paint.code, 0);
        text_out_add(out, "m", 0);
    }
    text_out_add(out, glyph, 1);
    if (coloured) text_out_add(out, "\x1b[0m", 0);
}

struct view {
    const struct chart *chart;
    struct scale x, y;
    int cells; /* columns of the plot */
    const struct series *at[ROWS][MOST_CELLS];
};

static int cell_of(double place, int cells) {
    return (int)fmin(fmax(round(place * (cells - 1)), 0), cells - 1);
}

static void put(struct view *view, const struct series *series, double x, double y) {
    view->at[ROWS - 1 - cell_of(y, ROWS)][cell_of(x, view->cells)] = series;
}

/* A cell in each column between two points. */
static void connect(struct view *view, const struct series *series, double x0, double y0, double x1, double y1) {
    int steps = abs(cell_of(x1, view->cells) - cell_of(x0, view->cells));
    for (int i = 1; i < steps; i++) {
        double share = (double)i / steps;
        put(view, series, x0 + (x1 - x0) * share, y0 + (y1 - y0) * share);
    }
}

static void trace(struct view *view, const struct series *series) {
    double last_x = (double)NAN, last_y = (double)NAN;
    for (int i = 0; i < series->count; i++) {
        double x = scale_place(&view->x, series->x[i]), y = scale_place(&view->y, series->y[i]);
        bool there = isfinite(x) && isfinite(y);
        if (there) put(view, series, x, y);
        if (there && isfinite(last_x) && !series->reference) connect(view, series, last_x, last_y, x, y);
        last_x = there ? x : (double)NAN;
        last_y = y;
    }
}

/* The number beside a row, if a tick falls on it. */
static const char *number_at(const struct view *view, const struct ticks *ticks, int row) {
    for (int i = 0; i < ticks->count; i++)
        if (ROWS - 1 - cell_of(scale_place(&view->y, ticks->value[i]), ROWS) == row) return ticks->text[i];
    return "";
}

static void put_row(struct text_out *out, const struct view *view, const struct ticks *ticks, int row, int left,
                    ch_colours colours) {
    const char *number = number_at(view, ticks, row);
    int width = (int)strlen(number);
    text_out_pad(out, left - 2 - width);
    text_out_add(out, number, width);
    text_out_pad(out, left - 1);
    text_out_add(out, *number ? "+" : "|", 1);
    for (int c = 0; c < view->cells; c++) {
        if (!view->at[row][c]) continue;
        text_out_pad(out, left + c);
        series_glyph(out, view->at[row][c], colours);
    }
    text_out_newline(out);
}

static void put_x_axis(struct text_out *out, const struct view *view, int left, int columns) {
    struct ticks ticks = chart_x_ticks(view->chart, &view->x, view->cells / COLUMNS_A_TICK);
    text_out_pad(out, left - 1);
    text_out_add(out, "+", 1);
    for (int c = 0; c < view->cells; c++) text_out_add(out, "-", 1);
    text_out_newline(out);
    for (int i = 0; i < ticks.count; i++) {
        int width = (int)strlen(ticks.text[i]);
        int at = left + cell_of(scale_place(&view->x, ticks.value[i]), view->cells) - width / 2;
        if (at + width > columns) at = columns - width;
        if (at <= out->column && out->column > 0) continue;
        text_out_pad(out, at);
        text_out_add(out, ticks.text[i], width);
    }
    struct label name = label_clean(view->chart->x_axis, columns, LABEL_ASCII);
    if (out->column + 2 + name.width > columns) text_out_newline(out);
    text_out_pad(out, out->column ? out->column + 2 : columns - name.width);
    text_out_add(out, name.text, name.width);
    text_out_newline(out);
}

static void put_marks(struct text_out *out, const struct chart *chart, int columns) {
    for (int i = 0; i < chart->mark_count; i++)
        text_out_words(out, label_clean(chart->mark[i].label, LABEL_BYTES, LABEL_ASCII).text, columns);
}

void chart_text(struct text_out *out, const void *content, ch_colours colours, int columns) {
    struct view view = {.chart = content};
    chart_scales(view.chart, &view.x, &view.y);
    struct ticks ticks = scale_ticks(&view.y, TICKS_DOWN);
    int widest = 0;
    for (int i = 0; i < ticks.count; i++) widest = (int)fmax(widest, (double)strlen(ticks.text[i]));
    int left = widest + 2;
    view.cells = columns - left < MOST_CELLS ? columns - left : MOST_CELLS;
    for (int i = view.chart->series_count - 1; i >= 0; i--) trace(&view, &view.chart->series[i]);
    text_out_label(out, view.chart->title ? view.chart->title : view.chart->y_axis, columns, text_out_set(colours));
    text_out_newline(out);
    for (int row = 0; row < ROWS; row++) put_row(out, &view, &ticks, row, left, colours);
    put_x_axis(out, &view, left, columns);
    put_marks(out, view.chart, columns);
}
