/* Evaluation on fresh examples: the loss of teacher forcing, and whole answers decoded greedily. */
#include "base/memory.h"
#include "recipe/material.h"
#include "train/deal.h"
#include "train/evaluate.h"

#include <string.h>

enum { BATCH = 50, BATCH_TOKENS = 512 }; /* the most sequences at a time, and about their tokens */

static int batch_size(int longest) {
    int fit = 2 * BATCH_TOKENS / longest; /* an example's source and target have about as many each */
    return fit < 1 ? 1 : fit < BATCH ? fit : BATCH;
}

struct forcing {
    const struct ch_model *model;
    const struct attention_core *core;
    const struct ch_examples *examples;
    struct shard *shard; /* (workers) */
    struct loss *loss;   /* (batches) */
    struct deal deal;    /* of the examples to the batches: products of like sizes */
    int workers, batches;
};

static struct pass forcing_pass(const struct attention_core *core) {
    return (struct pass){.core = core, .dropout = DROPOUT_OFF};
}

struct shard_use evaluate_use(const struct ch_model *model, const ch_recipe *recipe, int batch) {
    return (struct shard_use){.pass = forcing_pass(recipe->attention), .limits = shard_limits(model, recipe, batch)};
}

static void force_batches(int worker, void *context) {
    struct forcing *f = context;
    for (int batch = worker; batch < f->batches; batch += f->workers) {
        int first = f->deal.begin[batch], end = f->deal.begin[batch + 1];
        shard_load_these(&f->shard[worker], f->examples, f->deal.example + first, end - first);
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
    result->exact = total.correct; /* of models that decode, whole answers are counted behind this */
    result->total = total.count;
}

ch_status evaluate_forcing(const struct ch_model *model, const struct attention_core *core,
                           const struct ch_examples *examples, const struct evaluators *by, ch_evaluation *result,
                           ch_error *error) {
    int batches = (examples->count + by->batch - 1) / by->batch;
    struct forcing f = {.model = model,
                        .core = core,
                        .examples = examples,
                        .shard = by->shard,
                        .loss = mem_new((size_t)batches, sizeof *f.loss),
                        .workers = by->shards < batches ? by->shards : batches,
                        .batches = batches};
    bool complete = deal_new(&f.deal, batches, examples->count, examples->longest + examples->longest_target) && f.loss;
    if (complete) {
        deal_examples(&f.deal, examples);
        parallel_for(by->team, f.workers, force_batches, &f);
        sum_losses(&f, result);
    }
    deal_free(&f.deal);
    mem_free(f.loss);
    return complete ? CH_OK : fail_memory(error, "the evaluation");
}

/* With shards of its own, one for each thread that finds work. */
static ch_status force_all(const struct ch_model *model, const ch_recipe *recipe, const struct ch_examples *examples,
                           int threads, ch_evaluation *result, ch_error *error) {
    struct evaluators by = {.batch = batch_size(examples->longest + examples->longest_target),
                            .team = team_new(threads)};
    int batches = (examples->count + by.batch - 1) / by.batch;
    struct shard_use use = evaluate_use(model, recipe, by.batch);
    by.shards = threads < batches ? threads : batches;
    by.shard = mem_new((size_t)by.shards, sizeof *by.shard);
    ch_status status = by.team && by.shard ? CH_OK : fail_memory(error, "the evaluation");
    for (int w = 0; w < by.shards && status == CH_OK; w++) status = shard_new_for(&by.shard[w], model, &use, 1, error);
    if (status == CH_OK) status = evaluate_forcing(model, recipe->attention, examples, &by, result, error);
    for (int w = 0; w < by.shards && by.shard; w++) shard_free(&by.shard[w]);
    mem_free(by.shard);
    team_free(by.team);
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
    result->exact = 0;
    for (size_t i = 0; i < count && status == CH_OK; i++)
        result->exact += is_exact(answer[i], ch_examples_target(examples, i));
    result->total = examples->count;
    ch_decoder_free(decoder);
    mem_free(source);
    mem_free(answer);
    return status;
}

static ch_status text_fits(const struct ch_model *model, const ch_recipe *recipe, ch_error *error) {
    bool one_stack = !model->net.arch->encoder || !model->net.arch->decoder;
    if (one_stack && recipe_head(recipe) == model->net.head && model->vocab.tokens->of_text) return CH_OK;
    return fail(error, CH_USAGE, "text %s: expected a model of texts, and this one is %s with a head %s and tokens %s",
                recipe->text_file, model->net.arch->variant.name, model->net.head->variant.name,
                model->vocab.tokens->variant.name);
}

/* Rows of the longest example of a task. */
static int positions_needed(const struct ch_model *model, const ch_recipe *recipe) {
    int longest = (int)recipe->max_len;
    struct batch_limits rows = frame_limits(&model->config, 1, longest, longest + 2);
    return rows.target > rows.source ? rows.target : rows.source;
}

ch_status evaluate_fits(const struct ch_model *model, const ch_recipe *recipe, ch_error *error) {
    if (recipe_has_text(recipe)) return text_fits(model, recipe, error);
    if (model->vocab.tokens->of_text)
        return fail(error, CH_USAGE,
                    "this model learned from a text, in tokens that are %s: expected a text to read, as "
                    "--text FILE, found task %s",
                    model->vocab.tokens->variant.name, recipe->task->variant.name);
    if (recipe->min_len > recipe->max_len)
        return fail(error, CH_USAGE, "min-len %lld is more than max-len %lld", (long long)recipe->min_len,
                    (long long)recipe->max_len);
    if (positions_needed(model, recipe) > config_longest(&model->config))
        return fail(error, CH_USAGE, "max-len %lld needs %d positions, and the model has %d",
                    (long long)recipe->max_len, positions_needed(model, recipe), config_longest(&model->config));
    if (recipe->symbols != model->vocab.symbols)
        return fail(error, CH_USAGE, "symbols: the model was made for %d, found %lld", model->vocab.symbols,
                    (long long)recipe->symbols);
    if ((recipe->task->kind == TASK_TO_CLASS) != model->net.head->classes)
        return fail(error, CH_USAGE, "task %s asks for a %s, and the model is %s with a head %s",
                    recipe->task->variant.name, recipe->task->kind == TASK_TO_CLASS ? "class" : "sequence",
                    model->net.arch->variant.name, model->net.head->variant.name);
    return CH_OK;
}

/* The part of a text that is held out, or fresh examples of a task. */
static ch_status draw_examples(const struct material *material, struct ch_examples *examples, size_t count,
                               ch_error *error) {
    int drawn = material->corpus.count ? material->corpus.held_out : (int)count;
    if (!drawn)
        return fail(error, CH_USAGE, "held-out: expected a share of %s to measure the model on, found 0",
                    material->recipe->text_file);
    ch_status status = material_examples(material, examples, drawn, error);
    if (status == CH_OK && material->corpus.count) material_hold_out(material, examples);
    if (status == CH_OK && !material->corpus.count) material_draw(material, examples, PHILOX_EVAL, NULL, 0, drawn);
    return status;
}

static ch_status evaluate(const ch_model *model, const struct material *material, size_t count, ch_evaluation *result,
                          ch_error *error) {
    const ch_recipe *recipe = material->recipe;
    struct ch_examples examples;
    ch_status status = draw_examples(material, &examples, count, error);
    if (status != CH_OK) return status;
    int threads = recipe_threads(recipe);
    status = force_all(model, recipe, &examples, threads, result, error);
    if (status == CH_OK && model->net.head->decodes && !recipe_has_text(recipe))
        status = decode_all(model, recipe->attention, &examples, threads, result, error);
    result->bits_per_character = material_bits(material, result->loss);
    examples_release(&examples);
    return status;
}

ch_status ch_evaluate(const ch_model *model, const ch_recipe *recipe, size_t count, ch_evaluation *result,
                      ch_error *error) {
    *result = (ch_evaluation){0};
    if (count < 1 || count > 10000000)
        return fail(error, CH_USAGE, "examples: expected 1 to 10000000, found %zu", count);
    struct material material;
    struct vocab_plan vocab = config_vocab(&model->config);
    ch_status status = evaluate_fits(model, recipe, error);
    if (status == CH_OK) status = material_open(&material, recipe, &vocab, error);
    if (status != CH_OK) return status;
    status = evaluate(model, &material, count, result, error);
    material_free(&material);
    return status;
}
