/*
 * The table of positions: the lesson's "checked by plotting it". What to see: the first dimensions turn fast, the last
 * hardly move, each pair is a sine and its cosine, and no two rows are alike.
 */
#include "api/figure.h"
#include "base/memory.h"
#include "model/model.h"
#include "plot/chart.h"
#include "plot/heatmap.h"

#include <stdio.h>

enum { LINES = 4, NAME = 32, WIDTH = 900, TITLE = 96, LINE_POINTS = 128 /* of a line: more would be a blur */ };

struct positions_figure {
    struct ch_figure figure;
    struct panel panel[3];
    struct params params;
    float *value;
    double *x, *y; /* (positions); (LINES, positions); the first of them */
    struct heatmap map;
    struct heatmap_grid grid;
    struct series line[LINES];
    char name[LINES][NAME];
    struct chart chart;
    struct key key;
    char title[TITLE], x_axis[NAME];
};

static void release(struct ch_figure *figure) {
    struct positions_figure *f = (struct positions_figure *)figure;
    params_free(&f->params);
    mem_free(f->value);
    mem_free(f->x);
    mem_free(f->y);
    mem_free(f);
}

static ch_status make_table(const ch_recipe *recipe, struct params *params, const struct param **row, ch_error *error) {
    struct position position;
    struct position_sizes sizes = {.width = (int)recipe->d_model,
                                   .max_positions = (int)recipe->max_positions,
                                   .d_head = recipe_d_head(recipe),
                                   .rope = recipe->rope};
    ch_status status = position_declare(&position, recipe->position, params, &sizes, error);
    if (status == CH_OK) status = params_commit(params, error);
    if (status == CH_OK) /* the table, the map and the lines */
        status = memory_check("a figure of these positions needs", mem_times(params->block, 3 * sizeof(double)), error);
    if (status == CH_OK) status = params_allocate(params, error);
    if (status != CH_OK) return status;
    position_fill(&position, params);
    *row = &params->row[position.table];
    return CH_OK;
}

/* Even dimensions spread over the first `span`, each slower than the last: sines, or the cosines of rotary tables. */
static int dimension_of(int line, int span) {
    static const double share[LINES] = {0, 0.125, 0.25, 0.5};
    return (int)(share[line] * span) / 2 * 2;
}

static void fill_lines(struct positions_figure *f, const real *table, int count, int positions, int width, int span) {
    int lines = 0;
    for (int i = 0; i < LINES; i++) {
        int dimension = dimension_of(i, span);
        if (i > 0 && dimension == dimension_of(i - 1, span)) continue; /* a narrow table has fewer */
        double *y = f->y + (size_t)lines * (size_t)count;
        for (int p = 0; p < count; p++) y[p] = (double)table[(size_t)p * (size_t)width + (size_t)dimension];
        snprintf(f->name[lines], NAME, "dimension %d", dimension);
        f->line[lines] = (struct series){.name = f->name[lines], .count = count, .x = f->x, .y = y, .style = lines};
        lines++;
    }
    for (int p = 0; p < count; p++) f->x[p] = p;
    snprintf(f->x_axis, NAME, count < positions ? "position (the first %d)" : "position", count);
    f->chart = (struct chart){.x_axis = f->x_axis, .y_axis = "value", .series_count = lines, .series = f->line};
    f->key = (struct key){lines, f->line};
}

static ch_status fill(struct positions_figure *f, const ch_recipe *recipe, ch_error *error) {
    const struct param *row;
    ch_status status = make_table(recipe, &f->params, &row, error);
    if (status != CH_OK) return status;
    bool rotary = recipe->position->rotary;
    int width = (int)row->shape[row->rank - 1], count = (int)recipe->max_positions;
    int line = count < LINE_POINTS ? count : LINE_POINTS;
    const real *table = f->params.value + row->offset;
    f->value = mem_new(row->count, sizeof *f->value);
    f->x = mem_new((size_t)line, sizeof *f->x);
    f->y = mem_new((size_t)line, LINES * sizeof *f->y);
    if (!f->value || !f->x || !f->y) return fail_memory(error, "a figure");
    for (size_t i = 0; i < row->count; i++) f->value[i] = (float)table[i];
    f->map = (struct heatmap){.rows = count, .cols = width, .value = f->value};
    f->grid = (struct heatmap_grid){.count = 1,
                                    .map = &f->map,
                                    .x_axis = rotary ? "dimension: cosines, then sines" : "dimension",
                                    .y_axis = "position",
                                    .bar = {-1, 1, false},
                                    .colours = COLOUR_DIVERGING,
                                    .aspect = 1,
                                    .sampled = true};
    fill_lines(f, table, line, count, width, rotary ? width / 2 : width);
    snprintf(f->title, sizeof f->title, "%s positions: %d of width %d", recipe->position->variant.name, count, width);
    f->title[0] = (char)(f->title[0] - 'a' + 'A');
    return CH_OK;
}

ch_status ch_figure_positions(const ch_recipe *recipe, ch_figure **out, ch_error *error) {
    ch_assert(recipe && out);
    *out = NULL;
    if (!recipe->position->fill)
        return fail(error, CH_USAGE, "position %s has no table that is fixed before training, which this figure shows",
                    recipe->position->variant.name);
    ch_status status = recipe_check_positions(recipe, error);
    if (status != CH_OK) return status;
    struct positions_figure *f = mem_new(1, sizeof *f);
    if (!f) return fail_memory(error, "a figure");
    f->figure.release = release;
    status = fill(f, recipe, error);
    f->panel[0] = (struct panel){&panel_maps, &f->grid, false};
    f->panel[1] = (struct panel){&panel_chart, &f->chart, false};
    f->panel[2] = (struct panel){&panel_key, &f->key, true};
    f->figure.page = (struct page){f->title, WIDTH, 2, 3, f->panel};
    return figure_deliver(&f->figure, status, out);
}
