#include "train/shard.h"
#include "base/memory.h"

#include <string.h>

static int most(int a, int b) {
    return a > b ? a : b;
}

/* Rows of the largest use, each kind on its own. */
static ch_status new_frame(struct shard *shard, const struct ch_model *model, const struct shard_use *use, int uses,
                           ch_error *error) {
    struct batch_limits all = {0};
    for (int i = 0; i < uses; i++) {
        const struct batch_limits *limits = &use[i].limits;
        int longest = most(limits->source, limits->target), rows;
        if (__builtin_mul_overflow(limits->sequences, longest, &rows))
            return fail(error, CH_NO_MEMORY, "a batch of %d sequences of %d tokens has more rows than can be counted",
                        limits->sequences, longest);
        all.sequences = most(all.sequences, limits->sequences);
        all.source = most(all.source, limits->source);
        all.target = most(all.target, limits->target);
    }
    return frame_new(&shard->frame, &model->config, &all) ? CH_OK : fail_memory(error, "a batch");
}

static ch_status new_workspace(struct shard *shard, const struct ch_model *model, const struct shard_use *use, int uses,
                               ch_error *error) {
    const struct shard_use *largest = use;
    size_t bytes = 0;
    struct assembly_saved saved;
    if (!assembly_saved_new(&saved, &model->net)) return fail_memory(error, "a pass");
    for (int i = 0; i < uses; i++) {
        size_t needed = workspace_measure(model, &use[i].pass, &use[i].limits, use[i].backward, &saved);
        if (needed > bytes) largest = &use[i];
        bytes = needed > bytes ? needed : bytes;
    }
    assembly_saved_free(&saved);
    return workspace_new(&shard->workspace, model, &largest->pass, &largest->limits, largest->backward, error);
}

struct batch_limits shard_limits(const struct ch_model *model, const ch_recipe *recipe, int sequences) {
    struct example_limits size = recipe_most_tokens(recipe);
    return frame_limits(&model->config, sequences, size.source, size.target);
}

ch_status shard_new_for(struct shard *shard, const struct ch_model *model, const struct shard_use *use, int uses,
                        ch_error *error) {
    *shard = (struct shard){0};
    ch_status status = new_frame(shard, model, use, uses, error);
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
    frame_free(&shard->frame);
    *shard = (struct shard){0};
}

static void add_example(struct shard *shard, const struct ch_examples *examples, int i) {
    frame_add(&shard->frame, ch_examples_source(examples, (size_t)i), ch_examples_target(examples, (size_t)i),
              (uint32_t)i);
}

void shard_load(struct shard *shard, const struct ch_examples *examples, int first, int count) {
    frame_clear(&shard->frame);
    for (int i = first; i < first + count; i++) add_example(shard, examples, i);
}

void shard_load_these(struct shard *shard, const struct ch_examples *examples, const int *which, int count) {
    frame_clear(&shard->frame);
    for (int i = 0; i < count; i++) add_example(shard, examples, which[i]);
}

void shard_run(struct shard *shard, const struct ch_model *model, struct pass pass, real scale) {
    const struct frame *frame = &shard->frame;
    struct assembly_input input = frame_input(frame);
    pass.params = &model->params;
    pass.arena = &shard->workspace.arena;
    arena_reset(pass.arena, 0);
    real *logits = assembly_forward(&pass, &model->net, &input, &shard->workspace.saved);
    shard->loss = cross_entropy(logits, logits, frame->label, -1, scale,
                                assembly_logit_rows(&model->net, frame_last(frame)), model->net.outputs);
    profile_lap(pass.profile, OPERATION_LOSS);
    if (pass.grad) assembly_backward(&pass, &model->net, logits, &shard->workspace.saved);
}
