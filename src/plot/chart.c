#include "plot/chart.h"
#include "base/error.h"
#include "plot/numbers.h"

#include <math.h>

/* ---- scales ---- */

static bool drawable(const struct chart *chart, double x, double y) {
    return isfinite(x) && isfinite(y) && (!chart->log_y || y > 0);
}

struct range {
    double low, high;
};

static void widen(struct range *range, double value) {
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

void chart_scales(const struct chart *chart, struct scale *x, struct scale *y) {
    struct range across = {(double)NAN, (double)NAN}, up = across; /* fmin and fmax pass over a NaN */
    for (int s = 0; s < chart->series_count; s++) {
        const struct series *series = &chart->series[s];
        for (int i = 0; i < series->count; i++) {
            if (!drawable(chart, series->x[i], series->y[i])) continue;
            widen(&across, series->x[i]);
            widen(&up, series->y[i]);
        }
    }
    for (int m = 0; m < chart->mark_count; m++) {
        widen(&up, chart->mark[m].low);
        widen(&up, chart->mark[m].high);
    }
    /* An axis that begins near 0 begins there. */
    if (across.low > 0 && across.low < across.high / 10) across.low = 0;
    *x = scale_of(across.low, across.high, false);
    *y = scale_rounded(scale_of(up.low, up.high, chart->log_y));
}

static bool has_whole_x(const struct chart *chart) {
    for (int s = 0; s < chart->series_count; s++)
        for (int i = 0; i < chart->series[s].count; i++)
            if (chart->series[s].x[i] != floor(chart->series[s].x[i])) return false;
    return true;
}

struct ticks chart_x_ticks(const struct chart *chart, const struct scale *x, int most) {
    double whole = x->high - x->low + 1;
    return scale_ticks(x, whole < most && has_whole_x(chart) ? (int)whole : most);
}

bool chart_can_be_drawn(const struct chart *chart) {
    for (int s = 0; s < chart->series_count; s++)
        for (int i = 0; i < chart->series[s].count; i++)
            if (drawable(chart, chart->series[s].x[i], chart->series[s].y[i])) return true;
    return false;
}

static ch_status check_chart(const void *content, ch_error *error) {
    const struct chart *chart = content;
    if (chart_can_be_drawn(chart)) return CH_OK;
    struct label name = label_clean(chart->y_axis, 60, LABEL_UTF8);
    return fail(error, CH_FAILED, "cannot draw the chart of '%s': expected at least one finite value%s, found none",
                name.text, chart->log_y ? " above 0" : "");
}

/* ---- numbers ---- */

static struct js_value *series_numbers(const struct series *series) {
    struct js_value *object = js_new_object();
    bool complete = object && js_set(object, "name", numbers_text(series->name)) &&
                    js_set(object, "x", numbers_doubles(series->x, series->count)) &&
                    js_set(object, "y", numbers_doubles(series->y, series->count));
    return numbers_finish(object, complete);
}

static struct js_value *mark_numbers(const struct mark *mark) {
    struct js_value *object = js_new_object();
    bool complete = object && js_set(object, "label", numbers_text(mark->label)) &&
                    js_set(object, "low", js_new_double(mark->low)) &&
                    js_set(object, "high", js_new_double(mark->high));
    return numbers_finish(object, complete);
}

static struct js_value *all_series(const struct series *series, int count) {
    struct js_value *list = js_new_array();
    bool complete = list;
    for (int i = 0; i < count && complete; i++) complete = js_add(list, series_numbers(&series[i]));
    return numbers_finish(list, complete);
}

static struct js_value *all_marks(const struct chart *chart) {
    struct js_value *list = js_new_array();
    bool complete = list;
    for (int i = 0; i < chart->mark_count && complete; i++) complete = js_add(list, mark_numbers(&chart->mark[i]));
    return numbers_finish(list, complete);
}

static struct js_value *chart_numbers(const void *content) {
    const struct chart *chart = content;
    struct js_value *object = js_new_object();
    bool complete = object && js_set(object, "x", numbers_text(chart->x_axis)) &&
                    js_set(object, "y", numbers_text(chart->y_axis)) &&
                    js_set(object, "log", js_new_bool(chart->log_y)) &&
                    js_set(object, "series", all_series(chart->series, chart->series_count)) &&
                    js_set(object, "marks", all_marks(chart));
    return numbers_finish(object, complete);
}

const struct panel_kind panel_chart = {
    .name = "chart",
    .check = check_chart,
    .height = chart_height,
    .draw = chart_draw,
    .text = chart_text,
    .numbers = chart_numbers,
};
