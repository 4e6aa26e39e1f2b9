#include "api/run_log.h"
#include "base/memory.h"
#include "io/run_folder.h"

bool column_add(struct column *column, double x, double y) {
    size_t needed = (size_t)column->count + 1;
    if (needed > INT32_MAX) return false;
    if (!mem_grow((void **)&column->x, &column->x_capacity, needed, sizeof *column->x)) return false;
    if (!mem_grow((void **)&column->y, &column->y_capacity, needed, sizeof *column->y)) return false;
    column->x[column->count] = x;
    column->y[column->count++] = y;
    return true;
}

void column_free(struct column *column) {
    mem_free(column->x);
    mem_free(column->y);
    *column = (struct column){0};
}

static ch_status take(const struct js_value *line, int64_t step, const char *where, void *context, ch_error *error) {
    static const char *const key[RUN_SIGNALS] = {"loss", "grad_norm", "lr", "validation_loss"};
    struct run_log *log = context;
    for (int i = 0; i < RUN_SIGNALS; i++) {
        double value;
        const struct js_value *found = js_find(line, key[i]);
        if (!found && i == RUN_VALIDATION) continue; /* only where it was measured */
        ch_status status = log_size(found, where, key[i], &value, error);
        if (status != CH_OK) return status;
        if (!column_add(&log->column[i], (double)step, value)) return fail_memory(error, "a run's log");
    }
    return CH_OK;
}

ch_status run_file(char *path, const char *folder, const char *name, const char *unless, ch_error *error) {
    ch_status status = run_path(path, folder, name, error);
    if (status != CH_OK || run_exists(path)) return status;
    return fail(error, CH_FAILED, "%s: expected the folder of a run, and it holds no %s%s", folder, name, unless);
}

static ch_status read_recipe(const char *folder, struct run_log *log, ch_error *error) {
    char path[RUN_PATH];
    ch_recipe *recipe;
    ch_status status = run_path(path, folder, RUN_RECIPE, error);
    if (status != CH_OK || !run_exists(path)) return status;
    status = ch_recipe_new(&recipe, error);
    if (status != CH_OK) return status;
    status = ch_recipe_read(recipe, path, error);
    log->recipe = *recipe;
    log->has_recipe = status == CH_OK;
    ch_recipe_free(recipe);
    return status;
}

ch_status run_log_read(const char *folder, struct run_log *log, ch_error *error) {
    char path[RUN_PATH];
    *log = (struct run_log){.has_recipe = false};
    ch_status status = run_file(path, folder, RUN_LOG, "", error);
    if (status == CH_OK) status = log_read(path, take, log, error);
    return status == CH_OK ? read_recipe(folder, log, error) : status;
}

void run_log_free(struct run_log *log) {
    for (int i = 0; i < RUN_SIGNALS; i++) column_free(&log->column[i]);
}
