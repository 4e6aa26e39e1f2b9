/* What pictures and terminal text are made of, and small maps as text, to the letter. */
#include "plot/canvas.h"
#include "plot/colour.h"
#include "plot/heatmap.h"
#include "plot/label.h"
#include "plot/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

/* ---- colours and labels ---------------------------------------------------------------------- */

static void test_colour_map(void **state) {
    (void)state;
    struct colour first = colour_of(COLOUR_RISING, 0), last = colour_of(COLOUR_RISING, 1),
                  nothing = colour_of(COLOUR_RISING, (double)NAN);
    assert_int_equal(first.red << 16 | first.green << 8 | first.blue, 0x440154);
    assert_int_equal(last.red << 16 | last.green << 8 | last.blue, 0xfde725);
    struct colour below = colour_of(COLOUR_RISING, -3), above = colour_of(COLOUR_RISING, (double)INFINITY);
    assert_memory_equal(&below, &first, sizeof first);
    assert_memory_equal(&above, &last, sizeof last);
    double luminance = -1;
    for (int i = 0; i <= 64; i++) { /* finer, and rounding to 8 bits may take back a step */
        struct colour colour = colour_of(COLOUR_RISING, i / 64.0);
        assert_true(colour_luminance(colour) > luminance);
        luminance = colour_luminance(colour);
        assert_true(memcmp(&colour, &nothing, sizeof colour) != 0);
    }
    assert_false(colour_wants_black(first));
    assert_true(colour_wants_black(last));
}

/* Every 15th of the 256 colours that its authors published: straight lines between 33 of them stay within 2/255. */
static void test_colour_map_is_viridis(void **state) {
    (void)state;
    static const uint32_t published[] = {0x440154, 0x481769, 0x472a7a, 0x433d84, 0x3d4e8a, 0x355e8d,
                                         0x2e6d8e, 0x297b8e, 0x23898e, 0x1f978b, 0x21a585, 0x2eb37c,
                                         0x46c06f, 0x65cb5e, 0x89d548, 0xb0dd2f, 0xd8e219, 0xfde725};
    for (int i = 0; i < 18; i++) {
        struct colour colour = colour_of(COLOUR_RISING, i * 15 / 255.0);
        assert_in_range(colour.red + 2 - (int)(published[i] >> 16), 0, 4);
        assert_in_range(colour.green + 2 - (int)(published[i] >> 8 & 0xFF), 0, 4);
        assert_in_range(colour.blue + 2 - (int)(published[i] & 0xFF), 0, 4);
    }
}

static void test_256_colours(void **state) {
    (void)state;
    assert_int_equal(colour_in_256((struct colour){0, 0, 0}), 16);
    assert_int_equal(colour_in_256((struct colour){255, 255, 255}), 231);
    assert_int_equal(colour_in_256((struct colour){95, 175, 255}), 16 + 36 * 1 + 6 * 3 + 5);
    assert_int_equal(colour_in_256((struct colour){128, 128, 128}), 244);
}

static void check_label(const char *text, int most, enum label_set set, const char *expected, int width) {
    struct label label = label_clean(text, most, set);
    assert_string_equal(label.text, expected);
    assert_int_equal(label.width, width);
}

static void test_labels(void **state) {
    (void)state;
    check_label("token", 16, LABEL_UTF8, "token", 5);
    check_label("token", 5, LABEL_UTF8, "token", 5);
    check_label("token", 4, LABEL_UTF8, "tok…", 4);
    check_label("token", 4, LABEL_ASCII, "tok~", 4);
    check_label("token", 1, LABEL_UTF8, "…", 1);
    check_label("token", 0, LABEL_UTF8, "", 0);
    check_label(NULL, 9, LABEL_UTF8, "", 0);
    check_label("a\nb\x1b[m\x7f", 40, LABEL_UTF8, "a\\x0ab\\x1b[m\\x7f", 16);
    check_label("\xE2\x80\xAEx", 40, LABEL_ASCII, "\\u202ex", 7);
    check_label("\xC2\x9B", 40, LABEL_UTF8, "\\u009b", 6);
    check_label("a\xff", 40, LABEL_UTF8, "a\xEF\xBF\xBD", 2);
    check_label("\xC0\xAF\xE6\x97", 40, LABEL_ASCII, "????", 4);                /* overlong; cut short */
    check_label("\xED\xA0\x80", 40, LABEL_ASCII, "???", 3);                     /* a surrogate */
    check_label("\xEF\xBF\xBE\xF4\x90\x80\x80", 40, LABEL_ASCII, "???????", 7); /* no character; beyond the last */
    check_label("日本語", 40, LABEL_UTF8, "日本語", 6);
    check_label("日本語", 4, LABEL_UTF8, "日…", 3);
    check_label("u\xCC\x88", 1, LABEL_UTF8, "u\xCC\x88", 1);
    check_label("u\xCC\x88", 1, LABEL_ASCII, "u", 1);
    char marks[4001] = "a"; /* marks without end sit on one column, but not in endless bytes */
    for (int i = 1; i < 3998; i += 2) memcpy(marks + i, "\xCC\x88", 3);
    assert_true(strlen(label_clean(marks, 5, LABEL_UTF8).text) < LABEL_BYTES);
    assert_string_equal(label_at(NULL, 12, 9, LABEL_UTF8).text, "12");
}

static void check_number(double value, const char *expected) {
    char text[NUMBER_BYTES];
    number_text(value, text);
    assert_string_equal(text, expected);
}

static void test_numbers(void **state) {
    (void)state;
    check_number(0.876, "0.88");
    check_number(-0.001, "0.00");
    check_number(-0.5, "-0.50");
    check_number((double)NAN, "?");
    check_number((double)INFINITY, "inf");
    check_number(3e38, "3e+38");
}

static void test_means(void **state) {
    (void)state;
    static const float value[] = {0, 2, 4, 1, 3, -9, NAN, NAN, INFINITY}; /* the bar is 0..4 */
    struct heatmap map = {.rows = 3, .cols = 3, .value = value};
    struct heatmap_grid grid = {.count = 1, .map = &map, .bar = {0, 4, false}};
    struct cell_step step = {2, 2};
    assert_true(heatmap_cell(&grid, &map, 0, 0, step) == 1.5 / 4); /* of 0, 2, 1, 3 */
    assert_true(heatmap_cell(&grid, &map, 0, 2, step) == 0.5);     /* of 4 and -9, which counts as 0 */
    assert_true(isnan(heatmap_cell(&grid, &map, 2, 0, step)));
    assert_true(heatmap_cell(&grid, &map, 2, 2, step) == 1);
    grid.sampled = true;
    assert_true(heatmap_cell(&grid, &map, 0, 1, step) == 0.5); /* the first of them alone */
    grid.bar = (struct scale){1, 4, true};
    assert_true(heatmap_cell(&grid, &map, 0, 1, step) == 0.5); /* 2 lies half way from 1 to 4 */
    assert_true(isnan(heatmap_cell(&grid, &map, 0, 0, step))); /* 0 nowhere */
}

/* ---- lines -------------------------------------------------------------------------------------- */

static void check_wrap(const char *text, int room, enum label_set set, const char *expected) {
    struct label line[3];
    char all[256] = "";
    int count = label_wrap(text, set, room, label_columns, NULL, line, 3);
    for (int i = 0; i < count; i++) {
        assert_true(line[i].width <= room && line[i].width == (int)label_columns(line[i].text, NULL));
        strcat(strcat(all, i ? "|" : ""), line[i].text);
    }
    assert_string_equal(all, expected);
}

static void test_wrapping(void **state) {
    (void)state;
    check_wrap(NULL, 5, LABEL_UTF8, "");
    check_wrap("", 5, LABEL_UTF8, "");
    check_wrap("a title", 7, LABEL_UTF8, "a title");
    check_wrap("norm of the gradient", 11, LABEL_UTF8, "norm of the|gradient");
    check_wrap("norm of the  gradient", 13, LABEL_UTF8, "norm of the|gradient");
    check_wrap("runs/a/longname", 8, LABEL_UTF8, "runs/a/|longname");
    check_wrap("abcdefgh", 3, LABEL_UTF8, "abc|def|gh");
    check_wrap("abcdefghij", 3, LABEL_UTF8, "abc|def|gh…");
    check_wrap("abcdefghij", 3, LABEL_ASCII, "abc|def|gh~");
    check_wrap("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 5, LABEL_UTF8, "\xE6\x97\xA5\xE6\x9C\xAC|\xE8\xAA\x9E");
}

/* Drawn lines hold all of the text, and none is wider than its room. */
static void test_drawn_lines_fit(void **state) {
    (void)state;
    static const char text[] = "runs/of a week/with a name that no panel of four hundred pixels has room for";
    size_t all = 0;
    for (const char *at = text; *at; at++) all += *at != ' ';
    cairo_t *cr = canvas_new_for_measuring(0.76);
    for (double room = 180; room < 700; room += 37) {
        struct label line[CANVAS_LINES];
        int count = canvas_wrap(cr, text, SIZE_PANEL, room, line);
        size_t letters = 0;
        assert_true(count >= 1);
        for (int i = 0; i < count; i++) {
            assert_true(canvas_text_width(cr, line[i].text, SIZE_PANEL) <= room);
            for (const char *at = line[i].text; *at; at++) letters += *at != ' ';
        }
        assert_int_equal(letters, all);
        assert_true(canvas_lines_height(cr, text, SIZE_PANEL, room) >= count * SIZE_PANEL);
    }
    cairo_destroy(cr);
}

/* ---- columns with places ---------------------------------------------------------------------- */

static void check_columns(const struct heatmap_grid *grid, const struct heatmap *map, const char *expected) {
    int cells = heatmap_cells(grid, map, (struct cell_step){1, 1}, 10);
    assert_int_equal(cells, strlen(expected));
    for (int c = 0; c < cells; c++) {
        int column = heatmap_column(grid, map, c, (struct cell_step){1, 1}, 10);
        assert_int_equal(column < 0 ? '.' : '0' + column, expected[c]);
    }
}

/* Ten cells over an axis from 0 to 100: their middles are 5, 15, ..., 95. */
static void test_places(void **state) {
    (void)state;
    static const float value[4] = {0, 0, 0, 0};
    static const int64_t whole[] = {1, 20, 60, 100}, part[] = {1, 41}, late[] = {60, 80, 100}, one[] = {1};
    struct heatmap map[] = {{.rows = 1, .cols = 4, .value = value, .place = whole},
                            {.rows = 1, .cols = 2, .value = value, .place = part},
                            {.rows = 1, .cols = 3, .value = value, .place = late},
                            {.rows = 1, .cols = 1, .value = value, .place = one}};
    struct heatmap_grid grid = {.count = 4, .map = map, .bar = {0, 1, false}, .end = 100, .x_axis = "step"};
    check_columns(&grid, &map[0], "0111222233");
    check_columns(&grid, &map[1], "00111");      /* ends where its last column stands */
    check_columns(&grid, &map[2], "....000112"); /* nothing is known long before the first */
    check_columns(&grid, &map[3], "0");
    assert_true(isnan(heatmap_cell(&grid, &map[2], 0, -1, (struct cell_step){1, 1})));
    struct ticks ticks = heatmap_ticks(&grid, 6);
    assert_string_equal(ticks.text[ticks.count - 1], "100");
    grid.end = 2; /* whole numbers only */
    assert_int_equal(heatmap_ticks(&grid, 8).count, 3);
}

/* ---- maps as text ---------------------------------------------------------------------------- */

static void test_table_of_the_lesson(void **state) {
    (void)state;
    static const float value[] = {
        0.01f, 0.01f, 0.02f, 0.03f, 0.05f, 0.88f, 0.01f, 0.02f, 0.03f, 0.06f, 0.85f, 0.03f,
        0.02f, 0.03f, 0.05f, 0.84f, 0.04f, 0.02f, 0.03f, 0.06f, 0.83f, 0.04f, 0.02f, 0.02f,
        0.05f, 0.86f, 0.04f, 0.02f, 0.02f, 0.01f, 0.87f, 0.05f, 0.03f, 0.02f, 0.02f, 0.01f,
    };
    static const char *const generated[] = {"6", "4", "0", "9", "2", "7"};
    static const char *const source[] = {"7", "2", "9", "0", "4", "6"};
    struct heatmap map = {
        .rows = 6, .cols = 6, .value = value, .row_label = generated, .col_label = source, .title = "head 0"};
    char *text;
    assert_int_equal(text_table(&map, &text, NULL), CH_OK);
    assert_string_equal(text, "              src:  7     2     9     0     4     6\n"
                              "generated 6         0.01  0.01  0.02  0.03  0.05  0.88\n"
                              "generated 4         0.01  0.02  0.03  0.06  0.85  0.03\n"
                              "generated 0         0.02  0.03  0.05  0.84  0.04  0.02\n"
                              "generated 9         0.03  0.06  0.83  0.04  0.02  0.02\n"
                              "generated 2         0.05  0.86  0.04  0.02  0.02  0.01\n"
                              "generated 7         0.87  0.05  0.03  0.02  0.02  0.01\n");
    ch_string_free(text);
}

static void test_table_of_longer_labels(void **state) {
    (void)state;
    static const float value[] = {0.5f, NAN, -0.25f, 1000000};
    static const char *const generated[] = {"incomprehensibilities", "<eos>"}, *const source[] = {"attention", "是"};
    struct heatmap map = {
        .rows = 2, .cols = 2, .value = value, .row_label = generated, .col_label = source, .title = NULL};
    char *text;
    assert_int_equal(text_table(&map, &text, NULL), CH_OK);
    assert_string_equal(text, "                      src:  attention  是\n"
                              "generated incomprehensibi…  0.50       ?\n"
                              "generated <eos>             -0.25      1e+06\n");
    ch_string_free(text);
}

static void test_plain_text(void **state) {
    (void)state;
    static const float value[] = {0, 0.25f, 1, 0.5f, NAN, 0.999f};
    static const char *const row[] = {"a", "eos"}, *const col[] = {"7", "12", "x"};
    struct heatmap map[2] = {
        {.rows = 2, .cols = 3, .value = value, .row_label = row, .col_label = col, .title = "head 0"},
        {.rows = 2, .cols = 3, .value = value, .row_label = row, .col_label = col, .title = "head 1"}};
    struct heatmap_grid grid = {
        .count = 2, .map = map, .x_axis = "source position", .y_axis = "generated token", .bar = {0, 1, false}};
    struct panel panel = {&panel_maps, &grid, true};
    struct page page = {"layer 1", 900, 1, 1, &panel};
    char *text;
    assert_int_equal(page_text(&page, CH_COLOURS_NONE, 40, &text, NULL), CH_OK);
    assert_string_equal(text, "layer 1\n"
                              "\n"
                              "head 0       head 1\n"
                              "      1            1\n"
                              "    7 2 x        7 2 x\n"
                              "  a   ::@@     a   ::@@\n"
                              "eos ++??@@   eos ++??@@\n"
                              "\n"
                              "columns: source position\n"
                              "rows: generated token\n"
                              "0 [  ..::--==++**##%%@@] 1\n");
    ch_string_free(text);
    assert_int_equal(page_text(&page, CH_COLOURS_TRUE, 40, &text, NULL), CH_OK);
    const char *cells =
        "  a \x1b[0;30;48;2;68;1;84m  \x1b[0;30;48;2;59;82;139m  \x1b[0;30;48;2;253;231;37m  \x1b[0m   ";
    assert_non_null(strstr(text, cells));
    assert_non_null(strstr(text, "m??\x1b"));
    ch_string_free(text);
    assert_int_equal(page_text(&page, CH_COLOURS_16, 40, &text, NULL), CH_OK);
    assert_non_null(strstr(text, "  a \x1b[0;34;40m  \x1b[0;36;44m  \x1b[0;93;103m  \x1b[0m   "));
    ch_string_free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colour_map),
        cmocka_unit_test(test_colour_map_is_viridis),
        cmocka_unit_test(test_256_colours),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_wrapping),
        cmocka_unit_test(test_drawn_lines_fit),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_table_of_the_lesson),
        cmocka_unit_test(test_table_of_longer_labels),
        cmocka_unit_test(test_plain_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
