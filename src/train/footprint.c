/*
 * What a training run takes of the machine's memory, measured without taking it: what is set aside, for batches of
 * nothing but the longest sequences, and what is touched, for the largest batches that are likely to be drawn. Pages
 * that nobody writes are not taken, so the second is what one sees.
 *
 * Lengths are uniform in min..max. The sum of B of them has mean B (min + max) / 2 and deviation s sqrt(B), where s^2 =
 * ((max - min + 1)^2 - 1) / 12; the largest of n such sums is expected below s sqrt(B) sqrt(2 ln n) above the mean.
 */
#include "base/memory.h"
#include "kernels/gemm.h"
#include "train/evaluate.h"
#include "train/trainer.h"

/* Two batches as a measuring walk sees them; of a kind that the assembly lacks, without rows. */
struct drawn {
    struct batch source, target;
    int *length; /* (2 B) of sources and of targets */
};

static void drawn_free(struct drawn *drawn) {
    mem_free(drawn->length);
}

static double largest_sum(const ch_recipe *recipe, double sequences, double draws) {
    double low = (double)recipe_shortest(recipe), high = (double)recipe_longest(recipe), range = high - low + 1;
    double deviation = sqrt((range * range - 1) / 12 * sequences);
    double sum = sequences * (low + high) / 2 + deviation * sqrt(2 * log(draws < 1 ? 1 : draws));
    return sum < sequences * high ? sum : sequences * high;
}

/* Symbols of example b of so many: from the longest down in even steps, as deal leaves them, to a sum of about `all`.
 */
static int spread(int b, int sequences, double longest, double all) {
    double part = sequences > 1 ? (double)b / (sequences - 1) : 0;
    double here = longest + part * (2 * all / sequences - 2 * longest);
    return here < 1 ? 1 : (int)(here + 0.5);
}

static void add_rows(struct batch *batch, int *length, int rows) {
    *length = rows;
    batch->rows = rows > INT32_MAX - batch->rows ? INT32_MAX : batch->rows + rows;
}

/* The largest of so many draws of `batch` sequences, cut into like pieces of limits->sequences; false if memory runs
 * out. */
static bool drawn_new(struct drawn *drawn, const struct config *config, const ch_recipe *recipe,
                      const struct batch_limits *limits, int batch, double draws) {
    int sequences = limits->sequences, *length = mem_new(2 * (size_t)sequences, sizeof(int));
    *drawn = (struct drawn){.source = batch_sizes(sequences, limits->source),
                            .target = batch_sizes(sequences, limits->target),
                            .length = length};
    if (!length) return false;
    drawn->source.rows = drawn->target.rows = 0;
    drawn->source.length = length;
    drawn->target.length = length + sequences;
    double all = largest_sum(recipe, batch, draws) * sequences / batch;
    for (int b = 0; b < sequences; b++) {
        struct example_limits size =
            recipe_example_size(recipe, spread(b, sequences, (double)recipe_longest(recipe), all));
        struct batch_limits rows = frame_limits(config, 1, size.source, size.target);
        add_rows(&drawn->source, &length[b], rows.source);
        add_rows(&drawn->target, &length[sequences + b], rows.target);
    }
    return true;
}

/* A walk over a piece of the largest of so many batches, or, where draws are 0, of the longest sequences. */
static uint64_t measure_walk(const struct ch_model *model, const ch_recipe *recipe, struct shard_use use, int batch,
                             double draws) {
    struct assembly_saved saved;
    struct drawn drawn = {0};
    uint64_t bytes = 0;
    if (!assembly_saved_new(&saved, &model->net)) return 0;
    if (draws == 0)
        bytes = workspace_measure(model, &use.pass, &use.limits, use.backward, &saved);
    else if (drawn_new(&drawn, &model->config, recipe, &use.limits, batch, draws))
        bytes = workspace_measure_batches(model, &use.pass, &drawn.source, &drawn.target, use.backward, &saved);
    drawn_free(&drawn);
    assembly_saved_free(&saved);
    return bytes;
}

static void measure_state(struct trainer_memory *memory, const struct ch_model *model, const ch_recipe *recipe,
                          uint64_t lanes) {
    uint64_t trained = mem_times(model->params.trained, sizeof(real));
    uint64_t values = mem_times(model->params.block, sizeof(real));
    memory->parameters = recipe->average ? mem_plus(values, values) : values;
    if (params_turn_pays(&model->params)) memory->parameters = mem_plus(memory->parameters, trained);
    memory->gradients = mem_times(trained, recipe->log_gradients ? lanes + 1 : lanes); /* 1: the parameters before */
    memory->moments = mem_times(trained, (uint64_t)recipe->optimizer->moments);
}

static void measure_batches(struct trainer_memory *memory, const struct ch_model *model,
                            const struct material *material, uint64_t lanes) {
    const ch_recipe *recipe = material->recipe;
    uint64_t batch = (uint64_t)recipe->batch_size;
    struct example_limits most = recipe_most_tokens(recipe);
    uint64_t examples = examples_bytes(batch + (uint64_t)material->held_out, most);
    uint64_t bytes =
        mem_plus(examples, deal_bytes(trainer_shards(recipe), batch, (uint64_t)most.source + (uint64_t)most.target));
    struct batch_limits limits = trainer_limits(model, recipe);
    uint64_t rows = mem_times((uint64_t)limits.sequences, (uint64_t)limits.source + (uint64_t)limits.target);
    bytes = mem_plus(bytes, mem_times((uint64_t)material->corpus.count, sizeof(int)));
    memory->batches = mem_plus(bytes, mem_times(mem_times(rows, 4 * sizeof(int)), lanes));
}

struct trainer_memory trainer_measure(const struct ch_model *model, const struct material *material, bool set_aside) {
    const ch_recipe *recipe = material->recipe;
    struct trainer_memory memory = {.products = gemm_memory()};
    struct shard_use uses[TRAINER_USES];
    uint64_t lanes = (uint64_t)trainer_lanes(recipe);
    int count = trainer_uses(model, recipe, uses);
    measure_state(&memory, model, recipe, lanes);
    measure_batches(&memory, model, material, lanes);
    uint64_t step =
        measure_walk(model, recipe, uses[0], (int)recipe->batch_size, set_aside ? 0 : (double)recipe->steps);
    memory.activations = mem_times(step, lanes);
    if (count < 2) return memory;
    uint64_t validation = measure_walk(model, recipe, uses[1], material->held_out, set_aside ? 0 : 1);
    if (validation > step) memory.validation = mem_times(validation - step, lanes);
    return memory;
}

uint64_t trainer_memory_total(const struct trainer_memory *m) {
    uint64_t state = mem_plus(mem_plus(m->parameters, m->gradients), m->moments);
    uint64_t walks = mem_plus(mem_plus(m->activations, m->validation), m->batches);
    return mem_plus(mem_plus(state, walks), m->products);
}
