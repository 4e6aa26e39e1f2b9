/*
 * A map as numbers, in the layout and with the words of the lesson:
 *
 *               src:  7     2     9     0     4     6
 * generated 6         0.01  0.01  0.02  0.03  0.05  0.88
 */
#include "base/error.h"
#include "plot/heatmap.h"
#include "plot/label.h"
#include "plot/text_out.h"

#include <string.h>

enum { GAP = 2, LONGEST = 16, LEAST_STUB = 20 };

struct table {
    const struct heatmap *map;
    const char *row_word, *corner;
    int stub;   /* columns before the first number */
    int column; /* of one number and the gap behind it */
};

static int wider(int a, int b) {
    return a > b ? a : b;
}

static struct table measure(const struct heatmap *map) {
    int row = 0, col = 0;
    for (int r = 0; r < map->rows; r++) row = wider(row, label_at(map->row_label, r, LONGEST, LABEL_UTF8).width);
    for (int c = 0; c < map->cols; c++) col = wider(col, label_at(map->col_label, c, LONGEST, LABEL_UTF8).width);
    size_t count = (size_t)map->rows * (size_t)map->cols;
    for (size_t i = 0; i < count; i++) {
        char number[NUMBER_BYTES];
        number_text((double)map->value[i], number);
        col = wider(col, (int)strlen(number));
    }
    struct table table = {.map = map,
                          .row_word = map->row_word ? map->row_word : "generated",
                          .corner = map->col_word ? map->col_word : "src:",
                          .column = col + GAP};
    table.stub = wider(LEAST_STUB, (int)strlen(table.row_word) + 1 + row + GAP);
    return table;
}

static void put_heading(struct text_out *out, const struct table *table) {
    int corner = (int)strlen(table->corner);
    text_out_pad(out, table->stub - GAP - corner);
    text_out_add(out, table->corner, corner);
    for (int c = 0; c < table->map->cols; c++) {
        struct label label = label_at(table->map->col_label, c, LONGEST, LABEL_UTF8);
        if (label.width) text_out_pad(out, table->stub + c * table->column);
        text_out_add(out, label.text, label.width);
    }
    text_out_newline(out);
}

static void put_row(struct text_out *out, const struct table *table, int row) {
    const struct heatmap *map = table->map;
    struct label label = label_at(map->row_label, row, LONGEST, LABEL_UTF8);
    text_out_add(out, table->row_word, (int)strlen(table->row_word));
    text_out_add(out, " ", 1);
    text_out_add(out, label.text, label.width);
    for (int c = 0; c < map->cols; c++) {
        char number[NUMBER_BYTES];
        number_text((double)map->value[(size_t)row * (size_t)map->cols + (size_t)c], number);
        text_out_pad(out, table->stub + c * table->column);
        text_out_add(out, number, (int)strlen(number));
    }
    text_out_newline(out);
}

ch_status text_table(const struct heatmap *map, char **out, ch_error *error) {
    *out = NULL;
    ch_status status = heatmap_check(map, error);
    if (status) return status;
    struct table table = measure(map);
    struct text_out text = {0};
    put_heading(&text, &table);
    for (int r = 0; r < map->rows; r++) put_row(&text, &table, r);
    return text_out_finish(&text, out, error);
}
