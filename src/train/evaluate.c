/* Evaluation on fresh examples: the loss of teacher forcing, and whole answers decoded greedily. */
#include "base/memory.h"
#include "train/evaluate.h"
#include "train/shard.h"

#include <string.h>

/* Sequences at a time: like a shard's, so that validation needs no more memory than training. */
enum { BATCH = 50, BATCH_TOKENS = 512 };

static int batch_size(int longest) {
    int fit = BATCH_TOKENS / longest;
    return fit < 1 ? 1 : fit < BATCH ? fit : BATCH;
}

struct forcing {
    const struct ch_model *model;
    const struct attention_core *core;
    const struct ch_examples *examples;
    struct shard *shard;         /* (workers) */
    struct loss *loss;           /* (batches) */
    int workers, batches, batch; /* batch: sequences in each */
};

static struct pass forcing_pass(const struct attention_core *core) {
    return (struct pass){.core = core, .dropout = DROPOUT_OFF};
}

uint64_t evaluate_memory(const struct ch_model *model, const struct attention_core *core, int longest, int length,
                         int workers) {
    struct encoder_decoder_saved saved;
    struct batch_limits limits = {batch_size(longest), length, length + 1};
    struct pass pass = forcing_pass(core);
    if (!encoder_decoder_saved_new(&saved, &model->net)) return 0;
    uint64_t bytes = workspace_measure(model, &pass, &limits, false, &saved);
    encoder_decoder_saved_free(&saved);
    return mem_times(bytes, (uint64_t)workers);
}

static void force_batches(int worker, void *context) {
    struct forcing *f = context;
    for (int batch = worker; batch < f->batches; batch += f->workers) {
        int first = batch * f->batch, left = f->examples->count - first;
        shard_load(&f->shard[worker], f->examples, first, left < f->batch ? left : f->batch);
        shard_run(&f->shard[worker], f->model, forcing_pass(f->core), 1);
        f->loss[batch] = f->shard[worker].loss;
    }
}

/* Sums over batches in their order, whatever the threads. */
static void sum_losses(const struct forcing *f, ch_evaluation *result) {
    struct loss total = {0};
    for (int batch = 0; batch < f->batches; batch++) {
        total.sum += f->loss[batch].sum;
        total.count += f->loss[batch].count;
        total.correct += f->loss[batch].correct;
    }
    result->loss = total.sum / (double)total.count;
    result->token_accuracy = (double)total.correct / (double)total.count;
}

ch_status evaluate_forcing(const struct ch_model *model, const struct attention_core *core,
                           const struct ch_examples *examples, struct team *team, ch_evaluation *result,
                           ch_error *error) {
    struct forcing f = {.model = model, .core = core, .examples = examples, .batch = batch_size(examples->longest)};
    f.batches = (examples->count + f.batch - 1) / f.batch;
    f.workers = team_threads(team) < f.batches ? team_threads(team) : f.batches;
    f.shard = mem_new((size_t)f.workers, sizeof *f.shard);
    f.loss = mem_new((size_t)f.batches, sizeof *f.loss);
    ch_status status = f.shard && f.loss ? CH_OK : fail_memory(error, "the evaluation");
    struct batch_limits limits = {f.batch, examples->longest, examples->longest + 1};
    struct pass pass = forcing_pass(core);
    for (int w = 0; w < f.workers && status == CH_OK; w++)
        status = shard_new(&f.shard[w], model, &pass, &limits, false, error);
    if (status == CH_OK) {
        parallel_for(team, f.workers, force_batches, &f);
        sum_losses(&f, result);
    }
    for (int w = 0; w < f.workers && f.shard; w++) shard_free(&f.shard[w]);
    mem_free(f.shard);
    mem_free(f.loss);
    return status;
}

static bool is_exact(ch_answer answer, ch_sequence target) {
    return answer.ended && answer.length == target.length - 2 &&
           memcmp(answer.tokens, target.tokens + 1, answer.length * sizeof *answer.tokens) == 0;
}

static ch_status decode_all(const struct ch_model *model, const struct attention_core *core,
                            const struct ch_examples *examples, int threads, ch_evaluation *result, ch_error *error) {
    size_t count = (size_t)examples->count;
    ch_decode_options options = {.batch_size = BATCH, .threads = threads, .attention = core->variant.name};
    ch_decoder *decoder = NULL;
    ch_sequence *source = mem_new(count, sizeof *source);
    ch_answer *answer = mem_new(count, sizeof *answer);
    ch_status status = source && answer ? CH_OK : fail_memory(error, "the evaluation");
    for (size_t i = 0; i < count && status == CH_OK; i++) source[i] = ch_examples_source(examples, i);
    if (status == CH_OK) status = ch_decoder_new(model, &options, &decoder, error);
    if (status == CH_OK) status = ch_decoder_run(decoder, source, count, answer, error);
    for (size_t i = 0; i < count && status == CH_OK; i++)
        result->exact += is_exact(answer[i], ch_examples_target(examples, i));
    result->total = examples->count;
    ch_decoder_free(decoder);
    mem_free(source);
    mem_free(answer);
    return status;
}

ch_status evaluate_fits(const struct ch_model *model, const ch_recipe *recipe, ch_error *error) {
    if (recipe->min_len > recipe->max_len)
        return fail(error, CH_USAGE, "min-len %lld is more than max-len %lld", (long long)recipe->min_len,
                    (long long)recipe->max_len);
    if (recipe->max_len + 1 > model->config.max_positions)
        return fail(error, CH_USAGE, "max-len %lld needs %lld positions, and the model has %d",
                    (long long)recipe->max_len, (long long)recipe->max_len + 1, model->config.max_positions);
    if (recipe->symbols != model->vocab.symbols)
        return fail(error, CH_USAGE, "symbols: the model was made for %d, found %lld", model->vocab.symbols,
                    (long long)recipe->symbols);
    return CH_OK;
}

ch_status ch_evaluate(const ch_model *model, const ch_recipe *recipe, size_t count, ch_evaluation *result,
                      ch_error *error) {
    *result = (ch_evaluation){0};
    if (count < 1 || count > 10000000)
        return fail(error, CH_USAGE, "examples: expected 1 to 10000000, found %zu", count);
    ch_status status = evaluate_fits(model, recipe, error);
    if (status != CH_OK) return status;
    struct ch_examples examples;
    status = examples_init(&examples, (int)count, (int)recipe->max_len, (int)recipe->symbols, error);
    if (status != CH_OK) return status;
    struct example_stream stream = example_stream(recipe, PHILOX_EVAL, NULL);
    examples_draw(&examples, &stream, 0, 0, (int)count);
    int threads = recipe_threads(recipe);
    struct team *team = team_new(threads);
    status = team ? evaluate_forcing(model, recipe->attention, &examples, team, result, error)
                  : fail_memory(error, "the evaluation");
    team_free(team);
    if (status == CH_OK) status = decode_all(model, recipe->attention, &examples, threads, result, error);
    examples_release(&examples);
    return status;
}
