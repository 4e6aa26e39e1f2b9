/*
 * Heat maps as a picture: one drawing for every format. Cells are squares of whole pixels, so nothing is
 * smeared; all maps of a grid share the size of a cell, the colour bar and the names of the axes. Labels are
 * thinned where they would touch, and cells averaged where the page would grow beyond a few thousand pixels.
 */
#include "plot/canvas.h"
#include "plot/cells.h"
#include "plot/format.h"
#include "plot/heatmap.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>

enum {
    MOST_MAPS = 256,
    MOST_PIXELS = 4000, /* of all maps side by side, while a cell is one pixel */
    WHOLE = 720,        /* pixels that all maps side by side are about wide */
    LEAST_MAP = 200,    /* but each at least about so many */
    LARGEST_CELL = 120,
    MARGIN = 20,
    GAP = 24,    /* between maps, and before the bar */
    OUTSIDE = 8, /* from a map to its tick labels */
    TICK = 4,
    BAR_WIDTH = 18,
    LEAST_BAR = 130,
    MOST_BAR = 1000,
    LEAST_WIDTH = 440, /* of the page, for the title's sake */
    LONGEST_LABEL = 16,
    MOST_NUMBERS = 12,        /* rows or columns of a map that still has its values printed */
    LEAST_NUMBERED_CELL = 36, /* pixels */
    MOST_RECTANGLES = 4096    /* cells; more are drawn as an image */
};

static const double title_size = 18, axis_size = 15, map_title_size = 14, tick_size = 12.5, note_size = 11;

struct page {
    const struct heatmap_grid *grid;
    struct cells *cells;
    int across, down;          /* maps */
    int step;                  /* values a side that a cell stands for */
    int cell;                  /* pixels a side */
    int map_width, map_height; /* of the largest map */
    int map_title;             /* height of the line above a map */
    int row_label, col_label;  /* width at the left, height below */
    int row_every, col_every;  /* which labels are drawn */
    enum canvas_direction col_direction;
    int left, top;             /* of the first map */
    int right_step, down_step; /* from one map to the next */
    int right, bottom;         /* ends of the last maps */
    int width, height;
};

static int larger(int a, int b) {
    return a > b ? a : b;
}

/* How many maps side by side: about a square, without a last row that is not full if that can be. */
static int choose_across(int count) {
    int square = (int)ceil(sqrt(count));
    for (int across = square; across < 2 * square; across++)
        if (count % across == 0) return across;
    return square;
}

static void choose_cells(struct page *page) {
    int rows, cols, count = page->grid->count;
    heatmap_grid_extent(page->grid, &rows, &cols);
    page->across = choose_across(count);
    page->down = divide_up(count, page->across);
    page->step = divide_up(larger(cols * page->across, rows * page->down), MOST_PIXELS);
    rows = divide_up(rows, page->step);
    cols = divide_up(cols, page->step);
    int wanted = divide_up(larger(WHOLE / page->across, LEAST_MAP), larger(rows, cols));
    page->cell = wanted < LARGEST_CELL ? wanted : LARGEST_CELL;
    page->map_width = cols * page->cell;
    page->map_height = rows * page->cell;
}

/* The smallest of 1, 2, 5, 10, 20, ... cells that is at least `pixels` wide. */
static int every(const struct page *page, double pixels) {
    int unit = 1;
    for (;; unit *= 10) {
        static const int factor[] = {1, 2, 5};
        for (int i = 0; i < 3; i++)
            if ((double)unit * factor[i] * page->cell >= pixels) return unit * factor[i];
    }
}

static void choose_labels(struct page *page, cairo_t *ruler) {
    double row = 0, col = 0;
    for (int m = 0; m < page->grid->count; m++) {
        const struct heatmap *map = &page->grid->map[m];
        for (int r = 0; r < map->rows; r += page->step)
            row = fmax(
                row, canvas_text_width(ruler, label_at(map->row_label, r, LONGEST_LABEL, LABEL_UTF8).text, tick_size));
        for (int c = 0; c < map->cols; c += page->step)
            col = fmax(
                col, canvas_text_width(ruler, label_at(map->col_label, c, LONGEST_LABEL, LABEL_UTF8).text, tick_size));
        if (map->title) page->map_title = (int)(map_title_size * 1.6);
    }
    /* Short labels are better thinned than turned. */
    bool across = col + OUTSIDE <= page->cell || col <= 2.5 * tick_size;
    page->col_direction = across ? DIRECTION_ACROSS : DIRECTION_UPWARDS;
    page->row_every = every(page, tick_size * 1.2);
    page->col_every = every(page, across ? col + OUTSIDE : tick_size * 1.2);
    page->row_label = (int)ceil(row);
    page->col_label = (int)ceil(across ? tick_size * 1.2 : col);
}

static void choose_places(struct page *page, cairo_t *ruler) {
    const struct heatmap_grid *grid = page->grid;
    int axis = (int)(axis_size * 1.8), title = (int)(title_size * 1.9);
    page->left = MARGIN + (grid->y_axis ? axis : 0) + page->row_label + OUTSIDE;
    page->top = MARGIN + (grid->title ? title : 0) + page->map_title;
    page->right_step = page->map_width + page->row_label + OUTSIDE + GAP;
    page->down_step = page->map_height + page->col_label + OUTSIDE + GAP + page->map_title;
    page->right = page->left + (page->across - 1) * page->right_step + page->map_width;
    page->bottom = page->top + (page->down - 1) * page->down_step + page->map_height;
    page->width =
        page->right + GAP + MARGIN + (int)ceil(canvas_bar_width(ruler, BAR_WIDTH, grid->low, grid->high, tick_size));
    if (page->width < LEAST_WIDTH) {
        int shift = (LEAST_WIDTH - page->width) / 2;
        page->left += shift;
        page->right += shift;
        page->width = LEAST_WIDTH;
    }
    page->height =
        page->bottom + OUTSIDE + page->col_label + (grid->x_axis ? axis : 0) + (page->step > 1 ? axis : 0) + MARGIN;
    page->height = larger(page->height, page->top + LEAST_BAR + MARGIN);
}

/* A cell reaches one pixel under its right and lower neighbours, which are drawn later: viewers that scale an SVG
 * would let the page shine through between cells that only touch. */
static void draw_rectangles(cairo_t *cr, const struct page *page, const struct cells *cells, int x, int y) {
    cairo_save(cr);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
    for (int r = 0; r < cells->rows; r++) {
        for (int c = 0; c < cells->cols; c++) {
            canvas_colour(cr, colour_of((double)cells->t[(size_t)r * (size_t)cells->cols + (size_t)c]));
            cairo_rectangle(cr, x + c * page->cell, y + r * page->cell, page->cell + (c + 1 < cells->cols),
                            page->cell + (r + 1 < cells->rows));
            cairo_fill(cr);
        }
    }
    cairo_restore(cr);
}

/* A failure stays in `image` and passes to cr when it is made the source. */
static void draw_image(cairo_t *cr, const struct page *page, const struct cells *cells, int x, int y) {
    int width = cells->cols * page->cell, height = cells->rows * page->cell;
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    if (cairo_surface_status(image) == CAIRO_STATUS_SUCCESS) {
        unsigned char *pixels = cairo_image_surface_get_data(image);
        size_t stride = (size_t)cairo_image_surface_get_stride(image);
        for (int j = 0; j < height; j++) {
            uint32_t *pixel = (void *)(pixels + (size_t)j * stride); /* cairo aligns its rows */
            const float *t = cells->t + (size_t)(j / page->cell) * (size_t)cells->cols;
            for (int i = 0; i < width; i++) {
                struct colour c = colour_of((double)t[i / page->cell]);
                pixel[i] = (uint32_t)c.red << 16 | (uint32_t)c.green << 8 | c.blue;
            }
        }
        cairo_surface_mark_dirty(image);
    }
    cairo_set_source_surface(cr, image, x, y);
    cairo_surface_destroy(image);
    cairo_paint(cr);
}

static void draw_numbers(cairo_t *cr, const struct page *page, int m, int x, int y) {
    const struct heatmap *map = &page->grid->map[m];
    if (page->step > 1 || page->cell < LEAST_NUMBERED_CELL || map->rows > MOST_NUMBERS || map->cols > MOST_NUMBERS)
        return;
    for (int r = 0; r < map->rows; r++) {
        for (int c = 0; c < map->cols; c++) {
            size_t i = (size_t)r * (size_t)map->cols + (size_t)c;
            char number[NUMBER_BYTES];
            number_text((double)map->value[i], number);
            double size = fmin(page->cell * 0.24, axis_size), room = page->cell - TICK;
            double width = canvas_text_width(cr, number, size);
            bool black = colour_wants_black(colour_of((double)page->cells[m].t[i]));
            canvas_colour(cr, black ? (struct colour){0, 0, 0} : (struct colour){255, 255, 255});
            canvas_text(cr, x + (c + 0.5) * page->cell, y + (r + 0.5) * page->cell, number,
                        width > room ? size * room / width : size, ALIGN_CENTRE, DIRECTION_ACROSS);
        }
    }
}

/* The middle of a cell, on the middle of a pixel, so that a tick is one sharp line. */
static double middle(const struct page *page, int begin, int i) {
    return begin + i * page->cell + page->cell / 2 + 0.5;
}

static void draw_labels(cairo_t *cr, const struct page *page, int m, int x, int y) {
    const struct heatmap *map = &page->grid->map[m];
    const struct cells *cells = &page->cells[m];
    int bottom = y + cells->rows * page->cell;
    for (int r = 0; r < cells->rows; r += page->row_every) {
        struct label label = label_at(map->row_label, r * page->step, LONGEST_LABEL, LABEL_UTF8);
        double at = middle(page, y, r);
        canvas_line(cr, x - 1 - TICK, at, x - 1, at);
        canvas_text(cr, x - OUTSIDE, at, label.text, tick_size, ALIGN_RIGHT, DIRECTION_ACROSS);
    }
    bool upwards = page->col_direction == DIRECTION_UPWARDS;
    for (int c = 0; c < cells->cols; c += page->col_every) {
        struct label label = label_at(map->col_label, c * page->step, LONGEST_LABEL, LABEL_UTF8);
        double at = middle(page, x, c), below = bottom + OUTSIDE + (upwards ? 0 : tick_size * 0.6);
        canvas_line(cr, at, bottom + 1, at, bottom + 1 + TICK);
        canvas_text(cr, at, below, label.text, tick_size, upwards ? ALIGN_RIGHT : ALIGN_CENTRE, page->col_direction);
    }
}

static void draw_map(cairo_t *cr, const struct page *page, int m) {
    const struct heatmap *map = &page->grid->map[m];
    const struct cells *cells = &page->cells[m];
    int x = page->left + m % page->across * page->right_step, y = page->top + m / page->across * page->down_step;
    bool few = (size_t)cells->rows * (size_t)cells->cols <= MOST_RECTANGLES;
    (few ? draw_rectangles : draw_image)(cr, page, cells, x, y);
    draw_numbers(cr, page, m, x, y);
    cairo_set_source_rgb(cr, 0.15, 0.15, 0.15);
    canvas_frame(cr, x, y, cells->cols * page->cell, cells->rows * page->cell);
    draw_labels(cr, page, m, x, y);
    struct label title = canvas_fit(cr, map->title, map_title_size, page->right_step - GAP / 2.0);
    canvas_text(cr, x + cells->cols * page->cell / 2.0, y - page->map_title / 2.0, title.text, map_title_size,
                ALIGN_CENTRE, DIRECTION_ACROSS);
}

/* Title, names of the axes, and what a cell is if it is not one value. */
static void draw_words(cairo_t *cr, const struct page *page) {
    const struct heatmap_grid *grid = page->grid;
    double across = (page->left + page->right) / 2.0, down = (page->top + page->bottom) / 2.0;
    double room = page->width - 2 * MARGIN;
    struct label title = canvas_fit(cr, grid->title, title_size, room);
    canvas_text(cr, page->width / 2.0, MARGIN + title_size * 0.5, title.text, title_size, ALIGN_CENTRE,
                DIRECTION_ACROSS);
    struct label x_axis = canvas_fit(cr, grid->x_axis, axis_size, page->width - 2 * fabs(page->width / 2.0 - across));
    canvas_text(cr, across, page->bottom + OUTSIDE + page->col_label + axis_size, x_axis.text, axis_size, ALIGN_CENTRE,
                DIRECTION_ACROSS);
    struct label y_axis = canvas_fit(cr, grid->y_axis, axis_size, 2 * fmin(down, page->height - down));
    canvas_text(cr, page->left - OUTSIDE - page->row_label - axis_size, down, y_axis.text, axis_size, ALIGN_CENTRE,
                DIRECTION_UPWARDS);
    if (page->step == 1) return;
    char note[96];
    snprintf(note, sizeof note, "each cell is the mean of %d x %d values", page->step, page->step);
    canvas_text(cr, MARGIN, page->height - MARGIN / 2.0 - note_size / 2, note, note_size, ALIGN_LEFT, DIRECTION_ACROSS);
}

static void draw_page(cairo_t *cr, const void *context) {
    const struct page *page = context;
    for (int m = 0; m < page->grid->count; m++) draw_map(cr, page, m);
    cairo_set_source_rgb(cr, 0.15, 0.15, 0.15);
    draw_words(cr, page);
    int body = page->bottom - page->top;
    int height = body < LEAST_BAR ? LEAST_BAR : body > MOST_BAR ? MOST_BAR : body;
    int top = page->top + larger(body - height, 0) / 2;
    canvas_bar(cr, page->right + GAP, top, BAR_WIDTH, height, page->grid->low, page->grid->high, tick_size);
}

ch_status plot_heatmaps(const struct heatmap_grid *grid, const char *path, ch_error *error) {
    const struct plot_format *format;
    ch_status status = plot_format_of(path, &format, error);
    if (!status) status = heatmap_grid_check(grid, error);
    if (status) return status;
    if (grid->count > MOST_MAPS)
        return fail(error, CH_USAGE, "cannot draw '%s': expected at most %d maps in one picture, found %d", path,
                    MOST_MAPS, grid->count);
    struct page page = {.grid = grid};
    choose_cells(&page);
    cairo_t *ruler = canvas_new_for_measuring();
    choose_labels(&page, ruler);
    choose_places(&page, ruler);
    cairo_destroy(ruler);
    status = cells_new(grid, page.step, &page.cells, error);
    if (status) return status;
    status = plot_write(format, path, page.width, page.height, draw_page, &page, error);
    cells_free(page.cells, grid->count);
    return status;
}
