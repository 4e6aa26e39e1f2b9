/* Pictures and text of a look: joins the maps, which know nothing of drawing, with the plots, which know nothing of
 * models. */
#include "base/memory.h"
#include "inspect/attention.h"
#include "plot/heatmap.h"

#include <stdio.h>
#include <string.h>

enum { TITLE = 48 };

/* A grid and the memory behind it. */
struct view {
    struct heatmap_grid grid;
    struct heatmap *map;
    const char **row, **column;
    char (*map_title)[TITLE];
    char title[TITLE];
};

static void view_free(struct view *view) {
    mem_free(view->map);
    mem_free(view->row);
    mem_free(view->column);
    mem_free(view->map_title);
}

static const char **labels(const ch_vocab *vocab, const int *token, int count) {
    const char **label = mem_new((size_t)count, sizeof *label);
    for (int i = 0; label && i < count; i++) label[i] = ch_vocab_text(vocab, token[i]);
    return label;
}

/* Resolves -1 (the last layer, all heads) and checks the rest. */
static ch_status select_maps(const ch_attention *a, const ch_plot_options *options, int *layer, int *first, int *count,
                             ch_error *error) {
    *layer = options->layer < 0 ? a->layers - 1 : options->layer;
    if (*layer >= a->layers)
        return fail(error, CH_USAGE, "layer: expected 0 to %d, found %d", a->layers - 1, options->layer);
    if (options->head >= a->heads[*layer])
        return fail(error, CH_USAGE, "head: expected 0 to %d in layer %d, found %d", a->heads[*layer] - 1, *layer,
                    options->head);
    *first = options->head < 0 ? 0 : options->head;
    *count = options->head < 0 ? a->heads[*layer] : 1;
    return CH_OK;
}

static ch_status view_new(struct view *view, const ch_attention *a, const ch_plot_options *options, ch_error *error) {
    int layer = 0, first = 0, count = 0;
    *view = (struct view){0};
    ch_status status = select_maps(a, options, &layer, &first, &count, error);
    if (status != CH_OK) return status;
    view->map = mem_new((size_t)count, sizeof *view->map);
    view->map_title = mem_new((size_t)count, sizeof *view->map_title);
    view->row = labels(a->vocab, a->generated, a->rows);
    view->column = labels(a->vocab, a->source, a->columns);
    if (!view->map || !view->map_title || !view->row || !view->column) {
        view_free(view);
        return fail_memory(error, "the map's labels");
    }
    for (int i = 0; i < count; i++) {
        snprintf(view->map_title[i], TITLE, "layer %d, head %d", layer, first + i);
        view->map[i] = (struct heatmap){.rows = a->rows,
                                        .cols = a->columns,
                                        .value = ch_attention_map(a, layer, first + i),
                                        .row_label = view->row,
                                        .col_label = view->column,
                                        .title = view->map_title[i]};
    }
    snprintf(view->title, TITLE, "Cross-attention, layer %d", layer);
    view->grid = (struct heatmap_grid){.count = count,
                                       .map = view->map,
                                       .x_axis = "source position",
                                       .y_axis = "generated token",
                                       .title = view->title,
                                       .low = 0,
                                       .high = 1};
    return CH_OK;
}

ch_status ch_plot_attention(const ch_attention *a, const ch_plot_options *options, const char *path, ch_error *error) {
    struct view view;
    ch_status status = view_new(&view, a, options, error);
    if (status != CH_OK) return status;
    status = plot_heatmaps(&view.grid, path, error);
    view_free(&view);
    return status;
}

ch_status ch_text_attention(const ch_attention *a, const ch_plot_options *options, char **text, ch_error *error) {
    enum { DEFAULT_COLUMNS = 80 };
    struct view view;
    *text = NULL;
    ch_status status = view_new(&view, a, options, error);
    if (status != CH_OK) return status;
    status =
        text_heatmap(&view.grid, options->colours, options->columns ? options->columns : DEFAULT_COLUMNS, text, error);
    view_free(&view);
    return status;
}

/* Appends one table, under its title where there are several. */
static bool append(char **all, size_t *length, const char *title, const char *table) {
    size_t capacity = *length, more = strlen(title) + strlen(table) + 3;
    if (!mem_grow((void **)all, &capacity, *length + more, 1)) return false;
    *length += (size_t)sprintf(*all + *length, "%s%s%s", title, *title ? "\n" : "", table);
    return true;
}

ch_status ch_text_numbers(const ch_attention *a, const ch_plot_options *options, char **text, ch_error *error) {
    struct view view;
    char *all = NULL;
    size_t length = 0;
    *text = NULL;
    ch_status status = view_new(&view, a, options, error);
    for (int i = 0; status == CH_OK && i < view.grid.count; i++) {
        char *table;
        status = text_table(&view.map[i], &table, error);
        if (status != CH_OK) break;
        if (!append(&all, &length, view.grid.count > 1 ? view.map[i].title : "", table))
            status = fail_memory(error, "the numbers");
        mem_free(table);
    }
    view_free(&view);
    if (status == CH_OK)
        *text = all;
    else
        mem_free(all);
    return status;
}
