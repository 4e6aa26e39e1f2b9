/* Attention of a look: maps of one layer, as a figure and as numbers. */
#include "api/figure.h"
#include "base/memory.h"
#include "base/text.h"
#include "inspect/attention.h"
#include "plot/heatmap.h"

#include <stdio.h>
#include <string.h>

enum { TITLE = 48, ONE_MAP = 560, GRID = 900 /* units of width */ };

struct attention_figure {
    struct ch_figure figure;
    struct panel panel;
    struct heatmap_grid grid;
    struct heatmap *map;
    const char **row, **column;
    char (*map_title)[TITLE];
    char title[TITLE];
};

static void release(struct ch_figure *figure) {
    struct attention_figure *f = (struct attention_figure *)figure;
    mem_free(f->map);
    mem_free(f->row);
    mem_free(f->column);
    mem_free(f->map_title);
    mem_free(f);
}

static const char **labels(const ch_vocab *vocab, ch_sequence tokens) {
    const char **label = mem_new(tokens.length, sizeof *label);
    for (size_t i = 0; label && i < tokens.length; i++) label[i] = ch_vocab_text(vocab, tokens.tokens[i]);
    return label;
}

/* Which maps are asked for. */
struct selection {
    int layer, first, count;
};

/* Resolves -1 (the last layer, all heads) and checks the rest. */
static ch_status select_maps(const ch_attention *a, int layer, int head, struct selection *selection, ch_error *error) {
    int chosen = layer < 0 ? a->layers - 1 : layer;
    char range[TEXT_RANGE];
    if (chosen >= a->layers)
        return fail(error, CH_USAGE, "layer: expected %s, found %d", text_range(0, a->layers - 1, range), layer);
    if (head >= a->heads[chosen])
        return fail(error, CH_USAGE, "head: expected %s in layer %d, found %d",
                    text_range(0, a->heads[chosen] - 1, range), chosen, head);
    *selection = (struct selection){chosen, head < 0 ? 0 : head, head < 0 ? a->heads[chosen] : 1};
    return CH_OK;
}

/* Of self-attention; the words for cross-attention are the lesson's. */
static const char query[] = "query", key[] = "key";

static void fill_maps(struct attention_figure *f, const ch_attention *a, struct selection selection) {
    bool cross = ch_attention_is_cross(a);
    for (int i = 0; i < selection.count; i++) {
        snprintf(f->map_title[i], TITLE, "layer %d, head %d", selection.layer, selection.first + i);
        f->map[i] = (struct heatmap){.rows = a->rows,
                                     .cols = a->columns,
                                     .value = ch_attention_map(a, selection.layer, selection.first + i),
                                     .row_label = f->row,
                                     .col_label = f->column,
                                     .title = f->map_title[i],
                                     .row_word = cross ? NULL : query,
                                     .col_word = cross ? NULL : "key:"};
    }
    f->grid = (struct heatmap_grid){.count = selection.count,
                                    .map = f->map,
                                    .x_axis = cross ? "source position" : key,
                                    .y_axis = cross ? "generated token" : query,
                                    .bar = {0, 1, false}};
}

static ch_status new_figure(const ch_attention *a, int layer, int head, struct attention_figure **out,
                            ch_error *error) {
    struct selection selection = {0};
    *out = NULL;
    ch_status status = select_maps(a, layer, head, &selection, error);
    if (status != CH_OK) return status;
    struct attention_figure *f = mem_new(1, sizeof *f);
    if (!f) return fail_memory(error, "a figure");
    f->map = mem_new((size_t)selection.count, sizeof *f->map);
    f->map_title = mem_new((size_t)selection.count, sizeof *f->map_title);
    f->row = labels(a->vocab, ch_attention_rows(a));
    f->column = labels(a->vocab, ch_attention_columns(a));
    if (!f->map || !f->map_title || !f->row || !f->column) {
        release(&f->figure);
        return fail_memory(error, "the map's labels");
    }
    fill_maps(f, a, selection);
    snprintf(f->title, TITLE, "%s-attention, layer %d", ch_attention_is_cross(a) ? "Cross" : "Self", selection.layer);
    f->panel = (struct panel){&panel_maps, &f->grid, true};
    f->figure = (struct ch_figure){.page = {f->title, selection.count > 1 ? GRID : ONE_MAP, 1, 1, &f->panel},
                                   .release = release};
    *out = f;
    return CH_OK;
}

ch_status ch_figure_attention(const ch_attention *a, int layer, int head, ch_figure **out, ch_error *error) {
    ch_assert(a && out);
    struct attention_figure *f;
    ch_status status = new_figure(a, layer, head, &f, error);
    *out = status == CH_OK ? &f->figure : NULL;
    return status;
}

/* ---- numbers ---- */

/* Appends one table, under its title where there are several. */
static bool append(char **all, size_t *length, const char *title, const char *table) {
    size_t capacity = *length, more = strlen(title) + strlen(table) + 3;
    if (!mem_grow((void **)all, &capacity, *length + more, 1)) return false;
    *length += (size_t)sprintf(*all + *length, "%s%s%s", title, *title ? "\n" : "", table);
    return true;
}

ch_status ch_text_numbers(const ch_attention *a, int layer, int head, char **text, ch_error *error) {
    ch_assert(a && text);
    struct attention_figure *f;
    char *all = NULL;
    size_t length = 0;
    *text = NULL;
    ch_status status = new_figure(a, layer, head, &f, error);
    if (status != CH_OK) return status;
    for (int i = 0; status == CH_OK && i < f->grid.count; i++) {
        char *table;
        status = text_table(&f->map[i], &table, error);
        if (status != CH_OK) break;
        if (!append(&all, &length, f->grid.count > 1 ? f->map[i].title : "", table))
            status = fail_memory(error, "the numbers");
        mem_free(table);
    }
    release(&f->figure);
    if (status == CH_OK)
        *text = all;
    else
        mem_free(all);
    return status;
}
