/*
 * Heat maps as a panel of a picture. Cells are whole pixels, so nothing is smeared; all maps of a grid share the size
 * of a cell, the colour bar and the names of the axes. Labels are thinned where they would touch, and cells put
 * together where there are more than pixels. Where columns have places, as steps have, each map has the whole axis
 * below it, and so many narrow cells that every column stands at its place.
 */
#include "plot/heatmap_panel.h"

#include <math.h>
#include <stdio.h>

enum {
    LONGEST_LABEL = 20,
    NOTE = 160,
    MOST_NUMBERS = 12,      /* rows or columns of a map that still has its values printed */
    MOST_NAMED = 64,        /* rows of a map that is as high as all their names take */
    MOST_STACKED = 4,       /* maps with places that stand below one another, where places compare best */
    FINE_CELLS = 400,       /* at least, across maps with places, where there are as many pixels */
    MOST_RECTANGLES = 40000 /* cells; more are drawn as an image */
};

/* Units. */
static const double least_map = 130, largest_cell = 90, map_gap = 24, bar_width = 18, least_bar = 130, most_bar = 420,
                    least_numbered_cell = 36, line_height = SIZE_TICK * 1.2, tick_gap = 14, title_gap = 6;

struct layout {
    const struct heatmap_grid *grid;
    int across, down;                    /* maps */
    struct cell_step step;               /* values that a cell stands for */
    int rows, cols;                      /* cells of the largest map */
    double cell_width, cell_height;      /* whole pixels */
    double map_width;                    /* of the largest map */
    double grid_title, map_title;        /* heights of what stands above all maps, and above each */
    double row_label, col_label;         /* width at the left, height below */
    int row_every, col_every;            /* which labels are drawn */
    enum canvas_direction col_direction; /* of their letters */
    double left, top;                    /* of the first map, from the box's corner */
    double right_step;                   /* from one map to the next */
    double down_gap;                     /* from the end of a row of maps to the next */
    double right, bottom;                /* ends of the last maps */
    double bar_top, bar_height;
    double note, height; /* where the note stands; of the whole panel */
};

static double axis_room(const char *name) {
    return name ? SIZE_AXIS * 1.8 : 0;
}

/* How many maps side by side: about a square, without a last row that is not full if that can be. */
static int choose_across(const struct heatmap_grid *grid, double width, double row_label) {
    int count = grid->count;
    if (grid->end && count <= MOST_STACKED) return 1;
    double least = least_map + map_gap + (grid->end ? row_label : 0); /* square cells make do with less */
    int square = (int)ceil(sqrt(count)), room = (int)(width / least);
    int across = square;
    while (across < 2 * square && count % across != 0) across++;
    if (across == 2 * square) across = square;
    return across <= room ? across : room > 1 ? room : 1;
}

static void measure_labels(struct layout *layout, cairo_t *cr, double *col) {
    *col = 0;
    for (int m = 0; m < layout->grid->count; m++) {
        const struct heatmap *map = &layout->grid->map[m];
        int row_step = divide_up(map->rows, 1000), col_step = divide_up(map->cols, 1000); /* a sample is enough */
        for (int r = 0; r < map->rows; r += row_step) {
            struct label label = label_at(map->row_label, r, LONGEST_LABEL, LABEL_UTF8);
            layout->row_label = fmax(layout->row_label, canvas_text_width(cr, label.text, SIZE_TICK));
        }
        for (int c = 0; c < map->cols && !map->place; c += col_step) {
            struct label label = label_at(map->col_label, c, LONGEST_LABEL, LABEL_UTF8);
            *col = fmax(*col, canvas_text_width(cr, label.text, SIZE_TICK));
        }
    }
}

/* Whole pixels, at least one; units. */
static double whole_pixels(cairo_t *cr, double length) {
    double scale = canvas_scale(cr);
    return fmax(floor(length * scale + 1e-6), 1) / scale;
}

/* The smallest of 1, 2, 5, 10, 20, ... cells that is at least `room` long. */
static int every(double cell, double room) {
    static const int factor[] = {1, 2, 5};
    for (int unit = 1;; unit *= 10)
        for (int i = 0; i < 3; i++)
            if (unit * factor[i] * cell >= room) return unit * factor[i];
}

/* How many values make a cell, so that `count` cells fit into `room` units: a round number, for the labels' sake. */
static int step_for(cairo_t *cr, int count, double room) {
    return every(1, divide_up(count, (int)fmax(room * canvas_scale(cr), 1)));
}

/* Cells across that keep places apart: as many whole pixels each as leaves enough of them. */
static int fine_cells(cairo_t *cr, double room) {
    double pixels = fmax(floor(room * canvas_scale(cr)), 1);
    return (int)(pixels / fmax(floor(pixels / FINE_CELLS), 1));
}

static void choose_cells(struct layout *layout, cairo_t *cr, double room, double width) {
    const struct heatmap_grid *grid = layout->grid;
    int rows, cols;
    heatmap_grid_extent(grid, &rows, &cols);
    double high = grid->aspect > 0 ? room * grid->aspect : fmax(width, least_map);
    if (grid->aspect > 0 && rows <= MOST_NAMED && grid->map->row_label) high = fmax(high, rows * line_height);
    layout->step = (struct cell_step){step_for(cr, rows, high), grid->end ? 1 : step_for(cr, cols, room)};
    if (!(grid->aspect > 0)) {
        if (layout->step.row < layout->step.col) layout->step.row = layout->step.col;
        layout->step.col = layout->step.row;
    }
    layout->rows = divide_up(rows, layout->step.row);
    layout->cols = grid->end ? fine_cells(cr, room) : divide_up(cols, layout->step.col);
    layout->cell_width = whole_pixels(cr, room / layout->cols);
    layout->cell_height = whole_pixels(cr, high / layout->rows);
    if (!(grid->aspect > 0)) {
        double cell = fmin(fmin(layout->cell_width, layout->cell_height), whole_pixels(cr, largest_cell));
        layout->cell_width = layout->cell_height = cell;
    }
    layout->map_width = layout->cols * layout->cell_width;
}

/* As many as the widest number, the last, leaves room for. */
static struct ticks axis_ticks(const struct layout *layout, cairo_t *cr) {
    struct ticks most = heatmap_ticks(layout->grid, MOST_TICKS);
    double number = canvas_text_width(cr, most.text[most.count - 1], SIZE_TICK);
    return heatmap_ticks(layout->grid, (int)(layout->map_width / (number + tick_gap)));
}

/* Short labels are better thinned than turned. */
static void choose_labels(struct layout *layout, double col) {
    bool across = col + CANVAS_OUTSIDE <= layout->cell_width || col <= 3 * SIZE_TICK;
    layout->col_direction = across ? DIRECTION_ACROSS : DIRECTION_UPWARDS;
    layout->row_every = every(layout->cell_height, SIZE_TICK * 1.02);
    layout->col_every = every(layout->cell_width, across ? col + CANVAS_OUTSIDE : SIZE_TICK * 1.2);
    layout->col_label = across ? SIZE_TICK * 1.2 : col;
}

/* A title may be as wide as its map and the labels beside it; a single column of maps has more room. */
static double title_room(const struct layout *layout, double width) {
    double own = layout->map_width + layout->row_label + CANVAS_OUTSIDE;
    return layout->across > 1 ? own : fmax(own, width * 0.8);
}

static void choose_titles(struct layout *layout, cairo_t *cr, double width) {
    double room = title_room(layout, width);
    for (int m = 0; m < layout->grid->count; m++) {
        double height = canvas_lines_height(cr, layout->grid->map[m].title, SIZE_PANEL, room);
        if (height > 0) layout->map_title = fmax(layout->map_title, height + title_gap);
    }
    double height = canvas_lines_height(cr, layout->grid->title, SIZE_PANEL, width);
    layout->grid_title = height > 0 ? height + title_gap : 0;
}

static int cells_down(const struct layout *layout, const struct heatmap *map) {
    return divide_up(map->rows, layout->step.row);
}

/* The height of a row of maps: of its highest. */
static double row_height(const struct layout *layout, int row) {
    int cells = 0, first = row * layout->across;
    for (int m = first; m < first + layout->across && m < layout->grid->count; m++) {
        int own = cells_down(layout, &layout->grid->map[m]);
        if (own > cells) cells = own;
    }
    return cells * layout->cell_height;
}

static double heights_before(const struct layout *layout, int row) {
    double height = 0;
    for (int above = 0; above < row; above++) height += row_height(layout, above);
    return height;
}

/* Where a row of maps begins. */
static double row_top(const struct layout *layout, int row) {
    return layout->top + heights_before(layout, row) + row * layout->down_gap;
}

static void choose_places(struct layout *layout, cairo_t *cr, double width, double bar) {
    const struct heatmap_grid *grid = layout->grid;
    double below = CANVAS_OUTSIDE + layout->col_label;
    layout->left = axis_room(grid->y_axis) + layout->row_label + CANVAS_OUTSIDE;
    layout->top = layout->grid_title + fmax(layout->map_title, SIZE_TICK * 0.5);
    layout->right_step = layout->map_width + layout->row_label + CANVAS_OUTSIDE + map_gap;
    layout->down_gap = below + map_gap + layout->map_title;
    double whole = layout->left + (layout->across - 1) * layout->right_step + layout->map_width + map_gap + bar;
    layout->left = canvas_snap(cr, layout->left + fmax(width - whole, 0) / 2);
    layout->top = canvas_snap(cr, layout->top);
    layout->right_step = canvas_snap(cr, layout->right_step);
    layout->down_gap = canvas_snap(cr, layout->down_gap);
    layout->right = layout->left + (layout->across - 1) * layout->right_step + layout->map_width;
    layout->bottom = row_top(layout, layout->down - 1) + row_height(layout, layout->down - 1);
    layout->note = layout->bottom + below + axis_room(grid->x_axis);
    char note[NOTE];
    heatmap_step_text(grid, layout->step, note, sizeof note);
    double noted = canvas_lines_height(cr, note, SIZE_SMALL, width);
    layout->height = fmax(layout->note + (noted > 0 ? noted + SIZE_SMALL * 0.6 : 0), layout->top + least_bar);
    layout->bar_top = layout->top + fmax(layout->bottom - layout->top - layout->bar_height, 0) / 2;
}

static struct layout layout_of(cairo_t *cr, const struct heatmap_grid *grid, double width) {
    struct layout layout = {.grid = grid};
    double col, bar = canvas_bar_width(cr, bar_width, most_bar, &grid->bar);
    measure_labels(&layout, cr, &col);
    double beside = axis_room(grid->y_axis) + map_gap + bar;
    layout.across = choose_across(grid, width - beside - layout.row_label, layout.row_label);
    layout.down = divide_up(grid->count, layout.across);
    double room = (width - beside - (layout.across - 1) * map_gap) / layout.across - layout.row_label - CANVAS_OUTSIDE;
    choose_cells(&layout, cr, fmax(room, least_map / 4), width);
    choose_labels(&layout, col);
    choose_titles(&layout, cr, width);
    double body = heights_before(&layout, layout.down) + (layout.down - 1) * map_gap;
    layout.bar_height = fmin(fmax(body, least_bar), most_bar);
    choose_places(&layout, cr, width, bar);
    return layout;
}

double heatmap_height(cairo_t *cr, const void *grid, double width) {
    return layout_of(cr, grid, width).height;
}

/* ---- drawing ---- */

static int cells_across(const struct layout *layout, const struct heatmap *map) {
    return heatmap_cells(layout->grid, map, layout->step, layout->cols);
}

static int column_of(const struct layout *layout, const struct heatmap *map, int cell) {
    return heatmap_column(layout->grid, map, cell, layout->step, layout->cols);
}

static struct colour cell_colour(const struct layout *layout, const struct heatmap *map, int r, int c) {
    double t = heatmap_cell(layout->grid, map, r * layout->step.row, column_of(layout, map, c), layout->step);
    return colour_of(layout->grid->colours, t);
}

/* Cells from c on that show the same column. */
static int same_column(const struct layout *layout, const struct heatmap *map, int c) {
    int count = 1, cols = cells_across(layout, map);
    while (c + count < cols && column_of(layout, map, c + count) == column_of(layout, map, c)) count++;
    return count;
}

/* A cell reaches a little under its right and lower neighbours, which are drawn later: viewers that scale an SVG would
 * let the page shine through between cells that only touch. */
static void draw_rectangles(cairo_t *cr, const struct layout *layout, const struct heatmap *map, double x, double y) {
    int rows = cells_down(layout, map), cols = cells_across(layout, map);
    double under = 1 / canvas_scale(cr);
    cairo_save(cr);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
    for (int r = 0; r < rows; r++) {
        for (int c = 0, count; c < cols; c += count) {
            count = same_column(layout, map, c);
            canvas_colour(cr, cell_colour(layout, map, r, c));
            cairo_rectangle(cr, x + c * layout->cell_width, y + r * layout->cell_height,
                            count * layout->cell_width + (c + count < cols ? under : 0),
                            layout->cell_height + (r + 1 < rows ? under : 0));
            cairo_fill(cr);
        }
    }
    cairo_restore(cr);
}

/* A pixel of the image for a cell. A failure stays in `image` and passes to cr when it is made the source. */
static void draw_image(cairo_t *cr, const struct layout *layout, const struct heatmap *map, double x, double y) {
    int rows = cells_down(layout, map), cols = cells_across(layout, map);
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, cols, rows);
    if (cairo_surface_status(image) == CAIRO_STATUS_SUCCESS) {
        unsigned char *pixels = cairo_image_surface_get_data(image);
        size_t stride = (size_t)cairo_image_surface_get_stride(image);
        for (int r = 0; r < rows; r++) {
            uint32_t *pixel = (void *)(pixels + (size_t)r * stride); /* cairo aligns its rows */
            for (int c = 0; c < cols; c++) {
                struct colour colour = cell_colour(layout, map, r, c);
                pixel[c] = (uint32_t)colour.red << 16 | (uint32_t)colour.green << 8 | colour.blue;
            }
        }
        cairo_surface_mark_dirty(image);
    }
    cairo_save(cr);
    cairo_translate(cr, x, y);
    cairo_scale(cr, layout->cell_width, layout->cell_height);
    cairo_set_source_surface(cr, image, 0, 0);
    cairo_surface_destroy(image);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
    cairo_rectangle(cr, 0, 0, cols, rows);
    cairo_fill(cr);
    cairo_restore(cr);
}

static void draw_values(cairo_t *cr, const struct layout *layout, const struct heatmap *map, double x, double y) {
    double cell = fmin(layout->cell_width, layout->cell_height);
    bool one = layout->step.row == 1 && layout->step.col == 1;
    if (!one || cell < least_numbered_cell || map->rows > MOST_NUMBERS || map->cols > MOST_NUMBERS) return;
    for (int r = 0; r < map->rows; r++) {
        for (int c = 0; c < map->cols; c++) {
            char number[NUMBER_BYTES];
            number_text((double)map->value[(size_t)r * (size_t)map->cols + (size_t)c], number);
            double size = fmin(cell * 0.24, SIZE_AXIS), room = layout->cell_width - CANVAS_TICK;
            double width = canvas_text_width(cr, number, size);
            bool black = colour_wants_black(cell_colour(layout, map, r, c));
            canvas_colour(cr, black ? (struct colour){0, 0, 0} : (struct colour){255, 255, 255});
            canvas_text(cr, x + (c + 0.5) * layout->cell_width, y + (r + 0.5) * layout->cell_height, number,
                        width > room ? size * room / width : size, ALIGN_CENTRE, DIRECTION_ACROSS);
        }
    }
}

/* The whole axis, also behind a map that ends before it. */
static void draw_axis(cairo_t *cr, const struct layout *layout, const struct heatmap *map, double x, double bottom) {
    struct ticks ticks = axis_ticks(layout, cr);
    (void)map;
    canvas_line(cr, x - 1, bottom + 0.5, x + layout->map_width + 1, bottom + 0.5);
    for (int i = 0; i < ticks.count; i++) {
        double at = x + layout->map_width * ticks.value[i] / (double)layout->grid->end;
        canvas_line(cr, at, bottom + 1, at, bottom + 1 + CANVAS_TICK);
        canvas_text(cr, at, bottom + CANVAS_OUTSIDE + SIZE_TICK * 0.6, ticks.text[i], SIZE_TICK, ALIGN_CENTRE,
                    DIRECTION_ACROSS);
    }
}

static void draw_columns(cairo_t *cr, const struct layout *layout, const struct heatmap *map, double x, double bottom) {
    bool upwards = layout->col_direction == DIRECTION_UPWARDS;
    int cols = cells_across(layout, map);
    for (int c = 0; c < cols; c += layout->col_every) {
        struct label label = label_at(map->col_label, c * layout->step.col, LONGEST_LABEL, LABEL_UTF8);
        double at = x + (c + 0.5) * layout->cell_width, below = bottom + CANVAS_OUTSIDE;
        canvas_line(cr, at, bottom + 1, at, bottom + 1 + CANVAS_TICK);
        canvas_text(cr, at, below + (upwards ? 0 : SIZE_TICK * 0.6), label.text, SIZE_TICK,
                    upwards ? ALIGN_RIGHT : ALIGN_CENTRE, layout->col_direction);
    }
}

static void draw_labels(cairo_t *cr, const struct layout *layout, const struct heatmap *map, double x, double y) {
    int rows = cells_down(layout, map);
    double bottom = y + rows * layout->cell_height;
    for (int r = 0; r < rows; r += layout->row_every) {
        struct label label = label_at(map->row_label, r * layout->step.row, LONGEST_LABEL, LABEL_UTF8);
        double at = y + (r + 0.5) * layout->cell_height;
        canvas_line(cr, x - 1 - CANVAS_TICK, at, x - 1, at);
        canvas_text(cr, x - CANVAS_OUTSIDE, at, label.text, SIZE_TICK, ALIGN_RIGHT, DIRECTION_ACROSS);
    }
    (layout->grid->end ? draw_axis : draw_columns)(cr, layout, map, x, bottom);
}

static void draw_map(cairo_t *cr, const struct layout *layout, int m, double x, double y) {
    const struct heatmap *map = &layout->grid->map[m];
    int rows = cells_down(layout, map), cols = cells_across(layout, map);
    bool few = (int64_t)rows * cols <= MOST_RECTANGLES;
    (few ? draw_rectangles : draw_image)(cr, layout, map, x, y);
    draw_values(cr, layout, map, x, y);
    canvas_ink(cr);
    canvas_frame(cr, (struct box){x, y, cols * layout->cell_width, rows * layout->cell_height});
    draw_labels(cr, layout, map, x, y);
}

/* Above the middle of its map; one that is wider than the map stands above its labels, too. */
static void draw_title(cairo_t *cr, const struct layout *layout, const struct heatmap *map, double x, double y,
                       struct box box) {
    double room = title_room(layout, box.width), own = layout->map_width + layout->row_label + CANVAS_OUTSIDE;
    double width = 0, middle = x + layout->map_width / 2;
    struct label line[CANVAS_LINES];
    int count = canvas_wrap(cr, map->title, SIZE_PANEL, room, line);
    for (int i = 0; i < count; i++) width = fmax(width, canvas_text_width(cr, line[i].text, SIZE_PANEL));
    if (layout->across > 1 && width > layout->map_width) middle = x + layout->map_width - own / 2;
    if (layout->across == 1) middle = fmin(fmax(middle, box.x + width / 2), box.x + box.width - width / 2);
    double height = canvas_lines_height(cr, map->title, SIZE_PANEL, room);
    canvas_lines(cr, middle, y - title_gap - height, map->title, SIZE_PANEL, room);
}

/* Names of the axes, and what a cell is if it is not one value. */
static void draw_words(cairo_t *cr, const struct layout *layout, struct box box) {
    const struct heatmap_grid *grid = layout->grid;
    double across = (layout->left + layout->right) / 2, down = (layout->top + layout->bottom) / 2;
    char note[NOTE];
    canvas_lines(cr, box.x + box.width / 2, box.y, grid->title, SIZE_PANEL, box.width);
    double room = 2 * fmin(across, box.width - across);
    struct label x_axis = canvas_fit(cr, grid->x_axis, SIZE_AXIS, room);
    canvas_text(cr, box.x + across, box.y + layout->bottom + CANVAS_OUTSIDE + layout->col_label + SIZE_AXIS,
                x_axis.text, SIZE_AXIS, ALIGN_CENTRE, DIRECTION_ACROSS);
    struct label y_axis = canvas_fit(cr, grid->y_axis, SIZE_AXIS, 2 * fmin(down, layout->height - down));
    canvas_text(cr, box.x + layout->left - CANVAS_OUTSIDE - layout->row_label - SIZE_AXIS, box.y + down, y_axis.text,
                SIZE_AXIS, ALIGN_CENTRE, DIRECTION_UPWARDS);
    heatmap_step_text(grid, layout->step, note, sizeof note);
    canvas_lines(cr, box.x + box.width / 2, box.y + layout->note + SIZE_SMALL * 0.3, note, SIZE_SMALL, box.width);
}

void heatmap_draw(cairo_t *cr, const void *grid, struct box box) {
    struct layout layout = layout_of(cr, grid, box.width);
    box.x = canvas_snap(cr, box.x);
    box.y = canvas_snap(cr, box.y);
    for (int m = 0; m < layout.grid->count; m++) {
        double x = box.x + layout.left + m % layout.across * layout.right_step;
        double y = box.y + row_top(&layout, m / layout.across);
        draw_map(cr, &layout, m, x, y);
        draw_title(cr, &layout, &layout.grid->map[m], x, y, box);
    }
    canvas_ink(cr);
    draw_words(cr, &layout, box);
    struct box bar = {canvas_snap(cr, box.x + layout.right + map_gap), canvas_snap(cr, box.y + layout.bar_top),
                      canvas_snap(cr, bar_width), canvas_snap(cr, layout.bar_height)};
    canvas_bar(cr, bar, layout.grid->colours, &layout.grid->bar);
}
