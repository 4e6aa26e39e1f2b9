/*
 * Panels: the kinds of things a page is made of, a constant row each: maps of colours, line charts, keys of lines,
 * distributions. A kind draws its content into a box, writes it as text, and gives its numbers; it knows nothing of
 * pages. To add one, write its file and end it in a row.
 */
#ifndef CH_PLOT_PANEL_H
#define CH_PLOT_PANEL_H

#include "base/json.h"
#include "plot/canvas.h"
#include "plot/text_out.h"

struct panel_kind {
    const char *name; /* in JSON */
    /* The sentence for a content that cannot be drawn. Called before any of those below. */
    ch_status (*check)(const void *content, ch_error *error);
    /* Units of height that the content takes in a box so wide. */
    double (*height)(cairo_t *cr, const void *content, double width);
    void (*draw)(cairo_t *cr, const void *content, struct box box);
    /* At most `columns` wide, at least 20. */
    void (*text)(struct text_out *out, const void *content, ch_colours colours, int columns);
    /* The numbers, as an object; NULL when memory runs out. */
    struct js_value *(*numbers)(const void *content);
};

struct panel {
    const struct panel_kind *kind;
    const void *content;
    bool whole_row; /* of the page, for itself */
};

extern const struct panel_kind panel_maps, panel_chart, panel_key, panel_spreads;

#endif
