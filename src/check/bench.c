#include "check/bench.h"

ch_status bench_new(struct bench *bench, const struct ch_model *model, const struct pass *pass,
                    const struct ch_examples *examples, bool backward, ch_error *error) {
    *bench = (struct bench){.model = model, .pass = *pass};
    int source = 0, target = 0;
    for (int i = 0; i < examples->count; i++) {
        if (examples->source_length[i] > source) source = examples->source_length[i];
        if (examples->target_length[i] > target) target = examples->target_length[i];
    }
    struct batch_limits limits = frame_limits(&model->config, examples->count, source, target);
    ch_status status = shard_new(&bench->shard, model, pass, &limits, backward, error);
    if (status == CH_OK) shard_load(&bench->shard, examples, 0, examples->count);
    return status;
}

void bench_free(struct bench *bench) {
    shard_free(&bench->shard);
}

const real *bench_logits(struct bench *bench) {
    struct shard *shard = &bench->shard;
    struct pass pass = bench->pass;
    pass.params = &bench->model->params;
    pass.arena = &shard->workspace.arena;
    arena_reset(pass.arena, 0);
    struct assembly_input input = frame_input(&shard->frame);
    return assembly_forward(&pass, &bench->model->net, &input, &shard->workspace.saved);
}

/* The longest length up to `most` that the task has. */
static int task_length(const struct task *task, int most) {
    return task->in_pairs ? most - most % 2 : most;
}

ch_status bench_pair(struct ch_examples *examples, const ch_recipe *recipe, ch_error *error) {
    int longest = (int)recipe->max_len;
    struct example_stream stream = example_stream(recipe, PHILOX_DATA, NULL);
    ch_status status = examples_init(examples, 2, longest, stream.symbols, error);
    if (status != CH_OK) return status;
    int shorter = task_length(recipe->task, (longest + 1) / 2);
    stream.min_length = stream.max_length = shorter ? shorter : task_length(recipe->task, longest);
    examples_draw(examples, &stream, 1, 0, 2);
    stream.min_length = stream.max_length = task_length(recipe->task, longest);
    examples_draw(examples, &stream, 1, 0, 1); /* the first once more; the second stays as it is */
    examples->count = 2;
    return CH_OK;
}
