/* How the values of each trained tensor are spread. */
#include "api/figure.h"
#include "base/memory.h"
#include "model/model.h"
#include "plot/spread.h"

#include <string.h>

enum { WIDTH = 900 };

struct weights_figure {
    struct ch_figure figure;
    struct panel panel;
    struct spreads spreads;
    struct spread *row;
    char (*name)[PARAM_NAME]; /* copied, so that the model may go */
};

static void release(struct ch_figure *figure) {
    struct weights_figure *f = (struct weights_figure *)figure;
    mem_free(f->row);
    mem_free(f->name);
    mem_free(f);
}

static ch_status measure(const struct params *params, const struct param *row, double *room, struct spread *spread,
                         ch_error *error) {
    const real *value = params->value + row->offset;
    for (size_t i = 0; i < row->count; i++) {
        if (!isfinite(value[i]))
            return fail(error, CH_FAILED, "cannot draw the weights: %s holds a value that is not finite, at %zu",
                        row->name, i);
        room[i] = (double)value[i];
    }
    spread_measure(room, row->count, spread);
    return CH_OK;
}

static ch_status measure_all(struct weights_figure *f, const struct params *params, ch_error *error) {
    size_t largest = 0;
    for (int i = 0; i < params->count; i++)
        if (params->row[i].count > largest) largest = params->row[i].count;
    f->row = mem_new((size_t)params->count, sizeof *f->row);
    f->name = mem_new((size_t)params->count, sizeof *f->name);
    double *room = mem_new(largest, sizeof *room);
    ch_status status = f->row && f->name && room ? CH_OK : fail_memory(error, "a figure");
    for (int i = 0; i < params->count && status == CH_OK; i++) {
        const struct param *row = &params->row[i];
        if (!param_is_trained(row)) continue;
        int at = f->spreads.count++;
        strcpy(f->name[at], row->name);
        f->row[at].name = f->name[at];
        status = measure(params, row, room, &f->row[at], error);
    }
    mem_free(room);
    f->spreads.row = f->row;
    f->spreads.axis = "value";
    return status;
}

ch_status ch_figure_weights(const ch_model *model, ch_figure **out, ch_error *error) {
    ch_assert(model && out);
    *out = NULL;
    struct weights_figure *f = mem_new(1, sizeof *f);
    if (!f) return fail_memory(error, "a figure");
    f->panel = (struct panel){&panel_spreads, &f->spreads, true};
    f->figure = (struct ch_figure){.page = {"Weights, tensor by tensor", WIDTH, 1, 1, &f->panel}, .release = release};
    return figure_deliver(&f->figure, measure_all(f, &model->params, error), out);
}
