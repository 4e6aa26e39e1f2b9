/* Distributions as a panel of a picture: a row each of name, box, mean and deviation, on one common axis. */
#include "plot/spread.h"

#include <math.h>

/* Units. */
static const double row_height = 14.5, name_size = 10.5, number_room = 58, least_plot = 110, tick_gap = 14, gap = 10;

static const char note[] = "thin line: all values; bar: the middle 90 %; box: the middle half; white: the median";

struct layout {
    const struct spreads *spreads;
    struct scale scale;
    struct ticks ticks;
    double name;     /* room at the left */
    double numbers;  /* room at the right; 0: they are left out */
    struct box plot; /* from the box's corner */
    struct spread_notation mean, deviation;
};

static struct layout layout_of(cairo_t *cr, const struct spreads *spreads, double width) {
    struct layout layout = {.spreads = spreads, .scale = spreads_scale(spreads)};
    spreads_notations(spreads, &layout.mean, &layout.deviation);
    for (int i = 0; i < spreads->count; i++) {
        struct label name = canvas_fit(cr, spreads->row[i].name, name_size, width / 3);
        layout.name = fmax(layout.name, canvas_text_width(cr, name.text, name_size));
    }
    layout.numbers = width - layout.name - gap - 2 * number_room > least_plot ? 2 * number_room : 0;
    double room = width - layout.name - gap - layout.numbers - gap;
    struct ticks most = scale_ticks(&layout.scale, MOST_TICKS);
    double number = canvas_text_width(cr, most.text[0], SIZE_TICK);
    layout.ticks = scale_ticks(&layout.scale, (int)(room / (number + tick_gap)));
    layout.plot = (struct box){layout.name + gap, row_height * 1.3, room, spreads->count * row_height};
    return layout;
}

double spreads_height(cairo_t *cr, const void *spreads, double width) {
    struct box plot = layout_of(cr, spreads, width).plot;
    return plot.y + plot.height + CANVAS_OUTSIDE + SIZE_TICK * 1.2 + SIZE_AXIS * 1.6 + SIZE_SMALL * 0.5 +
           canvas_lines_height(cr, note, SIZE_SMALL, width);
}

static double place(const struct layout *layout, double value) {
    return layout->plot.x + layout->plot.width * scale_place(&layout->scale, value);
}

/* A thin line from the smallest value to the largest, a thicker one over the middle 90 %, a box over the middle half
 * and the median in it. */
static void draw_row(cairo_t *cr, const struct layout *layout, const struct spread *row, double y) {
    double at[SPREAD_QUANTILES];
    for (int i = 0; i < SPREAD_QUANTILES; i++) at[i] = place(layout, row->quantile[i]);
    cairo_set_source_rgb(cr, 0.45, 0.45, 0.45);
    canvas_line(cr, at[0], y, at[6], y);
    canvas_line(cr, at[0], y - 2.5, at[0], y + 2.5);
    canvas_line(cr, at[6], y - 2.5, at[6], y + 2.5);
    canvas_colour(cr, colour_line(0));
    cairo_rectangle(cr, at[1], y - 1.5, at[5] - at[1], 3);
    cairo_rectangle(cr, at[2], y - 4, fmax(at[4] - at[2], 1), 8);
    cairo_fill(cr);
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_set_line_width(cr, 1.4);
    cairo_move_to(cr, at[3], y - 4);
    cairo_line_to(cr, at[3], y + 4);
    cairo_stroke(cr);
}

static void draw_words(cairo_t *cr, const struct layout *layout, const struct spread *row, double y) {
    const struct box *plot = &layout->plot;
    char mean[NUMBER_BYTES], deviation[NUMBER_BYTES];
    struct label name = canvas_fit(cr, row->name, name_size, layout->name + 1);
    canvas_ink(cr);
    canvas_text(cr, plot->x - gap, y, name.text, name_size, ALIGN_RIGHT, DIRECTION_ACROSS);
    if (layout->numbers == 0) return;
    double right = plot->x + plot->width + gap;
    spread_number(row->mean, layout->mean, mean);
    spread_number(row->deviation, layout->deviation, deviation);
    canvas_text(cr, right + number_room, y, mean, name_size, ALIGN_RIGHT, DIRECTION_ACROSS);
    canvas_text(cr, right + 2 * number_room, y, deviation, name_size, ALIGN_RIGHT, DIRECTION_ACROSS);
}

/* Every second row is shaded, so that the eye finds from a name to its numbers. */
static void draw_ground(cairo_t *cr, const struct layout *layout, struct box box) {
    const struct box *plot = &layout->plot;
    double right = plot->x + plot->width + (layout->numbers > 0 ? gap + layout->numbers : 0);
    cairo_set_source_rgb(cr, 0.955, 0.955, 0.955);
    for (int i = 0; i < layout->spreads->count; i += 2)
        cairo_rectangle(cr, box.x, plot->y + i * row_height, right - box.x, row_height);
    cairo_fill(cr);
    for (int i = 0; i < layout->ticks.count; i++) {
        double at = place(layout, layout->ticks.value[i]), zero = layout->ticks.value[i] == 0 ? 0.55 : 0.84;
        cairo_set_source_rgb(cr, zero, zero, zero);
        canvas_line(cr, at, plot->y, at, plot->y + plot->height);
    }
}

static void draw_axis(cairo_t *cr, const struct layout *layout, struct box box) {
    const struct box *plot = &layout->plot;
    double bottom = plot->y + plot->height, middle = plot->x + plot->width / 2;
    canvas_ink(cr);
    canvas_line(cr, plot->x, bottom, plot->x + plot->width, bottom);
    for (int i = 0; i < layout->ticks.count; i++) {
        double at = place(layout, layout->ticks.value[i]);
        canvas_line(cr, at, bottom, at, bottom + CANVAS_TICK);
        canvas_text(cr, at, bottom + CANVAS_OUTSIDE + SIZE_TICK * 0.5, layout->ticks.text[i], SIZE_TICK, ALIGN_CENTRE,
                    DIRECTION_ACROSS);
    }
    double below = bottom + CANVAS_OUTSIDE + SIZE_TICK * 1.2 + SIZE_AXIS * 0.8;
    struct label axis = canvas_fit(cr, layout->spreads->axis, SIZE_AXIS, plot->width);
    canvas_text(cr, middle, below, axis.text, SIZE_AXIS, ALIGN_CENTRE, DIRECTION_ACROSS);
    canvas_lines(cr, box.x + box.width / 2, below + SIZE_AXIS * 0.8 + SIZE_SMALL * 0.4, note, SIZE_SMALL, box.width);
    if (layout->numbers == 0) return;
    double right = plot->x + plot->width + gap, top = plot->y - row_height * 0.6;
    canvas_text(cr, right + number_room, top, "mean", name_size, ALIGN_RIGHT, DIRECTION_ACROSS);
    canvas_text(cr, right + 2 * number_room, top, "deviation", name_size, ALIGN_RIGHT, DIRECTION_ACROSS);
}

void spreads_draw(cairo_t *cr, const void *spreads, struct box box) {
    struct layout layout = layout_of(cr, spreads, box.width);
    layout.plot.x += box.x;
    layout.plot.y += box.y;
    draw_ground(cr, &layout, box);
    for (int i = 0; i < layout.spreads->count; i++) {
        double y = layout.plot.y + (i + 0.5) * row_height;
        draw_row(cr, &layout, &layout.spreads->row[i], y);
        draw_words(cr, &layout, &layout.spreads->row[i], y);
    }
    draw_axis(cr, &layout, box);
}
