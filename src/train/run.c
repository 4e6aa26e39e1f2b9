/* A run in its folder: recipe, log, checkpoints, result; started new or resumed. */
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/run_folder.h"
#include "io/safetensors.h"
#include "train/evaluate.h"
#include "train/trainer.h"

#include <string.h>

static ch_status write_recipe(const struct ch_trainer *t, ch_error *error) {
    char path[RUN_PATH];
    ch_status status = run_path(path, t->folder, RUN_RECIPE, error);
    if (status != CH_OK) return status;
    char *text = ch_recipe_json(&t->recipe);
    if (!text) return fail_memory(error, "the recipe");
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the terminator */
    status = file_write(path, text, length + 1, error);
    mem_free(text);
    return status;
}

/* The last step before the checkpoint whose line is surely there: the best one's was validated, and so logged. A run
 * that was asked to stop has a checkpoint at a step without a line. */
static int64_t sure_step(const struct ch_trainer *t) {
    return t->best_step > 0 ? t->best_step : t->step > 0;
}

/* A line of the log has the numbers that write_log writes. */
static ch_status take_signals(const struct js_value *line, int64_t step, const char *where, void *context,
                              ch_error *error) {
    static const char *const keys[] = {"loss", "grad_norm", "lr", "next_lr"};
    ch_status status = CH_OK;
    double value;
    (void)step, (void)context;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == CH_OK; i++)
        status = log_size(js_find(line, keys[i]), where, keys[i], &value, error);
    return status;
}

/* Refuses to cut back logs that are damaged. */
static ch_status check_logs(const struct ch_trainer *t, const char *folder, ch_error *error) {
    char path[RUN_PATH];
    ch_status status = run_path(path, folder, RUN_LOG, error);
    if (status == CH_OK) status = log_check(path, t->step, sure_step(t), take_signals, NULL, error);
    if (status != CH_OK || !t->recipe.log_gradients) return status;
    status = run_path(path, folder, RUN_GRADIENTS, error);
    return status == CH_OK ? log_check(path, t->step, sure_step(t), NULL, NULL, error) : status;
}

static ch_status open_folder(struct ch_trainer *t, const char *folder, ch_error *error) {
    char path[RUN_PATH];
    t->folder = mem_copy_string(folder);
    if (!t->folder) return fail_memory(error, "a run");
    ch_status status = file_make_folder(folder, error);
    if (status == CH_OK && t->lock < 0) status = run_lock(folder, &t->lock, error);
    if (status == CH_OK) status = write_recipe(t, error);
    if (status == CH_OK) status = run_path(path, folder, RUN_LOG, error);
    if (status == CH_OK) status = log_open(&t->log, path, t->step, error);
    if (status != CH_OK || !t->recipe.log_gradients) return status;
    status = run_path(path, folder, RUN_GRADIENTS, error);
    return status == CH_OK ? log_open(&t->gradients, path, t->step, error) : status;
}

static ch_status refuse_old_run(const char *folder, ch_error *error) {
    static const char *const traces[] = {RUN_RECIPE, RUN_MODEL, RUN_LOG, RUN_GRADIENTS, RUN_CHECKPOINTS};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        char path[RUN_PATH];
        ch_status status = run_path(path, folder, traces[i], error);
        if (status != CH_OK) return status;
        if (run_exists(path))
            return fail(error, CH_FAILED,
                        "%s already holds a run (%s is there): continue it with --resume, or choose another folder",
                        folder, traces[i]);
    }
    return CH_OK;
}

/* Hands the trainer over, or frees it. */
static ch_status deliver(struct ch_trainer *t, ch_status status, ch_trainer **out) {
    *out = status == CH_OK ? t : NULL;
    if (status != CH_OK) ch_trainer_free(t);
    return status;
}

ch_status ch_trainer_new(const ch_recipe *recipe, const char *folder, ch_trainer **out, ch_error *error) {
    struct ch_trainer *t = NULL;
    *out = NULL;
    ch_status status = folder ? refuse_old_run(folder, error) : CH_OK;
    if (status == CH_OK) status = trainer_new(recipe, &t, error);
    if (status == CH_OK && folder) status = open_folder(t, folder, error);
    return deliver(t, status, out);
}

/* ---- resuming ---- */

static bool may_change(const char *option) {
    static const char *const allowed[] = {"steps", "threads", "log-every", "save-every"};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (strcmp(option, allowed[i]) == 0) return true;
    return false;
}

/* With another number of steps, a rate that falls towards the last would have been another from the first on. */
static ch_status check_change(const ch_recipe *recipe, const char *option, const char *value, ch_error *error) {
    const char *old = ch_recipe_get(recipe, option);
    if (strcmp(value, old) == 0) return CH_OK;
    if (!may_change(option))
        return fail(error, CH_USAGE,
                    "%s cannot change when a run is resumed: it has '%s', found '%s'; steps, threads, log-every and "
                    "save-every can",
                    option, old, value);
    if (recipe->schedule->falls && strcmp(option, "steps") == 0)
        return fail(error, CH_USAGE,
                    "steps cannot change when a run with schedule %s is resumed, whose rate falls towards the last: it "
                    "has '%s', found '%s'",
                    recipe->schedule->variant.name, old, value);
    return CH_OK;
}

static ch_status apply_changes(ch_recipe *recipe, const ch_recipe *changes, const char *const *changed, size_t count,
                               ch_error *error) {
    for (size_t i = 0; i < count; i++) {
        const char *value = ch_recipe_get(changes, changed[i]);
        ch_status status = check_change(recipe, changed[i], value, error);
        if (status == CH_OK) status = ch_recipe_set(recipe, changed[i], value, error);
        if (status != CH_OK) return status;
    }
    return CH_OK;
}

static ch_status read_run_recipe(const char *folder, ch_recipe *recipe, ch_error *error) {
    char path[RUN_PATH];
    ch_status status = run_path(path, folder, RUN_RECIPE, error);
    if (status == CH_OK && !run_exists(path))
        status = fail(error, CH_FAILED, "%s: expected the folder of a run, and it %s %s", folder,
                      run_exists(folder) ? "holds no" : "does not exist, so it holds no", RUN_RECIPE);
    return status == CH_OK ? ch_recipe_read(recipe, path, error) : status;
}

/* The last step of a log, and the first after which there was a checkpoint: of one that validated, or the recipe's. */
struct traces {
    int64_t last, saved;
};

static ch_status take_trace(const struct js_value *line, int64_t step, const char *where, void *context,
                            ch_error *error) {
    struct traces *traces = context;
    (void)where, (void)error;
    traces->last = step > traces->last ? step : traces->last;
    if (js_find(line, "validation_loss") && step < traces->saved) traces->saved = step;
    return CH_OK;
}

static int64_t first_save(const ch_recipe *recipe) {
    int64_t first = recipe->save_every < recipe->steps ? recipe->save_every : recipe->steps;
    const struct bands *bands = &recipe->bands;
    return bands->count && bands->band[0].step < first ? bands->band[0].step : first;
}

/* A run that died before its first checkpoint starts again from step 0; one that has lost its checkpoints would write
 * over what is left of it. The line of a step is written before its checkpoint. */
static ch_status refuse_lost_checkpoints(const char *folder, const ch_recipe *recipe, ch_error *error) {
    static const char *const logs[] = {RUN_LOG, RUN_GRADIENTS};
    struct traces traces = {0, first_save(recipe)};
    char path[RUN_PATH];
    ch_status status = run_latest(path, folder, error);
    if (status != CH_OK || *path) return status;
    for (size_t i = 0; i < sizeof logs / sizeof *logs && status == CH_OK; i++) {
        status = run_path(path, folder, logs[i], error);
        if (status == CH_OK) status = log_check(path, INT64_MAX, 0, take_trace, &traces, error);
    }
    if (status == CH_OK) status = run_path(path, folder, RUN_MODEL, error);
    if (status != CH_OK || (!run_exists(path) && traces.last <= traces.saved)) return status;
    return fail(error, CH_FAILED,
                "%s: expected a checkpoint to go on from in " RUN_CHECKPOINTS
                ", since the run has come to step %lld, found none; put it back, or train in another folder",
                folder, (long long)(traces.last ? traces.last : recipe->steps));
}

/* A run without a checkpoint starts again from step 0. */
static ch_status load_latest(struct ch_trainer *t, const char *folder, ch_error *error) {
    char latest[RUN_PATH];
    ch_status status = run_latest(latest, folder, error);
    return status == CH_OK && *latest ? checkpoint_load(t, latest, error) : status;
}

static ch_status resume(const char *folder, const ch_recipe *recipe, ch_trainer **out, ch_error *error) {
    struct ch_trainer *t = NULL;
    ch_status status = trainer_new(recipe, &t, error);
    if (status == CH_OK) status = run_lock(folder, &t->lock, error);
    if (status == CH_OK) status = load_latest(t, folder, error);
    if (status == CH_OK && t->step > recipe->steps)
        status = fail(error, CH_USAGE, "steps: the run has taken %lld step%s already, found %lld", (long long)t->step,
                      text_plural((uint64_t)t->step), (long long)recipe->steps);
    if (status == CH_OK) status = check_logs(t, folder, error);
    if (status == CH_OK) status = open_folder(t, folder, error);
    return deliver(t, status, out);
}

ch_status ch_trainer_resume(const char *folder, const ch_recipe *changes, const char *const *changed, size_t count,
                            ch_trainer **out, ch_error *error) {
    *out = NULL;
    ch_recipe *recipe;
    ch_status status = ch_recipe_new(&recipe, error);
    if (status != CH_OK) return status;
    status = read_run_recipe(folder, recipe, error);
    if (status == CH_OK) status = refuse_lost_checkpoints(folder, recipe, error);
    if (status == CH_OK) status = apply_changes(recipe, changes, changed, count, error);
    if (status == CH_OK) status = resume(folder, recipe, out, error);
    ch_recipe_free(recipe);
    return status;
}

/* ---- running ---- */

static ch_status write_log(struct ch_trainer *t, const ch_step *step, ch_error *error) {
    struct js_value *line = js_new_object();
    bool complete =
        line && js_set(line, "schema", js_new_int(1)) && js_set(line, "step", js_new_int(step->step)) &&
        js_set(line, "loss", js_new_double(step->loss)) && js_set(line, "grad_norm", js_new_double(step->grad_norm)) &&
        js_set(line, "lr", js_new_double(step->lr)) && js_set(line, "next_lr", js_new_double(step->next_lr)) &&
        (isnan(step->validation_loss) || js_set(line, "validation_loss", js_new_double(step->validation_loss)));
    if (complete) return log_line(&t->log, line, error);
    js_free(line);
    return fail_memory(error, "a line of the log");
}

/* Measures the loss on held-out examples, and whether it is the lowest so far. */
static ch_status validate(struct ch_trainer *t, ch_step *step, ch_error *error) {
    if (t->held_out.count) {
        ch_evaluation result;
        struct evaluators by = {t->lane, t->lanes, trainer_validation_batch(&t->recipe), t->team};
        ch_status status = evaluate_forcing(t->result, t->recipe.attention, &t->held_out, &by, &result, error);
        if (status != CH_OK) return status;
        if (!isfinite(result.loss))
            return fail(error, CH_FAILED,
                        "step %lld: the loss on held-out examples is %s; a lower lr or a longer warmup may help",
                        (long long)t->step, isnan(result.loss) ? "not a number" : "infinite");
        step->validation_loss = result.loss;
        step->bits_per_character = material_bits(&t->material, result.loss);
        step->band = bands_find(&t->recipe.bands, step->step);
        if (t->best_step >= 0 && result.loss >= t->best_loss) return CH_OK;
        t->best_loss = result.loss;
    }
    t->best_step = t->step;
    return CH_OK;
}

/* The best checkpoint's model becomes the result: its file, so that no second model takes memory. */
static ch_status save_result(struct ch_trainer *t, ch_error *error) {
    char result[RUN_PATH], best[RUN_PATH], model[RUN_PATH];
    struct st_file *whole;
    ch_status status = checkpoint_save(t, error);
    if (status == CH_OK) status = run_path(result, t->folder, RUN_MODEL, error);
    if (status != CH_OK) return status;
    if (t->best_step < 0 || t->best_step == t->step) return ch_model_save(t->result, result, error);
    status = run_checkpoint(best, t->folder, t->best_step, error);
    if (status == CH_OK) status = run_path(model, best, RUN_MODEL, error);
    if (status == CH_OK) status = st_open(model, &whole, error);
    if (status != CH_OK) return status;
    st_close(whole);
    return file_copy(model, result, error);
}

/* What a step leaves in the folder. */
static ch_status record(struct ch_trainer *t, ch_step *step, ch_error *error) {
    bool save = trainer_saves(t, step->step);
    ch_status status = save ? validate(t, step, error) : CH_OK;
    if (status == CH_OK && trainer_logs(t, step->step)) status = write_log(t, step, error);
    if (status == CH_OK && trainer_logs(t, step->step)) status = signals_write(t, error);
    return status == CH_OK && save ? checkpoint_save(t, error) : status;
}

ch_status ch_trainer_run(ch_trainer *t, ch_step_function each, void *context, ch_error *error) {
    while (t->step < t->recipe.steps) {
        ch_step step;
        ch_status status = ch_trainer_step(t, &step, error);
        if (status == CH_OK && t->folder) status = record(t, &step, error);
        if (status != CH_OK) return status;
        if (!each || each(&step, context)) continue;
        if (step.step == step.steps) break; /* it is done anyway */
        if (t->folder) status = checkpoint_save(t, error);
        return status == CH_OK ? fail(error, CH_STOPPED, "stopped after step %lld", (long long)t->step) : status;
    }
    return t->folder ? save_result(t, error) : CH_OK;
}
