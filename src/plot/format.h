/*
 * Picture formats, a row each in format.c's table. To add one, add a row: a cairo surface that writes itself to a
 * function, and what must happen when the drawing is done.
 */
#ifndef CH_PLOT_FORMAT_H
#define CH_PLOT_FORMAT_H

#include "clearhead.h"

#include <cairo.h>

struct plot_format {
    ch_variant variant;
    const char *ending; /* of file names, with the dot */
    cairo_surface_t *(*create)(int width, int height, cairo_write_func_t write, void *sink); /* in pixels */
    cairo_status_t (*finish)(cairo_surface_t *surface, cairo_write_func_t write, void *sink);
};

/* Family plot: the head of row i, or NULL past the end. */
const ch_variant *plot_format_row(size_t i);
/* The format that a file name's ending asks for. */
ch_status plot_format_of(const char *path, const struct plot_format **format, ch_error *error);

/* Draws a white page of width x height pixels and writes it to path. What `draw` does wrong stays in its cairo_t
 * as cairo's own status, so it returns nothing. */
ch_status plot_write(const struct plot_format *format, const char *path, int width, int height,
                     void (*draw)(cairo_t *cr, const void *context), const void *context, ch_error *error);

#endif
