#include "plot/spread.h"
#include "base/error.h"
#include "plot/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- measuring ---- */

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between the two nearest values: type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", 1996.
 */
static double quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (sorted[below + 1] - sorted[below]) * (place - (double)below);
}

void spread_measure(double *value, size_t count, struct spread *spread) {
    static const double share[SPREAD_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
    double sum = 0, squares = 0;
    qsort(value, count, sizeof *value, rising);
    for (size_t i = 0; i < count; i++) sum += value[i];
    spread->count = (int64_t)count;
    spread->mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += (value[i] - spread->mean) * (value[i] - spread->mean);
    spread->deviation = sqrt(squares / (double)count);
    for (int i = 0; i < SPREAD_QUANTILES; i++) spread->quantile[i] = quantile(value, count, share[i]);
}

struct scale spreads_scale(const struct spreads *spreads) {
    double low = 0, high = 0;
    for (int i = 0; i < spreads->count; i++) {
        low = fmin(low, spreads->row[i].quantile[0]);
        high = fmax(high, spreads->row[i].quantile[SPREAD_QUANTILES - 1]);
    }
    return scale_rounded(scale_of(low, high, false));
}

/* The notation for a column: as many decimals as the largest leaves room for, unless the smallest would be lost. */
static struct spread_notation notation_of(double least, double most) {
    int decimals = 4 - (int)fmax(floor(log10(fmax(most, 1))), 0);
    bool plain = decimals >= 0 && (least == 0 || least >= pow(10, -decimals));
    return (struct spread_notation){plain, plain ? decimals : 1};
}

static double smaller(double least, double size) {
    return size > 0 && (least == 0 || size < least) ? size : least;
}

void spreads_notations(const struct spreads *spreads, struct spread_notation *mean, struct spread_notation *deviation) {
    double least_mean = 0, most_mean = 0, least_deviation = 0, most_deviation = 0; /* but for what is 0 */
    for (int i = 0; i < spreads->count; i++) {
        const struct spread *row = &spreads->row[i];
        least_mean = smaller(least_mean, fabs(row->mean));
        most_mean = fmax(most_mean, fabs(row->mean));
        least_deviation = smaller(least_deviation, row->deviation);
        most_deviation = fmax(most_deviation, row->deviation);
    }
    *mean = notation_of(least_mean, most_mean);
    *deviation = notation_of(least_deviation, most_deviation);
}

void spread_number(double value, struct spread_notation notation, char out[NUMBER_BYTES]) {
    if (value == 0 || !notation.plain)
        scale_power(value, notation.decimals, out);
    else
        snprintf(out, NUMBER_BYTES, "%.*f", notation.decimals, value);
}

/* ---- text ---- */

enum { LONGEST_NAME = 40, NUMBER_COLUMNS = 8, LEAST_STRIP = 10 };

static int cell_of(const struct scale *scale, double value, int cells) {
    return (int)fmin(fmax(round(scale_place(scale, value) * (cells - 1)), 0), cells - 1);
}

/* "  .--[==|===]---.  " */
static void put_strip(struct text_out *out, const struct spread *row, const struct scale *scale, int cells) {
    int at[SPREAD_QUANTILES];
    for (int i = 0; i < SPREAD_QUANTILES; i++) at[i] = cell_of(scale, row->quantile[i], cells);
    for (int c = 0; c < cells; c++) {
        const char *glyph = " ";
        if (c >= at[0] && c <= at[6]) glyph = ".";
        if (c >= at[1] && c <= at[5]) glyph = "-";
        if (c >= at[2] && c <= at[4]) glyph = "=";
        if (c == at[3]) glyph = "|";
        text_out_add(out, glyph, 1);
    }
}

static void put_number(struct text_out *out, const char *text, int end) {
    struct label label = label_clean(text, NUMBER_COLUMNS, LABEL_ASCII);
    text_out_pad(out, end - label.width);
    text_out_add(out, label.text, label.width);
}

/* Where the strip stands, and whether mean and deviation find room beside it. Names stand before it; on a line of their
 * own where there is no room for both. */
struct view {
    const struct spreads *spreads;
    struct scale scale;
    char low[NUMBER_BYTES], high[NUMBER_BYTES]; /* its ends */
    enum label_set set;
    int columns, longest, left, strip;
    bool numbered;
    struct spread_notation mean, deviation;
};

static int widest_name(const struct view *view) {
    int widest = 0;
    for (int i = 0; i < view->spreads->count; i++) {
        int width = label_clean(view->spreads->row[i].name, view->longest, view->set).width;
        if (width > widest) widest = width;
    }
    return widest;
}

static struct view view_of(const struct spreads *spreads, enum label_set set, int columns) {
    struct view view = {.spreads = spreads, .scale = spreads_scale(spreads), .set = set, .columns = columns};
    scale_ends(&view.scale, view.low, view.high);
    int least = (int)fmax(LEAST_STRIP, (double)(strlen(view.low) + 1 + strlen(view.high)));
    view.longest = columns < LONGEST_NAME ? columns : LONGEST_NAME;
    view.left = widest_name(&view) + 1;
    if (columns - view.left - 1 < least) view.left = 0;
    view.strip = columns - view.left - 1 - 2 * (NUMBER_COLUMNS + 1);
    spreads_notations(spreads, &view.mean, &view.deviation);
    view.numbered = view.strip >= least;
    if (!view.numbered) view.strip = columns - view.left - 1;
    return view;
}

static void end_line(struct text_out *out, const struct view *view, const char *mean, const char *deviation) {
    if (view->numbered) put_number(out, mean, view->left + view->strip + NUMBER_COLUMNS + 1);
    if (view->numbered) put_number(out, deviation, view->columns - 1);
    text_out_newline(out);
}

static void put_heading(struct text_out *out, const struct view *view) {
    int high = (int)strlen(view->high);
    text_out_pad(out, view->left);
    text_out_label(out, view->low, view->strip - high - 1, LABEL_ASCII);
    text_out_pad(out, view->left + view->strip - high);
    text_out_label(out, view->high, high, LABEL_ASCII);
    end_line(out, view, "mean", "dev.");
}

static void put_row(struct text_out *out, const struct view *view, const struct spread *row) {
    char mean[NUMBER_BYTES], deviation[NUMBER_BYTES];
    text_out_label(out, row->name, view->longest, view->set);
    if (view->left == 0) text_out_newline(out);
    text_out_pad(out, view->left);
    put_strip(out, row, &view->scale, view->strip);
    spread_number(row->mean, view->mean, mean);
    spread_number(row->deviation, view->deviation, deviation);
    end_line(out, view, mean, deviation);
}

static void text(struct text_out *out, const void *content, ch_colours colours, int columns) {
    struct view view = view_of(content, text_out_set(colours), columns);
    put_heading(out, &view);
    for (int i = 0; i < view.spreads->count; i++) put_row(out, &view, &view.spreads->row[i]);
    text_out_words(out,
                   "a row: . from the smallest value to the largest, - the middle 90 %, = the middle half, "
                   "| the median",
                   columns);
}

/* ---- the panel ---- */

static ch_status check(const void *content, ch_error *error) {
    const struct spreads *spreads = content;
    if (spreads->count >= 1) return CH_OK;
    return fail(error, CH_USAGE, "cannot draw distributions: expected at least one row, found %d", spreads->count);
}

static struct js_value *row_numbers(const struct spread *row) {
    static const char *const names[SPREAD_QUANTILES] = {"min", "q05", "q25", "median", "q75", "q95", "max"};
    struct js_value *object = js_new_object();
    bool complete =
        object && js_set(object, "name", numbers_text(row->name)) && js_set(object, "count", js_new_int(row->count)) &&
        js_set(object, "mean", js_new_double(row->mean)) && js_set(object, "deviation", js_new_double(row->deviation));
    for (int i = 0; i < SPREAD_QUANTILES && complete; i++)
        complete = js_set(object, names[i], js_new_double(row->quantile[i]));
    return numbers_finish(object, complete);
}

static struct js_value *numbers(const void *content) {
    const struct spreads *spreads = content;
    struct js_value *object = js_new_object(), *list = js_new_array();
    bool complete = object && list;
    for (int i = 0; i < spreads->count && complete; i++) complete = js_add(list, row_numbers(&spreads->row[i]));
    if (complete) return numbers_finish(object, js_set(object, "rows", list));
    js_free(list);
    return numbers_finish(object, false);
}

const struct panel_kind panel_spreads = {
    .name = "distributions",
    .check = check,
    .height = spreads_height,
    .draw = spreads_draw,
    .text = text,
    .numbers = numbers,
};
