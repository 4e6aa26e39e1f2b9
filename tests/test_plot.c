/* Heat maps as files and on terminals: pictures are read back pixel by pixel, text is measured line by line. */
#include "io/temporary.h"
#include "plot/colour.h"
#include "plot/format.h"
#include "plot/heatmap.h"
#include "plot/page.h"
#include "plot/svg_ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cairo.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what the tests draw --------------------------------------------------------------------- */

enum { MOST_VALUES = 120 * 120 };

static const char *const odd[] = {"",
                                  "a",
                                  "<eos>&\"'",
                                  "日本語",
                                  "u\xCC\x88"
                                  "ber",
                                  "\x1b[2J\n",
                                  "\xff\xfe\xC0",
                                  "\xED\xA0\x80",
                                  "\xEF\xBF\xBE",
                                  "\xE2\x80\xAE"
                                  "right to left",
                                  "\xF0\x9F\x98\x80",
                                  "internationalisation of transformers",
                                  "\xE6\x97"};
enum { ODD = sizeof odd / sizeof *odd };

struct sample {
    float value[MOST_VALUES];
    const char *label[200];
    struct heatmap map[12];
    struct heatmap_grid grid;
};

/* count maps of rows x cols whose values run evenly from 0 to 1, but for the second, which is NaN. */
static struct sample *sample_new(int count, int rows, int cols, bool labelled) {
    struct sample *sample = calloc(1, sizeof *sample);
    assert_non_null(sample);
    assert_true(rows * cols <= MOST_VALUES && rows <= 200 && cols <= 200);
    for (int i = 0; i < rows * cols; i++) sample->value[i] = (float)i / (float)(rows * cols);
    if (rows * cols > 2) sample->value[1] = NAN;
    for (int i = 0; i < 200; i++) sample->label[i] = odd[i % ODD];
    for (int m = 0; m < count; m++)
        sample->map[m] = (struct heatmap){.rows = rows,
                                          .cols = cols,
                                          .value = sample->value,
                                          .row_label = labelled ? sample->label : NULL,
                                          .col_label = labelled ? sample->label : NULL,
                                          .title = labelled ? "head\x01\xff of the last layer" : "head 0"};
    if (count > 1 && labelled) sample->map[1].rows = sample->map[1].cols = 1; /* maps need not be alike */
    sample->grid = (struct heatmap_grid){
        .count = count, .map = sample->map, .x_axis = "source position", .y_axis = "generated token", .bar = {0, 1, 0}};
    return sample;
}

/* A page of one panel, drawn at its own width, which has a pixel a unit. */
static ch_status draw(const struct heatmap_grid *grid, const char *path, ch_error *error) {
    struct panel panel = {&panel_maps, grid, true};
    struct page page = {"layer 1", 560, 1, 1, &panel};
    return page_save(&page, path, 0, error);
}

static ch_status text_of(const struct heatmap_grid *grid, ch_colours colours, int columns, char **text,
                         ch_error *error) {
    struct panel panel = {&panel_maps, grid, true};
    struct page page = {"layer 1", 560, 1, 1, &panel};
    return page_text(&page, colours, columns, text, error);
}

static char *in_folder(const char *folder, const char *name, char path[512]) {
    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    const char *base = getenv("TMPDIR");
    char *folder = calloc(1, 256);
    if (!folder) return -1;
    snprintf(folder, 256, "%s/clearhead-plot-XXXXXX", base ? base : "/tmp");
    *state = folder;
    return mkdtemp(folder) ? 0 : -1;
}

/* Removes what the test left and the folder; returns how many files there were. */
static int empty_folder(const char *folder) {
    DIR *entries = opendir(folder);
    int count = 0;
    char path[512];
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        remove(in_folder(folder, entry->d_name, path));
        count++;
    }
    if (entries) closedir(entries);
    return count;
}

static int remove_folder(void **state) {
    empty_folder(*state);
    int removed = rmdir(*state);
    free(*state);
    return removed;
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = calloc(1, *size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* ---- pictures -------------------------------------------------------------------------------- */

struct picture {
    cairo_surface_t *surface;
    int width, height;
    int x, y, map_width, map_height; /* of the cells of the first map */
};

static uint32_t pixel(const struct picture *picture, int x, int y) {
    const unsigned char *bytes = cairo_image_surface_get_data(picture->surface);
    uint32_t value;
    memcpy(&value, bytes + y * cairo_image_surface_get_stride(picture->surface) + 4 * x, sizeof value);
    return value & 0xFFFFFF;
}

/* Pixels of the frame's colour from (x, y) in one direction. */
static int run(const struct picture *picture, int x, int y, int right, int down) {
    int length = 0;
    uint32_t frame = 0x262626;
    for (; x < picture->width && y < picture->height && pixel(picture, x, y) == frame; length++) {
        x += right;
        y += down;
    }
    return length;
}

/* Opens a PNG and finds the first map by its frame. */
static struct picture picture_open(const char *path) {
    struct picture picture = {.surface = cairo_image_surface_create_from_png(path)};
    assert_int_equal(cairo_surface_status(picture.surface), CAIRO_STATUS_SUCCESS);
    picture.width = cairo_image_surface_get_width(picture.surface);
    picture.height = cairo_image_surface_get_height(picture.surface);
    for (int y = 0; y < picture.height && picture.map_width == 0; y++) {
        for (int x = 0; x < picture.width && picture.map_width == 0; x++) {
            int width = run(&picture, x, y, 1, 0), height = run(&picture, x, y, 0, 1);
            if (width < 60 || height < 60) continue;
            picture.x = x + 1;
            picture.y = y + 1;
            picture.map_width = width - 2;
            picture.map_height = height - 2;
        }
    }
    assert_true(picture.map_width > 0);
    return picture;
}

static void check_cells(const char *folder, int rows, int cols) {
    char path[512];
    struct sample *sample = sample_new(1, rows, cols, false);
    assert_int_equal(draw(&sample->grid, in_folder(folder, "map.PNG", path), NULL), CH_OK);
    struct picture picture = picture_open(path);
    int cell = picture.map_width / cols;
    assert_int_equal(picture.map_width, cell * cols);
    assert_int_equal(picture.map_height, cell * rows);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            struct colour colour = colour_of(COLOUR_RISING, (double)sample->value[r * cols + c]);
            uint32_t expected = (uint32_t)colour.red << 16 | (uint32_t)colour.green << 8 | colour.blue;
            int x = picture.x + c * cell, y = picture.y + r * cell;
            assert_int_equal(pixel(&picture, x + cell / 2, y + cell / 2), expected);
            assert_int_equal(pixel(&picture, x, y), expected);
            assert_int_equal(pixel(&picture, x + cell - 1, y + cell - 1), expected);
        }
    }
    cairo_surface_destroy(picture.surface);
    free(sample);
}

static void test_png_cells(void **state) {
    check_cells(*state, 13, 14);   /* rectangles */
    check_cells(*state, 70, 80);   /* an image */
    check_cells(*state, 120, 100); /* an image of small cells */
}

/* A cell that has its value printed on it holds pixels of the cell's colour and of the letters'. */
static void test_png_numbers(void **state) {
    char path[512];
    float value[2] = {0, 1};
    struct heatmap map = {.rows = 2, .cols = 1, .value = value};
    struct heatmap_grid grid = {.count = 1, .map = &map, .bar = {0, 1, 0}};
    assert_int_equal(draw(&grid, in_folder(*state, "map.png", path), NULL), CH_OK);
    struct picture picture = picture_open(path);
    int side = picture.map_width, white = 0, black = 0;
    for (int y = 0; y < 2 * side; y++) {
        for (int x = 0; x < side; x++) {
            uint32_t found = pixel(&picture, picture.x + x, picture.y + y);
            white += y < side && (found & 0xFF00) > 0xC000;
            black += y >= side && (found & 0xFF00) < 0x4000;
        }
    }
    assert_true(white > 20);
    assert_true(black > 20);
    cairo_surface_destroy(picture.surface);
}

/* Also where cells are an image, which SVG and PDF hold as an object with a number. */
static void test_pictures_are_deterministic(void **state) {
    static const char *const names[] = {"a.png", "a.pdf", "a.svg"};
    for (int i = 0; i < 6; i++) {
        char path[512];
        size_t size, other;
        struct sample *sample = i < 3 ? sample_new(4, 7, 6, true) : sample_new(4, 119, 118, false);
        assert_int_equal(draw(&sample->grid, in_folder(*state, names[i % 3], path), NULL), CH_OK);
        char *a = read_file(path, &size);
        assert_int_equal(draw(&sample->grid, path, NULL), CH_OK);
        char *b = read_file(path, &other);
        assert_int_equal(size, other);
        assert_memory_equal(a, b, size);
        free(a);
        free(b);
        free(sample);
    }
}

static void check_ids(const char *before, const char *after) {
    char text[256];
    size_t length = strlen(before);
    snprintf(text, sizeof text, "%s", before);
    assert_true(svg_renumber(text, &length));
    assert_int_equal(length, strlen(after));
    assert_memory_equal(text, after, length);
}

static void test_svg_ids(void **state) {
    (void)state;
    check_ids("<g id=\"surface38\"><image id=\"image7\"/><use href=\"#image7\"/></g>",
              "<g id=\"surface2\"><image id=\"image1\"/><use href=\"#image1\"/></g>");
    check_ids("\"source-120\" \"surface-9\" url(#source-120)", "\"source-2\" \"surface-1\" url(#source-2)");
    check_ids("surface5 \"surface\" \"source-over\" \"image", "surface5 \"surface\" \"source-over\" \"image");
    check_ids("\"image3", "\"image1");
    check_ids("", "");
}

static void test_svg(void **state) {
    char path[512];
    size_t size;
    for (int labelled = 0; labelled < 2; labelled++) {
        struct sample *sample = sample_new(3, 13, 12, labelled);
        assert_int_equal(draw(&sample->grid, in_folder(*state, "map.svg", path), NULL), CH_OK);
        char *text = read_file(path, &size);
        assert_int_equal(strncmp(text, "<?xml", 5), 0);
        assert_string_equal(text + size - strlen("</svg>\n"), "</svg>\n");
        int paths = 0;
        for (const char *at = text; (at = strstr(at, "<path")); at++) paths++;
        assert_true(paths >= 3 * 13 * 12); /* every cell */
        assert_null(strstr(text, "\x1b"));
        free(text);
        free(sample);
    }
}

static void test_shapes(void **state) {
    static const int shape[][3] = {{1, 1, 1}, {1, 1, 120}, {1, 120, 1},  {1, 7, 6},
                                   {4, 7, 6}, {5, 40, 3},  {12, 13, 13}, {12, 100, 120}};
    char path[512];
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        for (int labelled = 0; labelled < 2; labelled++) {
            struct sample *sample = sample_new(shape[i][0], shape[i][1], shape[i][2], labelled);
            for (size_t f = 0; plot_format_row(f); f++) {
                char name[32];
                snprintf(name, sizeof name, "map.%s", plot_format_row(f)->name);
                ch_error error = {.message = ""};
                assert_int_equal(draw(&sample->grid, in_folder(*state, name, path), &error), CH_OK);
                assert_string_equal(error.message, "");
            }
            free(sample);
        }
    }
}

/* More rows than a page has room for: drawn as means, with a note. */
static void test_large(void **state) {
    enum { ROWS = 9000, COLS = 5 };
    char path[512];
    float *value = calloc(ROWS * COLS, sizeof *value);
    assert_non_null(value);
    struct heatmap map = {.rows = ROWS, .cols = COLS, .value = value, .title = "a very long title that is cut"};
    struct heatmap_grid grid = {
        .count = 1, .map = &map, .bar = {0, 1, 0}, .x_axis = "a name too long for so thin a map"};
    assert_int_equal(draw(&grid, in_folder(*state, "map.png", path), NULL), CH_OK);
    cairo_surface_t *surface = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
    int height = cairo_image_surface_get_height(surface);
    assert_true(height > 400 && height < 800); /* 9000 / 18 and what is around them */
    cairo_surface_destroy(surface);
    free(value);
}

static void test_without_fonts(void **state) {
    char path[512], fonts[512];
    in_folder(*state, "map.png", path);
    FILE *file = fopen(in_folder(*state, "fonts.conf", fonts), "w");
    assert_non_null(file);
    fputs("<?xml version=\"1.0\"?><fontconfig></fontconfig>\n", file);
    fclose(file);
    pid_t child = fork(); /* fontconfig reads its file once in a process */
    assert_true(child >= 0);
    if (child == 0) {
        setenv("FONTCONFIG_FILE", fonts, 1);
        struct sample *sample = sample_new(4, 7, 6, true);
        ch_status drawn = draw(&sample->grid, path, NULL);
        free(sample);
        _exit((int)drawn);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CH_OK);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Columns of the widest line: escape sequences take none, wide characters (here: from U+2E80) two, marks none. */
static int widest_line(const char *text) {
    int width = 0, widest = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '\x1b') {
            while (*at != 'm') at++;
        } else if (*at == '\n') {
            width = 0;
        } else if ((*at & 0xC0) != 0x80) {
            bool wide = (*at == 0xE2 && at[1] >= 0xBA) || (*at >= 0xE3 && *at != 0xEF) || *at >= 0xF0;
            width += wide ? 2 : *at == 0xCC ? 0 : 1;
            if (width > widest) widest = width;
        }
    }
    return widest;
}

static void check_width(const struct heatmap_grid *grid, ch_colours colours, int columns) {
    char *text;
    assert_int_equal(text_of(grid, colours, columns, &text, NULL), CH_OK);
    int limit = columns < 20 ? 20 : columns, widest = widest_line(text);
    if (widest > limit) fail_msg("a line of %d columns, %d allowed:\n%s", widest, limit, text);
    assert_int_equal(text[strlen(text) - 1], '\n');
    for (const char *at = text; *at && colours == CH_COLOURS_NONE; at++)
        assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
    ch_string_free(text);
}

static void test_text_fits(void **state) {
    (void)state;
    static const int shape[][3] = {{1, 1, 1}, {3, 7, 6}, {1, 3, 120}, {12, 5, 9}, {2, 120, 30}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        for (int labelled = 0; labelled < 2; labelled++) {
            struct sample *sample = sample_new(shape[i][0], shape[i][1], shape[i][2], labelled);
            if (labelled) sample->grid.bar.low = -1.2345e-300;
            for (int columns = -1; columns < 260; columns += columns < 90 ? 3 : 41)
                for (int c = CH_COLOURS_NONE; c <= CH_COLOURS_TRUE; c++)
                    check_width(&sample->grid, (ch_colours)c, columns);
            check_width(&sample->grid, CH_COLOURS_NONE, 2147483647);
            free(sample);
        }
    }
}

static void test_text_says_how_it_shrank(void **state) {
    (void)state;
    struct sample *sample = sample_new(1, 3, 60, false);
    char *text;
    assert_int_equal(text_of(&sample->grid, CH_COLOURS_NONE, 130, &text, NULL), CH_OK);
    assert_null(strchr(text, '('));
    ch_string_free(text);
    assert_int_equal(text_of(&sample->grid, CH_COLOURS_NONE, 80, &text, NULL), CH_OK);
    assert_non_null(strstr(text, "(cells at half their width, to fit 80 columns)"));
    ch_string_free(text);
    assert_int_equal(text_of(&sample->grid, CH_COLOURS_NONE, 50, &text, NULL), CH_OK);
    assert_non_null(strstr(text, "(to fit 50 columns: each cell is the mean of 2"));
    ch_string_free(text);
    free(sample);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void test_refused(void **state) {
    char path[512], *text;
    ch_error error;
    struct sample *sample = sample_new(1, 7, 6, false);
    assert_int_equal(draw(&sample->grid, "x.jpg", &error), CH_USAGE);
    assert_string_equal(error.message, "cannot draw to 'x.jpg': expected a file name ending in .png, .pdf or .svg");
    assert_int_equal(draw(&sample->grid, "", &error), CH_USAGE);
    in_folder(*state, "map.png", path);
    sample->map[0].rows = 0;
    assert_int_equal(draw(&sample->grid, path, &error), CH_USAGE);
    assert_string_equal(error.message,
                        "cannot draw the map 'head 0': expected 1 to 1000000 rows and columns, found 0 x 6");
    assert_int_equal(text_of(&sample->grid, CH_COLOURS_NONE, 80, &text, &error), CH_USAGE);
    assert_null(text);
    sample->map[0].title = NULL;
    assert_int_equal(text_table(&sample->map[0], &text, &error), CH_USAGE);
    assert_null(text);
    sample->map[0].rows = 7;
    sample->grid.bar.high = 0;
    assert_int_equal(draw(&sample->grid, path, &error), CH_USAGE);
    assert_string_equal(error.message, "cannot draw: expected a bar from a low to a higher value, found 0 to 0");
    sample->grid.bar.high = (double)NAN;
    assert_int_equal(text_of(&sample->grid, CH_COLOURS_NONE, 80, &text, &error), CH_USAGE);
    sample->grid.bar.high = 1;
    sample->grid.count = 0;
    assert_int_equal(draw(&sample->grid, path, &error), CH_USAGE);
    assert_string_equal(error.message, "cannot draw: expected 1 to 256 maps in one picture, found 0");
    free(sample);
    assert_int_equal(empty_folder(*state), 0);

    struct heatmap many[257];
    float value = 1;
    for (int i = 0; i < 257; i++) many[i] = (struct heatmap){.rows = 1, .cols = 1, .value = &value};
    struct heatmap_grid grid = {.count = 257, .map = many, .bar = {0, 1, 0}};
    assert_int_equal(draw(&grid, path, &error), CH_USAGE);
    assert_non_null(strstr(error.message, "expected 1 to 256 maps in one picture, found 257"));
    grid.count = 256;
    assert_int_equal(draw(&grid, path, &error), CH_OK);
}

static void check_cannot_write(const struct heatmap_grid *grid, const char *path, const char *reason) {
    ch_error error = {.message = ""};
    char expected[1024];
    snprintf(expected, sizeof expected, "cannot write '%s': %s", path, reason);
    assert_int_equal(draw(grid, path, &error), CH_FAILED);
    assert_string_equal(error.message, expected);
}

static void test_unwritable(void **state) {
    char path[512];
    struct sample *sample = sample_new(1, 7, 6, false);
    check_cannot_write(&sample->grid, in_folder(*state, "missing/map.png", path), "No such file or directory");
    fclose(fopen(in_folder(*state, "file", path), "w"));
    check_cannot_write(&sample->grid, in_folder(*state, "file/map.svg", path), "Not a directory");
    assert_int_equal(empty_folder(*state), 1);
    mkdir(in_folder(*state, "folder.png", path), 0777);
    check_cannot_write(&sample->grid, path, "Is a directory");
    assert_int_equal(empty_folder(*state), 1); /* nothing beside the folder */
    if (geteuid() != 0) {                      /* root may write everywhere */
        assert_int_equal(chmod(*state, 0500), 0);
        check_cannot_write(&sample->grid, in_folder(*state, "map.png", path), "Permission denied");
        assert_int_equal(chmod(*state, 0700), 0);
        assert_int_equal(empty_folder(*state), 0);
    }
    free(sample);
}

/* What another process that died left behind is in nobody's way, and is left alone. */
static void test_stale_temporary(void **state) {
    char path[512], name[64];
    struct sample *sample = sample_new(1, 7, 6, false);
    snprintf(name, sizeof name, ".picture-%ld-0.tmp", (long)getpid());
    fclose(fopen(in_folder(*state, name, path), "w"));
    assert_int_equal(draw(&sample->grid, in_folder(*state, "map.png", path), NULL), CH_OK);
    struct picture picture = picture_open(path);
    cairo_surface_destroy(picture.surface);
    assert_int_equal(empty_folder(*state), 2);
    free(sample);
}

/* What a death in the middle of the same picture left goes when it is drawn again. */
static void test_leftover(void **state) {
    char path[512], name[600];
    int lock, how;
    struct sample *sample = sample_new(1, 7, 6, false);
    in_folder(*state, "map.png", path);
    pid_t child = fork();
    if (child == 0) {
        (void)!write(temporary_open(path, name, &lock), "half", 4);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    assert_int_equal(draw(&sample->grid, in_folder(*state, "map.svg", path), NULL), CH_OK); /* another picture */
    assert_int_equal(draw(&sample->grid, in_folder(*state, "map.png", path), NULL), CH_OK);
    assert_int_equal(empty_folder(*state), 2);
    free(sample);
}

/* A file that must not grow behaves like a disk that fills: the picture of before stays, and nothing else. */
static void test_full_disk(void **state) {
    static const char *const names[] = {"map.png", "map.pdf", "map.svg"};
    char path[512];
    size_t size, after;
    struct sample *sample = sample_new(1, 7, 6, false);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(draw(&sample->grid, in_folder(*state, names[i], path), NULL), CH_OK);
        char *before = read_file(path, &size);
        struct rlimit limit, tight;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        tight = (struct rlimit){1000, limit.rlim_max};
        void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        ch_error error = {.message = ""};
        ch_status status = draw(&sample->grid, path, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        signal(SIGXFSZ, handler);
        assert_int_equal(status, CH_FAILED);
        assert_non_null(strstr(error.message, "': File too large"));
        char *now = read_file(path, &after);
        assert_int_equal(size, after);
        assert_memory_equal(before, now, size);
        free(before);
        free(now);
        assert_int_equal(empty_folder(*state), 1);
    }
    free(sample);
}

static int calls_left; /* until the allocator fails */

static void *scarce(size_t bytes) {
    return calls_left-- > 0 ? malloc(bytes) : NULL;
}

static void *scarce_again(void *old, size_t bytes) {
    return calls_left-- > 0 ? realloc(old, bytes) : NULL;
}

/* Fails the first allocation, then the second, ... until the call succeeds. */
static void test_without_memory(void **state) {
    char path[512], *text;
    struct sample *sample = sample_new(2, 7, 6, true);
    in_folder(*state, "map.svg", path);
    for (int what = 0; what < 3; what++) {
        ch_status status = CH_NO_MEMORY;
        int failures = 0;
        for (; status != CH_OK; failures++) {
            ch_error error = {.message = ""};
            ch_set_allocator(scarce, scarce_again, free);
            calls_left = failures;
            status = what == 0   ? draw(&sample->grid, path, &error)
                     : what == 1 ? text_of(&sample->grid, CH_COLOURS_16, 80, &text, &error)
                                 : text_table(sample->map, &text, &error);
            if (status == CH_OK && what > 0) ch_string_free(text);
            ch_set_allocator(NULL, NULL, NULL);
            if (status == CH_OK) break;
            assert_int_equal(status, CH_NO_MEMORY);
            assert_int_equal(strncmp(error.message, "out of memory for ", 18), 0);
            if (what == 0) assert_int_equal(empty_folder(*state), 0);
        }
        assert_true(failures > 2);
    }
    free(sample);
}

/* Fontconfig keeps what cairo caches of it behind offsets instead of pointers, which a leak checker cannot see. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libfontconfig";
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_fonts), /* first: before fontconfig is loaded */
        cmocka_unit_test(test_png_cells),
        cmocka_unit_test(test_png_numbers),
        cmocka_unit_test(test_pictures_are_deterministic),
        cmocka_unit_test(test_svg_ids),
        cmocka_unit_test(test_svg),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_text_fits),
        cmocka_unit_test(test_text_says_how_it_shrank),
        cmocka_unit_test_setup_teardown(test_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_unwritable, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_stale_temporary, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_leftover, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_full_disk, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_without_memory, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
