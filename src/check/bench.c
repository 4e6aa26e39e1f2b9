#include "check/bench.h"
#include "data/draws.h"

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

/* As texts are framed; of hidden tokens each is asked for. Every position costs a stage a walk or so, and what is wrong
 * shows in some dozens. */
static ch_status text_pair(struct ch_examples *examples, const struct ch_model *model, uint64_t seed, ch_error *error) {
    enum { LONGEST = 64 };
    bool decodes = model->net.head->decodes;
    int longest = model->config.max_positions < LONGEST ? model->config.max_positions : LONGEST;
    struct vocab_plan vocab = config_vocab(&model->config);
    struct example_limits limits = {longest, longest + 1};
    ch_status status = examples_init_for(examples, 2, limits, &vocab, error);
    if (status != CH_OK) return status;
    examples->kind = decodes ? EXAMPLE_SEQUENCE : EXAMPLE_LABELS;
    examples->count = 2;
    for (int i = 0; i < 2; i++) {
        struct draws draws = draws_philox(philox_derive(seed, PHILOX_DATA, 1), (uint32_t)i);
        int length = i ? (longest + 1) / 2 : longest;
        examples->source_length[i] = decodes ? 0 : length;
        examples->target_length[i] = length + decodes;
        for (int t = 0; t < length + decodes; t++) {
            int token = draws_below(&draws, examples->vocab.symbols);
            examples->target[i * limits.target + t] = token;
            if (!decodes) examples->source[i * limits.source + t] = token;
        }
    }
    return CH_OK;
}

ch_status bench_pair(struct ch_examples *examples, const struct ch_model *model, const ch_recipe *recipe,
                     ch_error *error) {
    if (model->vocab.tokens->of_text) return text_pair(examples, model, (uint64_t)recipe->seed, error);
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
