/* When a step is not finite: walks it once more and names the first tensor, in the order of computation, that holds a
 * number that is not: a parameter, an intermediate, or else a gradient. */
#include "base/memory.h"
#include "train/trainer.h"

#include <stdio.h>

enum { BLAME_NAME = 2 * PARAM_NAME };

static bool all_finite(const real *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* The name of the first site that is not finite; empty: none so far. */
static bool wants(void *context, const char *layer, const char *site) {
    (void)layer, (void)site;
    return *(char *)context == '\0';
}

static void note(char *name, const char *layer, const char *site) {
    snprintf(name, BLAME_NAME, "%s%s%s", layer, *layer ? "." : "", site);
}

static void see_rows(void *context, const char *layer, const char *site, const real *x, int ld, int channels,
                     const struct batch *batch) {
    char *name = context;
    for (int n = 0; n < batch->rows && !*name; n++)
        if (!all_finite(x + (size_t)n * (size_t)ld, (size_t)channels)) note(name, layer, site);
}

static void see_map(void *context, const char *layer, const char *site, int sequence, int head, const real *x,
                    int queries, int keys) {
    (void)sequence, (void)head;
    char *name = context;
    if (!*name && !all_finite(x, (size_t)queries * (size_t)keys)) note(name, layer, site);
}

static void find_parameter(const struct ch_trainer *t, char *name) {
    for (int i = 0; i < t->model->params.count && !*name; i++) {
        const struct param *row = &t->model->params.row[i];
        if (!all_finite(t->model->params.value + row->offset, row->count)) note(name, "parameter", row->name);
    }
}

static void find_intermediate(struct ch_trainer *t, char *name) {
    struct capture capture = {.wants = wants, .rows = see_rows, .map = see_map, .context = name};
    struct pass pass = trainer_pass(t, t->step + 1);
    struct batch_limits limits = trainer_limits(t->model, &t->recipe);
    struct workspace workspace;
    pass.capture = &capture;
    if (workspace_new(&workspace, t->model, &pass, &limits, false, NULL) != CH_OK) return;
    struct shard lane = t->lane[0];
    lane.workspace = workspace;
    for (int shard = 0; shard < t->shards && !*name; shard++) trainer_run_shard(t, &lane, shard, pass);
    workspace_free(&workspace);
}

/* Gradients are computed from the last layer back. */
static void find_gradient(const struct ch_trainer *t, char *name) {
    for (int i = t->model->params.count - 1; i >= 0 && !*name; i--) {
        const struct param *row = &t->model->params.row[i];
        if (param_is_trained(row) && !all_finite(t->grad[0] + row->offset, row->count))
            note(name, "gradient", row->name);
    }
}

ch_status trainer_blame(struct ch_trainer *t, const struct torch_rng *drawn, double loss, double norm,
                        ch_error *error) {
    char name[BLAME_NAME] = "";
    t->torch = *drawn; /* the same dropout as in the step */
    find_parameter(t, name);
    if (!*name) find_intermediate(t, name);
    if (!*name) find_gradient(t, name);
    bool bad_loss = !isfinite(loss);
    return fail(error, CH_FAILED,
                "step %lld: the %s is %s; the first tensor that holds a number that is not finite is %s; a lower lr or "
                "a longer warmup may help",
                (long long)t->step + 1, bad_loss ? "loss" : "gradient norm",
                isnan(bad_loss ? loss : norm) ? "not a number" : "infinite", *name ? name : "the loss itself");
}
