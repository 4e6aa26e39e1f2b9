/*
 * Pages: panels under a title, as a picture of any width or as text.
 *
 * A page is laid out in units. A picture of the page's own width or more has as many units across as that width, so
 * that letters and lines grow with the picture; on a narrower one letters shrink less than the page does (with the cube
 * root), for they must be read, and so it has fewer units, and panels that stood side by side stand one below the
 * other.
 */
#ifndef CH_PLOT_PAGE_H
#define CH_PLOT_PAGE_H

#include "plot/panel.h"

struct page {
    const char *title; /* NULL: none */
    int width;         /* of its own: units, and pixels unless another width is asked for */
    int across;        /* panels side by side, where there is room */
    int count;
    const struct panel *panel;
};

/* Draws into a file; the ending of path chooses the format (see plot/format.h). width: pixels, 0: the page's own. The
 * file appears whole or not at all, and an old one survives a failure. */
ch_status page_save(const struct page *page, const char *path, int width, ch_error *error);

/* The same for a terminal that is `columns` wide (20 at least, less counts as 20): no line is wider. With
 * CH_COLOURS_NONE it is plain ASCII. The caller frees *out with ch_string_free. */
ch_status page_text(const struct page *page, ch_colours colours, int columns, char **out, ch_error *error);

/* All numbers as JSON on one line. The caller frees *out with ch_string_free. */
ch_status page_json(const struct page *page, char **out, ch_error *error);

#endif
