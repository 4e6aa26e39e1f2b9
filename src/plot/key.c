/* The key of charts: for each series a piece of its line and its name, in as many rows as they take. */
#include "base/error.h"
#include "plot/chart.h"
#include "plot/numbers.h"

#include <math.h>

static const double sample = 30, sample_gap = 6, entry_gap = 22, row_height = SIZE_TICK * 1.5;

static struct label name_of(cairo_t *cr, const struct series *series, double width) {
    return canvas_fit(cr, series->name, SIZE_TICK, width - sample - sample_gap);
}

static double entry_width(cairo_t *cr, const struct series *series, double width) {
    return sample + sample_gap + canvas_text_width(cr, name_of(cr, series, width).text, SIZE_TICK);
}

/* How many entries from `first` on fit into a row, and how wide they are together. */
static int row_of(cairo_t *cr, const struct key *key, int first, double width, double *length) {
    *length = entry_width(cr, &key->series[first], width);
    int count = 1;
    for (; first + count < key->count; count++) {
        double next = *length + entry_gap + entry_width(cr, &key->series[first + count], width);
        if (next > width) break;
        *length = next;
    }
    return count;
}

static double height(cairo_t *cr, const void *content, double width) {
    const struct key *key = content;
    double rows = 0, length;
    for (int first = 0; first < key->count; first += row_of(cr, key, first, width, &length)) rows++;
    return rows * row_height;
}

static void draw_entry(cairo_t *cr, const struct series *series, double x, double y, double width) {
    cairo_save(cr);
    series_pen(cr, series);
    if (!series->reference) {
        cairo_move_to(cr, x, y);
        cairo_line_to(cr, x + sample, y);
        cairo_stroke(cr);
    }
    if (series_has_points(series)) series_point(cr, series, x + sample / 2, y);
    cairo_restore(cr);
    canvas_ink(cr);
    canvas_text(cr, x + sample + sample_gap, y, name_of(cr, series, width).text, SIZE_TICK, ALIGN_LEFT,
                DIRECTION_ACROSS);
}

static void draw(cairo_t *cr, const void *content, struct box box) {
    const struct key *key = content;
    double y = box.y + row_height / 2, length;
    for (int first = 0, count; first < key->count; first += count, y += row_height) {
        count = row_of(cr, key, first, box.width, &length);
        double x = box.x + (box.width - length) / 2;
        for (int i = first; i < first + count; i++) {
            draw_entry(cr, &key->series[i], x, y, box.width);
            x += entry_width(cr, &key->series[i], box.width) + entry_gap;
        }
    }
}

static void text(struct text_out *out, const void *content, ch_colours colours, int columns) {
    const struct key *key = content;
    for (int i = 0; i < key->count; i++) {
        struct label label = label_clean(key->series[i].name, columns - 2, text_out_set(colours));
        if (out->column > 0 && out->column + 3 + 2 + label.width > columns) text_out_newline(out);
        text_out_pad(out, out->column ? out->column + 3 : 0);
        series_glyph(out, &key->series[i], colours);
        text_out_add(out, " ", 1);
        text_out_add(out, label.text, label.width);
    }
    text_out_newline(out);
}

static ch_status check(const void *content, ch_error *error) {
    const struct key *key = content;
    if (key->count >= 1) return CH_OK;
    return fail(error, CH_USAGE, "cannot draw a key: expected at least one series, found %d", key->count);
}

static struct js_value *numbers(const void *content) {
    const struct key *key = content;
    struct js_value *object = js_new_object(), *list = js_new_array();
    bool complete = object && list;
    for (int i = 0; i < key->count && complete; i++) complete = js_add(list, numbers_text(key->series[i].name));
    if (complete) return numbers_finish(object, js_set(object, "names", list));
    js_free(list);
    return numbers_finish(object, false);
}

const struct panel_kind panel_key = {
    .name = "key",
    .check = check,
    .height = height,
    .draw = draw,
    .text = text,
    .numbers = numbers,
};
