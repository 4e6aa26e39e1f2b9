#include "plot/format.h"
#include "plot/save.h"
#include "plot/svg_ids.h"
#include "base/error.h"
#include "base/memory.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Cairo writes here: a file of our own would have to be cleaned up after each of its failures. */
struct sink {
    void *bytes;
    size_t used, capacity;
};

static cairo_surface_t *png_create(int width, int height, cairo_write_func_t write, void *sink) {
    (void)write;
    (void)sink;
    return cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
}

static cairo_status_t png_finish(cairo_surface_t *surface, cairo_write_func_t write, void *sink) {
    return cairo_surface_write_to_png_stream(surface, write, sink);
}

static cairo_surface_t *svg_create(int width, int height, cairo_write_func_t write, void *sink) {
    cairo_surface_t *surface = cairo_svg_surface_create_for_stream(write, sink, width, height);
    if (cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS)
        cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
    return surface;
}

/* A page of print is measured in points, 72 to an inch; pixels are 96. */
static cairo_surface_t *pdf_create(int width, int height, cairo_write_func_t write, void *sink) {
    const double points = 72.0 / 96;
    cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(write, sink, width * points, height * points);
    cairo_surface_set_device_scale(surface, points, points);
    /* No date: the same picture is the same file. */
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "");
    return surface;
}

static cairo_status_t vector_finish(cairo_surface_t *surface, cairo_write_func_t write, void *sink) {
    (void)write;
    (void)sink;
    cairo_surface_finish(surface);
    return cairo_surface_status(surface);
}

static cairo_status_t svg_finish(cairo_surface_t *surface, cairo_write_func_t write, void *context) {
    struct sink *sink = context;
    cairo_status_t status = vector_finish(surface, write, sink);
    if (status != CAIRO_STATUS_SUCCESS) return status;
    return svg_renumber(sink->bytes, &sink->used) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

static const struct plot_format formats[] = {
    {{"png", "pixels, for screens and pages"}, ".png", png_create, png_finish},
    {{"pdf", "for print"}, ".pdf", pdf_create, vector_finish},
    {{"svg", "lines and letters that stay sharp at any size"}, ".svg", svg_create, svg_finish},
};

enum { FORMATS = sizeof formats / sizeof *formats };

const ch_variant *plot_format_row(size_t i) {
    return i < FORMATS ? &formats[i].variant : NULL;
}

ch_status plot_format_of(const char *path, const struct plot_format **format, ch_error *error) {
    char endings[128] = "";
    size_t length = strlen(path), used = 0;
    for (size_t i = 0; i < FORMATS; i++) {
        size_t ending = strlen(formats[i].ending);
        *format = &formats[i];
        if (length >= ending && strcasecmp(path + length - ending, formats[i].ending) == 0) return CH_OK;
        const char *between = i == 0 ? "" : i + 1 < FORMATS ? ", " : " or ";
        used += (size_t)snprintf(endings + used, sizeof endings - used, "%s%s", between, formats[i].ending);
        ch_assert(used < sizeof endings);
    }
    *format = NULL;
    return fail(error, CH_USAGE, "cannot draw to '%s': expected a file name ending in %s", path, endings);
}

static cairo_status_t take(void *context, const unsigned char *bytes, unsigned int count) {
    struct sink *sink = context;
    if (!mem_grow(&sink->bytes, &sink->capacity, sink->used + count, 1)) return CAIRO_STATUS_NO_MEMORY;
    memcpy((char *)sink->bytes + sink->used, bytes, count);
    sink->used += count;
    return CAIRO_STATUS_SUCCESS;
}

static cairo_status_t draw_page(cairo_surface_t *surface, void (*draw)(cairo_t *, const void *), const void *context) {
    cairo_t *cr = cairo_create(surface);
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    draw(cr, context);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    return status;
}

ch_status plot_write(const struct plot_format *format, const char *path, int width, int height,
                     void (*draw)(cairo_t *, const void *), const void *context, ch_error *error) {
    struct sink sink = {0};
    cairo_surface_t *surface = format->create(width, height, take, &sink);
    cairo_status_t drawn = draw_page(surface, draw, context);
    if (drawn == CAIRO_STATUS_SUCCESS) drawn = format->finish(surface, take, &sink);
    cairo_surface_destroy(surface);
    ch_status status;
    if (drawn == CAIRO_STATUS_NO_MEMORY)
        status = fail_memory(error, "a picture");
    else if (drawn != CAIRO_STATUS_SUCCESS)
        status = fail(error, CH_FAILED, "cannot draw '%s': %s", path, cairo_status_to_string(drawn));
    else
        status = save_picture(path, sink.bytes, sink.used, error);
    mem_free(sink.bytes);
    return status;
}
