/* Line charts and their pens as a panel of a picture: axes to the left and below, light lines at the ticks of y. */
#include "plot/chart.h"

#include <math.h>

enum { MOST_POINTS = 24 }; /* of a line that still has them marked */

/* Units. */
static const double least_height = 190, most_height = 400, tick_room = 34, label_gap = 14, start_share = 0.035,
                    least_number = 46;

/* ---- pens ---- */

static const struct colour grey = {110, 110, 110};

void series_pen(cairo_t *cr, const struct series *series) {
    static const double dashes[][4] = {{0}, {7, 3}, {2, 2.5}, {9, 3, 2, 3}, {4, 2}, {12, 4}};
    static const int lengths[] = {0, 2, 2, 4, 2, 2};
    enum { DASHES = sizeof lengths / sizeof *lengths };
    _Static_assert(DASHES % COLOUR_LINES != 0, "once the colours are used up they meet other dashes");
    int dash = series->style % DASHES;
    canvas_colour(cr, series->reference ? grey : colour_line(series->style));
    cairo_set_dash(cr, dashes[dash], series->reference ? 0 : lengths[dash], 0);
    cairo_set_line_width(cr, series->reference ? 1 : 1.7);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
}

bool series_has_points(const struct series *series) {
    return series->reference || series->count <= MOST_POINTS;
}

void series_point(cairo_t *cr, const struct series *series, double x, double y) {
    cairo_new_path(cr);
    cairo_arc(cr, x, y, series->reference ? 3.5 : 2.2, 0, 4 * acos(0));
    if (!series->reference) {
        cairo_fill(cr);
        return;
    }
    cairo_set_dash(cr, NULL, 0, 0);
    cairo_stroke(cr);
}

/* ---- layout ---- */

struct layout {
    const struct chart *chart;
    struct scale x, y;
    struct ticks x_ticks, y_ticks;
    struct box plot;
};

static struct layout layout_of(cairo_t *cr, const struct chart *chart, struct box box) {
    struct layout layout = {.chart = chart};
    double above = chart->title ? SIZE_PANEL * 1.6 : SIZE_TICK * 0.5;
    double below = CANVAS_OUTSIDE + SIZE_TICK * 1.2 + (chart->x_axis ? SIZE_AXIS * 1.6 : 0), widest = 0;
    chart_scales(chart, &layout.x, &layout.y);
    layout.y_ticks = scale_ticks(&layout.y, (int)((box.height - above - below) / tick_room));
    for (int i = 0; i < layout.y_ticks.count; i++)
        widest = fmax(widest, canvas_text_width(cr, layout.y_ticks.text[i], SIZE_TICK));
    widest = fmax(widest, least_number); /* so that the axes of charts below one another stand in a line */
    double left = (chart->y_axis ? SIZE_AXIS * 1.8 : 0) + widest + CANVAS_OUTSIDE;
    /* As many ticks as their widest number leaves room for; the last one stands out half. */
    struct ticks most = chart_x_ticks(chart, &layout.x, MOST_TICKS);
    double number = canvas_text_width(cr, most.text[most.count - 1], SIZE_TICK), width = box.width - left - number / 2;
    layout.x_ticks = chart_x_ticks(chart, &layout.x, (int)(width / (number + label_gap)));
    layout.plot = (struct box){canvas_snap(cr, box.x + left), canvas_snap(cr, box.y + above), canvas_snap(cr, width),
                               canvas_snap(cr, box.height - above - below)};
    return layout;
}

double chart_height(cairo_t *cr, const void *chart, double width) {
    (void)cr;
    (void)chart;
    return fmin(fmax(width * 0.62, least_height), most_height);
}

static double place_x(const struct layout *layout, double value) {
    return layout->plot.x + layout->plot.width * scale_place(&layout->x, value);
}

static double place_y(const struct layout *layout, double value) {
    return layout->plot.y + layout->plot.height * (1 - scale_place(&layout->y, value));
}

/* ---- drawing ---- */

static void draw_axes(cairo_t *cr, const struct layout *layout) {
    const struct box *plot = &layout->plot;
    double bottom = plot->y + plot->height;
    for (int i = 0; i < layout->y_ticks.count; i++) {
        double at = place_y(layout, layout->y_ticks.value[i]);
        cairo_set_source_rgb(cr, 0.9, 0.9, 0.9);
        canvas_line(cr, plot->x, at, plot->x + plot->width, at);
        canvas_ink(cr);
        canvas_line(cr, plot->x - CANVAS_TICK, at, plot->x, at);
        canvas_text(cr, plot->x - CANVAS_OUTSIDE, at, layout->y_ticks.text[i], SIZE_TICK, ALIGN_RIGHT,
                    DIRECTION_ACROSS);
    }
    canvas_ink(cr);
    for (int i = 0; i < layout->x_ticks.count; i++) {
        double at = place_x(layout, layout->x_ticks.value[i]);
        canvas_line(cr, at, bottom, at, bottom + CANVAS_TICK);
        canvas_text(cr, at, bottom + CANVAS_OUTSIDE + SIZE_TICK * 0.5, layout->x_ticks.text[i], SIZE_TICK, ALIGN_CENTRE,
                    DIRECTION_ACROSS);
    }
    canvas_line(cr, plot->x, plot->y, plot->x, bottom + 0.5);
    canvas_line(cr, plot->x - 0.5, bottom, plot->x + plot->width, bottom);
}

static void draw_names(cairo_t *cr, const struct layout *layout, struct box box) {
    const struct chart *chart = layout->chart;
    const struct box *plot = &layout->plot;
    struct label title = canvas_fit(cr, chart->title, SIZE_PANEL, box.width);
    struct label x_axis = canvas_fit(cr, chart->x_axis, SIZE_AXIS, plot->width);
    struct label y_axis = canvas_fit(cr, chart->y_axis, SIZE_AXIS, box.height);
    canvas_ink(cr);
    canvas_text(cr, plot->x + plot->width / 2, box.y + SIZE_PANEL * 0.6, title.text, SIZE_PANEL, ALIGN_CENTRE,
                DIRECTION_ACROSS);
    canvas_text(cr, plot->x + plot->width / 2, box.y + box.height - SIZE_AXIS * 0.6, x_axis.text, SIZE_AXIS,
                ALIGN_CENTRE, DIRECTION_ACROSS);
    canvas_text(cr, box.x + SIZE_AXIS * 0.6, plot->y + plot->height / 2, y_axis.text, SIZE_AXIS, ALIGN_CENTRE,
                DIRECTION_UPWARDS);
}

/* A level is a dotted line with its name at the right end; a range a block at the left end with its name beside it. */
static void draw_mark(cairo_t *cr, const struct layout *layout, const struct mark *mark) {
    const struct box *plot = &layout->plot;
    double top = place_y(layout, mark->high), bottom = place_y(layout, mark->low);
    struct label label = canvas_fit(cr, mark->label, SIZE_SMALL, plot->width * (1 - 2 * start_share));
    if (mark->low < mark->high) {
        cairo_set_source_rgb(cr, 0.72, 0.72, 0.72);
        cairo_rectangle(cr, plot->x, top, plot->width * start_share, bottom - top);
        cairo_fill(cr);
        canvas_ink(cr);
        canvas_text(cr, plot->x + plot->width * start_share + 5, (top + bottom) / 2 - SIZE_SMALL * 0.2, label.text,
                    SIZE_SMALL, ALIGN_LEFT, DIRECTION_ACROSS);
        return;
    }
    static const double dots[] = {1, 3};
    cairo_save(cr);
    cairo_set_dash(cr, dots, 2, 0);
    canvas_ink(cr);
    canvas_line(cr, plot->x, top, plot->x + plot->width, top);
    cairo_restore(cr);
    canvas_text(cr, plot->x + plot->width - 3, top + SIZE_SMALL * 0.8, label.text, SIZE_SMALL, ALIGN_RIGHT,
                DIRECTION_ACROSS);
}

static void draw_series(cairo_t *cr, const struct layout *layout, const struct series *series) {
    bool pen_down = false, points = series_has_points(series);
    cairo_save(cr);
    series_pen(cr, series);
    cairo_new_path(cr);
    for (int i = 0; i < series->count; i++) {
        double x = place_x(layout, series->x[i]), y = place_y(layout, series->y[i]);
        bool there = isfinite(x) && isfinite(y);
        if (there && pen_down)
            cairo_line_to(cr, x, y);
        else if (there)
            cairo_move_to(cr, x, y);
        pen_down = there && !series->reference;
    }
    cairo_stroke(cr);
    for (int i = 0; i < series->count && points; i++) {
        double x = place_x(layout, series->x[i]), y = place_y(layout, series->y[i]);
        if (isfinite(x) && isfinite(y)) series_point(cr, series, x, y);
    }
    cairo_restore(cr);
}

void chart_draw(cairo_t *cr, const void *content, struct box box) {
    const struct chart *chart = content;
    struct layout layout = layout_of(cr, chart, box);
    draw_axes(cr, &layout);
    for (int i = 0; i < chart->mark_count; i++) draw_mark(cr, &layout, &chart->mark[i]);
    for (int i = 0; i < chart->series_count; i++) draw_series(cr, &layout, &chart->series[i]);
    draw_names(cr, &layout, box);
}
