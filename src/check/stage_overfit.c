/*
 * Stage overfit: eight sequences of one batch that never changes must be learned by heart. A model that cannot is wired
 * wrong, whatever the data; or the recipe's rate does not suit its sizes. The optimiser is Adam at PyTorch's defaults
 * without warmup, clipping or schedule, so that nothing else can be at fault; and once more with dropout, to see what
 * that would hide. Where sequences begin alike and go on in different ways, no model can tell which one it is: what a
 * perfect one pays there is allowed for. A decoder alone has nothing else to tell them by; an encoder sees a whole
 * source.
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
    double ambiguity;  /* loss of a model that knows all sequences by heart */
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

/* How many of their first tokens are the same. */
static int common_beginning(const struct batch_buffer *rows, int b, int c) {
    int count = 0, shorter = rows->length[b] < rows->length[c] ? rows->length[b] : rows->length[c];
    const int *x = rows->token + rows->offset[b], *y = rows->token + rows->offset[c];
    while (count < shorter && x[count] == y[count]) count++;
    return count;
}

/* -ln of the share that a row's label has among those of all rows with the same tokens so far. */
static double row_ambiguity(const struct frame *frame, const int alike[SEQUENCES], int b, int t) {
    const int *offset = frame->target.offset;
    int label = frame->label[offset[b] + t], same = 0, all = 0;
    for (int c = 0; c < frame->target.view.sequences; c++) {
        int other = t < alike[c] ? frame->label[offset[c] + t] : -1;
        all += other >= 0;
        same += other >= 0 && other == label;
    }
    return label < 0 ? 0 : log((double)all / same);
}

static double ambiguity_of(const struct frame *frame) {
    double sum = 0;
    if (frame->config->arch->encoder) return 0;
    for (int b = 0; b < frame->target.view.sequences; b++) {
        int alike[SEQUENCES];
        for (int c = 0; c < frame->target.view.sequences; c++) alike[c] = common_beginning(&frame->target, b, c);
        for (int t = 0; t < frame->target.length[b]; t++) sum += row_ambiguity(frame, alike, b, t);
    }
    return sum / frame->counted;
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
    if (status == CH_OK) fit->ambiguity = ambiguity_of(&fit->bench.shard.frame);
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
    ch_status status = check_examples(check, SEQUENCES, &examples, error);
    if (status != CH_OK) return status;
    status = fit_batch(&plain, check, examples, 0, error);
    if (status == CH_OK) status = fit_batch(&dropped, check, examples, dropout, error);
    ch_examples_free(examples);
    if (status != CH_OK) return status;
    explain(check, dropout, dropped.tail);
    bool passed = plain.last < enough + plain.ambiguity;
    if (plain.ambiguity > 0)
        check_line(check,
                   "%.4f of the loss is what no model can know: sequences that begin alike and go on in different ways",
                   plain.ambiguity);
    struct check_number limit = check_number(enough + plain.ambiguity, plain.ambiguity > 0 ? 4 : 2);
    const char *hint = "; it is wired wrong, or --lr does not suit its sizes";
    return check_result(check, passed, "%d sequences, %d steps at %g without dropout: loss %s, expected below %s%s",
                        SEQUENCES, STEPS, check->recipe->lr, check_number(plain.last, 4).text, limit.text,
                        passed ? "" : hint);
}

const struct stage stage_overfit = {
    .variant = {"overfit", "eight sequences are learned by heart in 400 steps, without dropout"},
    .run = run,
};
