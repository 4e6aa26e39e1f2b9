#include "plot/canvas.h"

#include <math.h>
#include <stdio.h>

enum { MOST_COLUMNS = 100, BAR_TICKS = 5 };

static const double tick = 4, bar_gap = 8;

cairo_t *canvas_new_for_measuring(void) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *cr = cairo_create(surface);
    cairo_surface_destroy(surface); /* cr keeps it */
    return cr;
}

void canvas_colour(cairo_t *cr, struct colour colour) {
    cairo_set_source_rgb(cr, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
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

void canvas_frame(cairo_t *cr, double x, double y, double width, double height) {
    cairo_set_line_width(cr, 1);
    cairo_rectangle(cr, x - 0.5, y - 0.5, width + 1, height + 1);
    cairo_stroke(cr);
}

static void bar_number(int i, double low, double high, char out[NUMBER_BYTES]) {
    double share = i / (BAR_TICKS - 1.0), value = low * (1 - share) + high * share;
    snprintf(out, NUMBER_BYTES, "%.3g", value);
}

double canvas_bar_width(cairo_t *cr, double width, double low, double high, double size) {
    double widest = 0;
    for (int i = 0; i < BAR_TICKS; i++) {
        char number[NUMBER_BYTES];
        bar_number(i, low, high, number);
        widest = fmax(widest, canvas_text_width(cr, number, size));
    }
    return width + bar_gap + widest;
}

void canvas_bar(cairo_t *cr, double x, double y, double width, double height, double low, double high, double size) {
    cairo_pattern_t *gradient = cairo_pattern_create_linear(0, y + height, 0, y);
    for (int i = 0; i < COLOUR_ANCHORS; i++) {
        struct colour c = colour_anchor(i);
        cairo_pattern_add_color_stop_rgb(gradient, i / (COLOUR_ANCHORS - 1.0), c.red / 255.0, c.green / 255.0,
                                         c.blue / 255.0);
    }
    cairo_set_source(cr, gradient);
    cairo_rectangle(cr, x, y, width, height);
    cairo_fill(cr);
    cairo_pattern_destroy(gradient);
    cairo_set_source_rgb(cr, 0.15, 0.15, 0.15);
    canvas_frame(cr, x, y, width, height);
    for (int i = 0; i < BAR_TICKS; i++) {
        char number[NUMBER_BYTES];
        double at = y + height - round(height * i / (BAR_TICKS - 1.0));
        bar_number(i, low, high, number);
        double line = i == 0 ? at + 0.5 : at - 0.5; /* in the frame at both ends */
        canvas_line(cr, x + width, line, x + width + tick, line);
        canvas_text(cr, x + width + bar_gap, at, number, size, ALIGN_LEFT, DIRECTION_ACROSS);
    }
}
