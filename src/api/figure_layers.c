/*
 * How gradients and updates fare with depth: maps of norm over layer and step, from the gradients.jsonl of runs that
 * were trained with log-gradients. A layer's norm is the root of the sum of its tensors' squares: enc.0.attn holds four
 * matrices and four biases. The order is the model's, from the embeddings to the output. All runs are drawn against the
 * same steps, from 0 to the last of the longest.
 */
#include "api/figure_layers.h"
#include "api/run_log.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/run_folder.h"
#include "plot/heatmap.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 900, NAME = 64, MOST_TENSORS = 20000, DECADES = 6, KINDS = 2 };

static const char *const kind_key[KINDS] = {"gradient", "update"};

/* One run's maps. */
struct layers_run {
    int layers, steps;
    size_t tensors;
    char (*name)[NAME]; /* (layers) */
    const char **row;
    int64_t *step;       /* (steps) */
    float *value[KINDS]; /* while reading (steps, layers), afterwards (layers, steps) */
    size_t name_capacity, step_capacity, value_capacity[KINDS];
};

struct layers_figure {
    struct ch_figure figure;
    struct panel panel[KINDS];
    struct heatmap_grid grid[KINDS];
    struct heatmap *map; /* (KINDS, runs) */
    struct layers_run *run;
    int runs;
};

static void release(struct ch_figure *figure) {
    struct layers_figure *f = (struct layers_figure *)figure;
    for (int i = 0; f->run && i < f->runs; i++) {
        struct layers_run *run = &f->run[i];
        mem_free(run->name);
        mem_free(run->row);
        mem_free(run->step);
        for (int kind = 0; kind < KINDS; kind++) mem_free(run->value[kind]);
    }
    mem_free(f->run);
    mem_free(f->map);
    mem_free(f);
}

/* ---- reading ---- */

/* "enc.0.attn.W_q.weight" -> "enc.0.attn", "src_emb.weight" -> "src_emb": without the last part, and at most three. */
static void layer_of(const char *tensor, char out[NAME]) {
    snprintf(out, NAME, "%s", tensor);
    char *last = strrchr(out, '.');
    if (last) *last = '\0';
    char *at = out;
    for (int parts = 1; (at = strchr(at, '.')); at++) {
        if (parts++ < 3) continue;
        *at = '\0';
        return;
    }
}

/* The number of a layer, or -1. Tensors of a layer stand together, mostly in the order of the layers. */
static int find_layer(const struct layers_run *run, const char *tensor) {
    char name[NAME];
    layer_of(tensor, name);
    for (int i = run->layers - 1; i >= 0; i--)
        if (strcmp(run->name[i], name) == 0) return i;
    return -1;
}

/* The layers are those of the first line. */
static ch_status name_layers(struct layers_run *run, const struct js_value *norms, const char *where, ch_error *error) {
    void *cursor = NULL;
    const char *tensor;
    const struct js_value *value;
    run->tensors = js_count(norms);
    if (run->tensors < 1 || run->tensors > MOST_TENSORS)
        return fail(error, CH_FAILED, "%s: expected the norms of 1 to %d tensors, found %zu", where, MOST_TENSORS,
                    run->tensors);
    while (js_next(norms, &cursor, &tensor, &value)) {
        if (find_layer(run, tensor) >= 0) continue;
        if (!mem_grow((void **)&run->name, &run->name_capacity, (size_t)run->layers + 1, sizeof *run->name))
            return fail_memory(error, "a run's gradients");
        layer_of(tensor, run->name[run->layers++]);
    }
    return CH_OK;
}

/* Appends a row of `kind`: the norm of each layer. */
static ch_status take_norms(struct layers_run *run, int kind, const struct js_value *norms, const char *where,
                            ch_error *error) {
    void *cursor = NULL;
    const char *tensor;
    const struct js_value *value;
    size_t layers = (size_t)run->layers, base = (size_t)run->steps * layers;
    if (js_count(norms) != run->tensors)
        return fail(error, CH_FAILED, "%s: '%s': expected %zu tensor%s as in the first line, found %zu", where,
                    kind_key[kind], run->tensors, text_plural(run->tensors), js_count(norms));
    if (!mem_grow((void **)&run->value[kind], &run->value_capacity[kind], base + layers, sizeof *run->value[kind]))
        return fail_memory(error, "a run's gradients");
    float *row = run->value[kind] + base;
    memset(row, 0, layers * sizeof *row);
    while (js_next(norms, &cursor, &tensor, &value)) {
        double norm;
        int layer = find_layer(run, tensor);
        ch_status status = log_size(value, where, tensor, &norm, error);
        if (status != CH_OK) return status;
        if (layer < 0)
            return fail(error, CH_FAILED, "%s: '%s': expected the tensors of the first line, found '%.80s'", where,
                        kind_key[kind], tensor);
        row[layer] = hypotf(row[layer], (float)fmin(norm, (double)FLT_MAX));
    }
    return CH_OK;
}

static ch_status take(const struct js_value *line, int64_t step, const char *where, void *context, ch_error *error) {
    struct layers_run *run = context;
    ch_status status = CH_OK;
    for (int kind = 0; kind < KINDS && status == CH_OK; kind++) {
        const struct js_value *norms = js_find(line, kind_key[kind]);
        status = js_expect(norms, JS_OBJECT, where, kind_key[kind], error);
        if (status == CH_OK && run->tensors == 0) status = name_layers(run, norms, where, error);
        if (status == CH_OK) status = take_norms(run, kind, norms, where, error);
    }
    if (status != CH_OK) return status;
    if (!mem_grow((void **)&run->step, &run->step_capacity, (size_t)run->steps + 1, sizeof *run->step))
        return fail_memory(error, "a run's gradients");
    run->step[run->steps++] = step;
    return CH_OK;
}

/* A map has layers down and steps across; the log has it the other way round. */
static bool turn(struct layers_run *run, int kind) {
    size_t layers = (size_t)run->layers, steps = (size_t)run->steps;
    float *turned = mem_new(layers * steps, sizeof *turned);
    if (!turned) return false;
    for (size_t s = 0; s < steps; s++)
        for (size_t l = 0; l < layers; l++) turned[l * steps + s] = run->value[kind][s * layers + l];
    mem_free(run->value[kind]);
    run->value[kind] = turned;
    return true;
}

static bool point_at_labels(struct layers_run *run) {
    run->row = mem_new((size_t)run->layers, sizeof *run->row);
    if (!run->row) return false;
    for (int i = 0; i < run->layers; i++) run->row[i] = run->name[i];
    return true;
}

static ch_status read_run(struct layers_run *run, const char *folder, ch_error *error) {
    char path[RUN_PATH];
    ch_status status =
        run_file(path, folder, RUN_GRADIENTS, " (--log-gradients writes it while a run is trained)", error);
    if (status == CH_OK) status = log_read(path, take, run, error);
    if (status != CH_OK) return status;
    return point_at_labels(run) && turn(run, 0) && turn(run, 1) ? CH_OK : fail_memory(error, "a run's gradients");
}

/* ---- the maps ---- */

/* From the largest norm down to the smallest above 0, but not further than some decades. */
static struct scale bar_of(const struct layers_figure *f, int kind) {
    double low = (double)INFINITY, high = 0;
    for (int i = 0; i < f->runs; i++) {
        const struct layers_run *run = &f->run[i];
        for (size_t k = 0; k < (size_t)run->layers * (size_t)run->steps; k++) {
            double value = (double)run->value[kind][k];
            if (!(value > 0) || !isfinite(value)) continue;
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    return scale_rounded(scale_of(fmax(low, high * pow(10, -DECADES)), high, true));
}

static int64_t last_step(const struct layers_figure *f) {
    int64_t last = 0;
    for (int i = 0; i < f->runs; i++) {
        const struct layers_run *run = &f->run[i];
        if (run->step[run->steps - 1] > last) last = run->step[run->steps - 1];
    }
    return last;
}

static void fill_maps(struct layers_figure *f, const char *const *folders) {
    static const char *const words[KINDS] = {"norm of the gradient, before clipping", "norm of the update"};
    for (int kind = 0; kind < KINDS; kind++) {
        struct heatmap *map = f->map + (size_t)kind * (size_t)f->runs;
        for (int i = 0; i < f->runs; i++) {
            const struct layers_run *run = &f->run[i];
            map[i] = (struct heatmap){.rows = run->layers,
                                      .cols = run->steps,
                                      .value = run->value[kind],
                                      .row_label = run->row,
                                      .place = run->step,
                                      .title = f->runs > 1 ? folders[i] : NULL};
        }
        f->grid[kind] = (struct heatmap_grid){.count = f->runs,
                                              .map = map,
                                              .title = words[kind],
                                              .x_axis = "step",
                                              .y_axis = "layer",
                                              .bar = bar_of(f, kind),
                                              .aspect = f->runs > 1 ? 0.35 : 0.5,
                                              .sampled = true,
                                              .end = last_step(f)};
        f->panel[kind] = (struct panel){&panel_maps, &f->grid[kind], true};
    }
    f->figure.page = (struct page){"Gradients and updates with depth", WIDTH, 1, KINDS, f->panel};
}

static ch_status fill(struct layers_figure *f, const char *const *folders, int count, ch_error *error) {
    f->run = mem_new((size_t)count, sizeof *f->run);
    f->map = mem_new((size_t)count * KINDS, sizeof *f->map);
    if (!f->run || !f->map) return fail_memory(error, "a figure");
    for (int i = 0; i < count; i++) {
        f->runs = i + 1;
        ch_status status = read_run(&f->run[i], folders[i], error);
        if (status != CH_OK) return status;
    }
    fill_maps(f, folders);
    return CH_OK;
}

ch_status figure_layers(const char *const *folders, int count, ch_figure **out, ch_error *error) {
    struct layers_figure *f = mem_new(1, sizeof *f);
    if (!f) return fail_memory(error, "a figure");
    f->figure.release = release;
    return figure_deliver(&f->figure, fill(f, folders, count, error), out);
}
