#include "plot/canvas.h"

#include <math.h>
#include <stdio.h>

enum { MOST_COLUMNS = 100 };

static const double bar_gap = 8, bar_tick_room = 34; /* units of a bar's height for each of its numbers */
static const double bar_number = 36; /* least room for their width, so that maps below one another are as wide */

cairo_t *canvas_new_for_measuring(double scale) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *cr = cairo_create(surface);
    cairo_surface_destroy(surface); /* cr keeps it */
    cairo_scale(cr, scale, scale);
    return cr;
}

double canvas_scale(cairo_t *cr) {
    double x = 1, y = 0;
    cairo_user_to_device_distance(cr, &x, &y);
    return x;
}

double canvas_snap(cairo_t *cr, double place) {
    double scale = canvas_scale(cr);
    return round(place * scale) / scale;
}

void canvas_colour(cairo_t *cr, struct colour colour) {
    cairo_set_source_rgb(cr, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
}

void canvas_ink(cairo_t *cr) {
    cairo_set_source_rgb(cr, 0.15, 0.15, 0.15);
}

/* Hinting would round each letter to pixels, which makes the widths of PNG and SVG differ. */
static void choose_font(cairo_t *cr, double size) {
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(cr, options);
    cairo_font_options_destroy(options);
    cairo_select_font_face(cr, "sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, size);
}

double canvas_text_width(cairo_t *cr, const char *text, double size) {
    cairo_text_extents_t extents;
    choose_font(cr, size);
    cairo_text_extents(cr, text, &extents);
    return extents.x_advance;
}

struct label canvas_fit(cairo_t *cr, const char *text, double size, double room) {
    struct label label = label_clean(text, MOST_COLUMNS, LABEL_UTF8);
    for (double width; label.width > 0 && (width = canvas_text_width(cr, label.text, size)) > fmax(room, 0);) {
        int guess = (int)(label.width * fmax(room, 0) / width);
        label = label_clean(text, guess < label.width ? guess : label.width - 1, LABEL_UTF8);
    }
    return label;
}

struct letters {
    cairo_t *cr;
    double size;
};

static double drawn_width(const char *text, void *context) {
    const struct letters *letters = context;
    return canvas_text_width(letters->cr, text, letters->size);
}

int canvas_wrap(cairo_t *cr, const char *text, double size, double room, struct label line[CANVAS_LINES]) {
    struct letters letters = {cr, size};
    return label_wrap(text, LABEL_UTF8, room, drawn_width, &letters, line, CANVAS_LINES);
}

static const double line_step = 1.25; /* from one line to the next, by the size of the letters */

double canvas_lines_height(cairo_t *cr, const char *text, double size, double room) {
    struct label line[CANVAS_LINES];
    return canvas_wrap(cr, text, size, room, line) * size * line_step;
}

double canvas_lines(cairo_t *cr, double x, double y, const char *text, double size, double room) {
    struct label line[CANVAS_LINES];
    int count = canvas_wrap(cr, text, size, room, line);
    for (int i = 0; i < count; i++)
        canvas_text(cr, x, y + (i + 0.5) * size * line_step, line[i].text, size, ALIGN_CENTRE, DIRECTION_ACROSS);
    return count * size * line_step;
}

void canvas_text(cairo_t *cr, double x, double y, const char *text, double size, enum canvas_align align,
                 enum canvas_direction direction) {
    static const double share[] = {[ALIGN_LEFT] = 0, [ALIGN_CENTRE] = 0.5, [ALIGN_RIGHT] = 1};
    cairo_font_extents_t font;
    double width = canvas_text_width(cr, text, size);
    cairo_font_extents(cr, &font);
    cairo_save(cr);
    cairo_translate(cr, x, y);
    if (direction == DIRECTION_UPWARDS) cairo_rotate(cr, -acos(0));
    cairo_move_to(cr, -width * share[align], (font.ascent - font.descent) / 2);
    cairo_show_text(cr, text);
    cairo_restore(cr);
}

void canvas_line(cairo_t *cr, double x0, double y0, double x1, double y1) {
    cairo_set_line_width(cr, 1);
    cairo_move_to(cr, x0, y0);
    cairo_line_to(cr, x1, y1);
    cairo_stroke(cr);
}

/* Around the box and not on its edge, which belongs to the cells of a map. */
void canvas_frame(cairo_t *cr, struct box box) {
    cairo_set_line_width(cr, 1);
    cairo_rectangle(cr, box.x - 0.5, box.y - 0.5, box.width + 1, box.height + 1);
    cairo_stroke(cr);
}

/* ---- the colour bar ---- */

static struct ticks bar_ticks(double height, const struct scale *scale) {
    return scale_ticks(scale, (int)(height / bar_tick_room));
}

double canvas_bar_width(cairo_t *cr, double width, double height, const struct scale *scale) {
    struct ticks ticks = bar_ticks(height, scale);
    double widest = bar_number;
    for (int i = 0; i < ticks.count; i++) widest = fmax(widest, canvas_text_width(cr, ticks.text[i], SIZE_TICK));
    return width + bar_gap + widest;
}

void canvas_bar(cairo_t *cr, struct box bar, enum colour_map map, const struct scale *scale) {
    cairo_pattern_t *gradient = cairo_pattern_create_linear(0, bar.y + bar.height, 0, bar.y);
    for (int i = 0; i < COLOUR_ANCHORS; i++) {
        struct colour c = colour_anchor(map, i);
        cairo_pattern_add_color_stop_rgb(gradient, i / (COLOUR_ANCHORS - 1.0), c.red / 255.0, c.green / 255.0,
                                         c.blue / 255.0);
    }
    cairo_set_source(cr, gradient);
    cairo_rectangle(cr, bar.x, bar.y, bar.width, bar.height);
    cairo_fill(cr);
    cairo_pattern_destroy(gradient);
    canvas_ink(cr);
    canvas_frame(cr, bar);
    struct ticks ticks = bar_ticks(bar.height, scale);
    double right = bar.x + bar.width;
    for (int i = 0; i < ticks.count; i++) {
        double at = bar.y + bar.height * (1 - scale_place(scale, ticks.value[i]));
        double line = fmin(fmax(at, bar.y - 0.5), bar.y + bar.height + 0.5);
        canvas_line(cr, right, line, right + CANVAS_TICK, line);
        canvas_text(cr, right + bar_gap, at, ticks.text[i], SIZE_TICK, ALIGN_LEFT, DIRECTION_ACROSS);
    }
}
