#include "plot/page.h"
#include "base/error.h"
#include "base/memory.h"
#include "plot/format.h"
#include "plot/numbers.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_WIDTH = 100, /* pixels */
    MOST_WIDTH = 20000,
    MOST_PIXELS = 400000000, /* of a picture: 1.6 GB while it is drawn */
    MOST_HEIGHT = 32000,     /* cairo's coordinates end at 32767 */
    LEAST_COLUMNS = 20,
    MOST_COLUMNS = 4096
};

static const double margin = 20, gap = 26, title_room = SIZE_TITLE * 1.9;
static const double least_panel = 300; /* units: narrower ones do not stand side by side */

/* ---- layout ---- */

struct layout {
    const struct page *page;
    double scale; /* pixels a unit */
    double width, height;
    int across;
    double panel_width; /* of one that shares its row */
};

static bool alone(const struct layout *layout, int i) {
    return layout->across == 1 || layout->page->panel[i].whole_row;
}

/* How many panels from panel i on share its row. */
static int row_length(const struct layout *layout, int i) {
    int count = 1;
    if (alone(layout, i)) return 1;
    while (count < layout->across && i + count < layout->page->count && !alone(layout, i + count)) count++;
    return count;
}

static double width_of(const struct layout *layout, int i) {
    return alone(layout, i) ? layout->width - 2 * margin : layout->panel_width;
}

static double row_height(cairo_t *cr, const struct layout *layout, int first, int count) {
    double height = 0;
    for (int i = first; i < first + count; i++) {
        const struct panel *panel = &layout->page->panel[i];
        height = fmax(height, panel->kind->height(cr, panel->content, width_of(layout, i)));
    }
    return height;
}

static struct layout layout_of(const struct page *page, int pixels) {
    double share = (double)pixels / page->width;
    struct layout layout = {.page = page, .scale = share >= 1 ? share : cbrt(share), .across = page->across};
    layout.width = pixels / layout.scale;
    while (layout.across > 1 && (layout.width - 2 * margin - (layout.across - 1) * gap) / layout.across < least_panel)
        layout.across--;
    layout.panel_width = (layout.width - 2 * margin - (layout.across - 1) * gap) / layout.across;
    cairo_t *ruler = canvas_new_for_measuring(layout.scale);
    layout.height = margin + (page->title ? title_room : 0);
    for (int i = 0, count; i < page->count; i += count) {
        count = row_length(&layout, i);
        layout.height += (i ? gap : 0) + row_height(ruler, &layout, i, count);
    }
    layout.height += margin;
    cairo_destroy(ruler);
    return layout;
}

/* ---- the picture ---- */

static void draw(cairo_t *cr, const void *context) {
    const struct layout *layout = context;
    const struct page *page = layout->page;
    cairo_scale(cr, layout->scale, layout->scale);
    double top = margin;
    if (page->title) {
        struct label title = canvas_fit(cr, page->title, SIZE_TITLE, layout->width - 2 * margin);
        canvas_ink(cr);
        canvas_text(cr, layout->width / 2, margin + SIZE_TITLE * 0.5, title.text, SIZE_TITLE, ALIGN_CENTRE,
                    DIRECTION_ACROSS);
        top += title_room;
    }
    for (int first = 0, count; first < page->count; first += count) {
        count = row_length(layout, first);
        double height = row_height(cr, layout, first, count);
        for (int i = first; i < first + count; i++) {
            double left = margin + (i - first) * (layout->panel_width + gap);
            page->panel[i].kind->draw(cr, page->panel[i].content, (struct box){left, top, width_of(layout, i), height});
        }
        top += height + gap;
    }
}

static ch_status check(const struct page *page, ch_error *error) {
    ch_status status = CH_OK;
    for (int i = 0; i < page->count && status == CH_OK; i++)
        status = page->panel[i].kind->check(page->panel[i].content, error);
    return status;
}

ch_status page_save(const struct page *page, const char *path, int width, ch_error *error) {
    const struct plot_format *format;
    ch_status status = plot_format_of(path, &format, error);
    if (status == CH_OK && width != 0 && (width < LEAST_WIDTH || width > MOST_WIDTH))
        status = fail(error, CH_USAGE, "cannot draw '%s': expected a width of %d to %d pixels, found %d", path,
                      LEAST_WIDTH, MOST_WIDTH, width);
    if (status == CH_OK) status = check(page, error);
    if (status != CH_OK) return status;
    int pixels = width ? width : page->width;
    struct layout layout = layout_of(page, pixels);
    double height = ceil(layout.height * layout.scale);
    if (height > MOST_HEIGHT || height * pixels > MOST_PIXELS)
        return fail(error, CH_USAGE,
                    "cannot draw '%s': at %d pixels of width it would be %.0f high, expected at most %d; choose a "
                    "smaller width",
                    path, pixels, height, MOST_PIXELS / pixels < MOST_HEIGHT ? MOST_PIXELS / pixels : MOST_HEIGHT);
    return plot_write(format, path, pixels, (int)height, draw, &layout, error);
}

/* ---- text and numbers ---- */

ch_status page_text(const struct page *page, ch_colours colours, int columns, char **out, ch_error *error) {
    *out = NULL;
    ch_status status = check(page, error);
    if (status != CH_OK) return status;
    int most = columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns > MOST_COLUMNS ? MOST_COLUMNS : columns;
    struct text_out text = {0};
    if (page->title) {
        text_out_label(&text, page->title, most, text_out_set(colours));
        text_out_newline(&text);
        text_out_newline(&text);
    }
    for (int i = 0; i < page->count; i++) {
        if (i) text_out_newline(&text);
        page->panel[i].kind->text(&text, page->panel[i].content, colours, most);
    }
    return text_out_finish(&text, out, error);
}

static bool add_panel(struct js_value *list, const struct panel *panel) {
    struct js_value *numbers = panel->kind->numbers(panel->content);
    bool named = numbers && js_set(numbers, "kind", js_new_text(panel->kind->name));
    if (named) return js_add(list, numbers);
    js_free(numbers);
    return false;
}

ch_status page_json(const struct page *page, char **out, ch_error *error) {
    *out = NULL;
    ch_status status = check(page, error);
    if (status != CH_OK) return status;
    struct js_value *object = js_new_object(), *list = js_new_array();
    bool complete = object && list && js_set(object, "schema", js_new_int(1)) &&
                    (!page->title || js_set(object, "title", numbers_text(page->title)));
    for (int i = 0; i < page->count && complete; i++) complete = add_panel(list, &page->panel[i]);
    if (complete)
        complete = js_set(object, "panels", list);
    else
        js_free(list);
    *out = complete ? js_dump(object, 0) : NULL;
    js_free(object);
    return *out ? CH_OK : fail_memory(error, "the numbers of a figure");
}
