/*
 * Stage overfit: eight sequences of one batch that never changes must be learned by heart. A model that cannot is wired
 * wrong, whatever the data; or the recipe's rate does not suit its sizes. The optimiser is Adam at PyTorch's defaults
 * without warmup, clipping or schedule, so that nothing else can be at fault; and once more with dropout, to see what
 * that would hide.
 */
#include "base/memory.h"
#include "check/bench.h"
#include "check/check.h"

#include <string.h>

enum { SEQUENCES = 8, STEPS = 400, TAIL = 50, MOMENTS = 2 };
static const double enough = 0.01, usual_dropout = 0.1;

struct fit {
    struct ch_model *model;
    struct bench bench;
    real *grad, *moment[MOMENTS];
    double last, tail; /* loss of the last step, mean of the last TAIL steps */
};

/* Fresh weights of the sizes at hand. */
static ch_status fresh_model(const struct check *check, struct ch_model **model, ch_error *error) {
    if (!check->model) return ch_model_new(check->recipe, model, error);
    struct config config;
    ch_status status = config_copy(&config, &check->model->config, error);
    if (status == CH_OK) status = model_build(&config, model, error);
    return status == CH_OK ? model_fill(*model, check->recipe, NULL, error) : status;
}

static ch_status fit_new(struct fit *fit, const struct check *check, const struct ch_examples *examples, double dropout,
                         ch_error *error) {
    struct pass pass = {.core = check->recipe->attention,
                        .dropout = dropout > 0 ? DROPOUT_PHILOX : DROPOUT_OFF,
                        .dropout_rate = RC(dropout)};
    *fit = (struct fit){0};
    ch_status status = fresh_model(check, &fit->model, error);
    if (status == CH_OK) status = bench_new(&fit->bench, fit->model, &pass, examples, true, error);
    if (status != CH_OK) return status;
    fit->grad = params_new_block(&fit->model->params);
    for (int m = 0; m < MOMENTS; m++) fit->moment[m] = params_new_block(&fit->model->params);
    return fit->grad && fit->moment[0] && fit->moment[1] ? CH_OK : fail_memory(error, "the optimiser's state");
}

static void fit_free(struct fit *fit) {
    for (int m = 0; m < MOMENTS; m++) mem_free_aligned(fit->moment[m]);
    mem_free_aligned(fit->grad);
    bench_free(&fit->bench);
    ch_model_free(fit->model);
}

static void take_step(struct fit *fit, const ch_recipe *recipe, int64_t step) {
    struct bench *bench = &fit->bench;
    struct params *params = &fit->model->params;
    struct pass pass = bench->pass;
    pass.grad = fit->grad;
    pass.dropout_key = philox_derive((uint64_t)recipe->seed, PHILOX_DROPOUT, (uint64_t)step);
    memset(fit->grad, 0, params->trained * sizeof *fit->grad);
    shard_run(&bench->shard, fit->model, pass, RC(1.0 / bench->shard.frame.counted));
    fit->last = bench->shard.loss.sum / (double)bench->shard.loss.count;
    if (step > STEPS - TAIL) fit->tail += fit->last / TAIL;
    const struct optimizer *adam = &optimizer_adam_default;
    adam->update(&adam->own, params->value, fit->moment, fit->grad, 1, recipe->lr, step, 0, params->trained);
}

/* Trains; what it leaves stands in `fit`, whose memory is gone. */
static ch_status fit_batch(struct fit *fit, const struct check *check, const struct ch_examples *examples,
                           double dropout, ch_error *error) {
    ch_status status = fit_new(fit, check, examples, dropout, error);
    for (int64_t step = 1; step <= STEPS && status == CH_OK; step++) {
        take_step(fit, check->recipe, step);
        ch_step report = {.step = step, .steps = STEPS, .loss = fit->last, .lr = check->recipe->lr};
        if (!check_step(check, &report)) status = fail(error, CH_STOPPED, "stopped after step %lld", (long long)step);
    }
    fit_free(fit);
    return status;
}

static double dropout_of(const struct check *check) {
    double own = check->model ? check->model->config.dropout : check->recipe->dropout;
    return own > 0 ? own : usual_dropout;
}

static void explain(const struct check *check, double dropout, double loss) {
    if (loss < enough)
        check_line(check, "dropout is off, though even at %g the same %d steps reach a loss of %.4f", dropout, STEPS,
                   loss);
    else
        check_line(check,
                   "dropout must be off: at %g the same %d steps stall at a loss of %s (mean of the last %d), since "
                   "every step sees another thinned model",
                   dropout, STEPS, check_number(loss, 4).text, TAIL);
}

static ch_status run(struct check *check, ch_error *error) {
    struct fit plain, dropped;
    double dropout = dropout_of(check);
    ch_examples *examples;
    ch_status status = ch_examples_new(check->recipe, SEQUENCES, &examples, error);
    if (status != CH_OK) return status;
    status = fit_batch(&plain, check, examples, 0, error);
    if (status == CH_OK) status = fit_batch(&dropped, check, examples, dropout, error);
    ch_examples_free(examples);
    if (status != CH_OK) return status;
    explain(check, dropout, dropped.tail);
    bool passed = plain.last < enough;
    const char *hint = "; it is wired wrong, or --lr does not suit its sizes";
    return check_result(check, passed, "%d sequences, %d steps at %g without dropout: loss %s, expected below %g%s",
                        SEQUENCES, STEPS, check->recipe->lr, check_number(plain.last, 4).text, enough,
                        passed ? "" : hint);
}

const struct stage stage_overfit = {
    .variant = {"overfit", "eight sequences are learned by heart in 400 steps, without dropout"},
    .run = run,
};
