#include "train/shard.h"
#include "base/memory.h"

#include <string.h>

static int most(int a, int b) {
    return a > b ? a : b;
}

/* The rows and sequences of the largest use. */
static ch_status new_buffers(struct shard *shard, const struct shard_use *use, int uses, ch_error *error) {
    int sequences = 0, sources = 0, targets = 0;
    for (int i = 0; i < uses; i++) {
        const struct batch_limits *limits = &use[i].limits;
        int source_rows, target_rows;
        if (__builtin_mul_overflow(limits->sequences, limits->source, &source_rows) ||
            __builtin_mul_overflow(limits->sequences, limits->target, &target_rows))
            return fail(error, CH_NO_MEMORY, "a batch of %d sequences of %d tokens has more rows than can be counted",
                        limits->sequences, limits->target);
        sequences = most(sequences, limits->sequences);
        sources = most(sources, source_rows);
        targets = most(targets, target_rows);
    }
    bool complete =
        batch_buffer_new(&shard->source, sequences, sources) && batch_buffer_new(&shard->target, sequences, targets);
    shard->label = mem_new((size_t)targets, sizeof *shard->label);
    return complete && shard->label ? CH_OK : fail_memory(error, "a batch");
}

static ch_status new_workspace(struct shard *shard, const struct ch_model *model, const struct shard_use *use, int uses,
                               ch_error *error) {
    const struct shard_use *largest = use;
    size_t bytes = 0;
    struct encoder_decoder_saved saved;
    if (!encoder_decoder_saved_new(&saved, &model->net)) return fail_memory(error, "a pass");
    for (int i = 0; i < uses; i++) {
        size_t needed = workspace_measure(model, &use[i].pass, &use[i].limits, use[i].backward, &saved);
        if (needed > bytes) largest = &use[i];
        bytes = needed > bytes ? needed : bytes;
    }
    encoder_decoder_saved_free(&saved);
    return workspace_new(&shard->workspace, model, &largest->pass, &largest->limits, largest->backward, error);
}

ch_status shard_new_for(struct shard *shard, const struct ch_model *model, const struct shard_use *use, int uses,
                        ch_error *error) {
    *shard = (struct shard){0};
    ch_status status = new_buffers(shard, use, uses, error);
    if (status == CH_OK) status = new_workspace(shard, model, use, uses, error);
    if (status != CH_OK) shard_free(shard);
    return status;
}

ch_status shard_new(struct shard *shard, const struct ch_model *model, const struct pass *pass,
                    const struct batch_limits *limits, bool backward, ch_error *error) {
    struct shard_use use = {.pass = *pass, .limits = *limits, .backward = backward};
    return shard_new_for(shard, model, &use, 1, error);
}

void shard_free(struct shard *shard) {
    workspace_free(&shard->workspace);
    batch_buffer_free(&shard->source);
    batch_buffer_free(&shard->target);
    mem_free(shard->label);
    *shard = (struct shard){0};
}

static void add_example(struct shard *shard, const struct ch_examples *examples, int i) {
    ch_sequence source = ch_examples_source(examples, (size_t)i), target = ch_examples_target(examples, (size_t)i);
    int *token = batch_add(&shard->source, (int)source.length, 0, (uint32_t)i);
    memcpy(token, source.tokens, source.length * sizeof *token);
    int *label = shard->label + shard->target.view.rows;
    token = batch_add(&shard->target, (int)target.length - 1, 0, (uint32_t)i);
    memcpy(token, target.tokens, (target.length - 1) * sizeof *token); /* all but the last: shifted right */
    memcpy(label, target.tokens + 1, (target.length - 1) * sizeof *label);
}

static void clear(struct shard *shard) {
    batch_clear(&shard->source);
    batch_clear(&shard->target);
}

void shard_load(struct shard *shard, const struct ch_examples *examples, int first, int count) {
    clear(shard);
    for (int i = first; i < first + count; i++) add_example(shard, examples, i);
}

void shard_load_these(struct shard *shard, const struct ch_examples *examples, const int *which, int count) {
    clear(shard);
    for (int i = 0; i < count; i++) add_example(shard, examples, which[i]);
}

void shard_run(struct shard *shard, const struct ch_model *model, struct pass pass, real scale) {
    pass.params = &model->params;
    pass.arena = &shard->workspace.arena;
    arena_reset(pass.arena, 0);
    real *logits = model_forward(&pass, model, shard->source.token, &shard->source.view, shard->target.token,
                                 &shard->target.view, &shard->workspace.saved);
    int vocab = ch_vocab_size(&model->vocab);
    shard->loss = cross_entropy(logits, logits, shard->label, -1, scale, shard->target.view.rows, vocab);
    profile_lap(pass.profile, OPERATION_LOSS);
    if (pass.grad) encoder_decoder_backward(&pass, &model->net, logits, &shard->workspace.saved);
}
