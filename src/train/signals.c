/*
 * Signals of training, tensor by tensor: the norm of the gradient before clipping, and of what the update changed. Both
 * are read off beside the step, which computes the same with and without them.
 */
#include "train/trainer.h"

#include <string.h>

void signals_keep(struct ch_trainer *t) {
    if (t->before) memcpy(t->before, t->model->params.value, t->model->params.trained * sizeof(real));
}

static double gradient_norm(const struct ch_trainer *t, const struct param *row) {
    return sqrt(sum_of_squares(t->grad[0] + row->offset, row->count));
}

static double update_norm(const struct ch_trainer *t, const struct param *row) {
    const real *after = t->model->params.value + row->offset, *before = t->before + row->offset;
    double sum = 0;
    for (size_t i = 0; i < row->count; i++) {
        double change = (double)after[i] - (double)before[i];
        sum += change * change;
    }
    return sqrt(sum);
}

/* {"src_emb.weight": 0.12, ...}; NULL when memory runs out. */
static struct js_value *norms(const struct ch_trainer *t,
                              double (*norm)(const struct ch_trainer *t, const struct param *row)) {
    struct js_value *object = js_new_object();
    bool complete = object;
    for (int i = 0; i < t->model->params.count && complete; i++) {
        const struct param *row = &t->model->params.row[i];
        if (param_is_trained(row)) complete = js_set(object, row->name, js_new_double(norm(t, row)));
    }
    if (complete) return object;
    js_free(object);
    return NULL;
}

ch_status signals_write(struct ch_trainer *t, ch_error *error) {
    if (!t->before) return CH_OK;
    struct js_value *line = js_new_object();
    bool complete = line && js_set(line, "schema", js_new_int(1)) && js_set(line, "step", js_new_int(t->step)) &&
                    js_set(line, "gradient", norms(t, gradient_norm)) && js_set(line, "update", norms(t, update_norm));
    if (complete) return log_line(&t->gradients, line, error);
    js_free(line);
    return fail_memory(error, "a line of the gradients' log");
}
