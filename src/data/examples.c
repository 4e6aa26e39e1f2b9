#include "data/examples.h"
#include "base/memory.h"

ch_status examples_init_for(struct ch_examples *examples, int capacity, struct example_limits limits,
                            const struct vocab_plan *vocab, ch_error *error) {
    size_t rows = (size_t)capacity;
    *examples = (struct ch_examples){
        .capacity = capacity,
        .longest = limits.source,
        .longest_target = limits.target,
        .source = mem_new(rows, (size_t)limits.source * sizeof(int)),
        .target = mem_new(rows, (size_t)limits.target * sizeof(int)),
        .source_length = mem_new(rows, sizeof(int)),
        .target_length = mem_new(rows, sizeof(int)),
    };
    ch_status status = vocab_new(&examples->vocab, vocab, error);
    bool complete = examples->source && examples->target && examples->source_length && examples->target_length;
    if (status == CH_OK && !complete) status = fail_memory(error, "examples");
    if (status != CH_OK) examples_release(examples);
    return status;
}

ch_status examples_init(struct ch_examples *examples, int capacity, int longest, int symbols, ch_error *error) {
    struct vocab_plan vocab = vocab_lesson(symbols);
    return examples_init_for(examples, capacity, (struct example_limits){longest, longest + 2}, &vocab, error);
}

uint64_t examples_bytes(uint64_t capacity, struct example_limits limits) {
    uint64_t numbers = (uint64_t)limits.source + (uint64_t)limits.target + 2; /* and two lengths */
    return mem_times(capacity, numbers * sizeof(int));
}

void examples_release(struct ch_examples *examples) {
    vocab_free(&examples->vocab);
    mem_free(examples->source);
    mem_free(examples->target);
    mem_free(examples->source_length);
    mem_free(examples->target_length);
    *examples = (struct ch_examples){0};
}

/* SOS, the answer, EOS. */
static void write_target(struct ch_examples *examples, const struct task *task, int i) {
    int length = examples->source_length[i];
    int *target = examples->target + (size_t)i * (size_t)examples->longest_target;
    target[0] = ch_vocab_sos(&examples->vocab);
    task->answer(target + 1, examples->source + (size_t)i * (size_t)examples->longest, length);
    target[length + 1] = ch_vocab_eos(&examples->vocab);
    examples->target_length[i] = length + 2;
}

/* As the lesson's make_batch: all lengths, then the symbols of each. */
static void draw_torch(struct ch_examples *examples, const struct example_stream *stream, int count) {
    uint32_t lengths = (uint32_t)(stream->max_length - stream->min_length + 1);
    for (int i = 0; i < count; i++)
        examples->source_length[i] = stream->min_length + (int)torch_rng_below(stream->torch, lengths);
    for (int i = 0; i < count; i++) {
        int *source = examples->source + (size_t)i * (size_t)examples->longest;
        for (int t = 0; t < examples->source_length[i]; t++)
            source[t] = (int)torch_rng_below(stream->torch, (uint32_t)stream->symbols);
    }
}

/* A whole number below `range` from 32 random bits; the bias is below range / 2^32. */
static int below(uint32_t bits, int range) {
    return (int)((uint64_t)bits * (uint64_t)range >> 32);
}

enum { PER_DRAW = 4 };

static void draw_philox(struct ch_examples *examples, const struct example_stream *stream, uint64_t step,
                        uint32_t first, int count) {
    struct philox_key key = philox_derive(stream->seed, stream->use, step);
    for (int i = 0; i < count; i++) {
        int *source = examples->source + (size_t)i * (size_t)examples->longest;
        uint32_t counter[4] = {0, first + (uint32_t)i, 0, 0}, bits[PER_DRAW];
        philox(key, counter, bits); /* counter 0 gives the length, 1 and up the symbols */
        int length = stream->min_length + below(bits[0], stream->max_length - stream->min_length + 1);
        examples->source_length[i] = length;
        for (int t = 0; t < length; t++) {
            if (t % PER_DRAW == 0) {
                counter[0]++;
                philox(key, counter, bits);
            }
            source[t] = below(bits[t % PER_DRAW], stream->symbols);
        }
    }
}

/* A source and its class: everything from the example's own numbers. */
static void draw_class(struct ch_examples *examples, const struct example_stream *stream, struct draws draws, int i) {
    const struct task *task = stream->task;
    int step = task->in_pairs ? 2 : 1, least = (stream->min_length + step - 1) / step, most = stream->max_length / step;
    int length = step * (least + draws_below(&draws, most - least + 1));
    int *source = examples->source + (size_t)i * (size_t)examples->longest;
    int *target = examples->target + (size_t)i * (size_t)examples->longest_target;
    examples->source_length[i] = length;
    target[0] =
        task->draw(source, length, stream->symbols, &draws, target); /* the target's place is scratch till then */
    examples->target_length[i] = 1;
}

static void draw_classes(struct ch_examples *examples, const struct example_stream *stream, uint64_t step,
                         uint32_t first, int count) {
    struct philox_key key = philox_derive(stream->seed, stream->use, step);
    for (int i = 0; i < count; i++)
        draw_class(examples, stream,
                   stream->torch ? draws_torch(stream->torch) : draws_philox(key, first + (uint32_t)i), i);
}

void examples_draw(struct ch_examples *examples, const struct example_stream *stream, uint64_t step, uint32_t first,
                   int count) {
    ch_assert(count <= examples->capacity && stream->max_length <= examples->longest);
    ch_assert(stream->symbols == examples->vocab.symbols);
    ch_assert(examples->longest_target >= stream->max_length + 2);
    examples->count = count;
    examples->task = stream->task;
    examples->kind = stream->task->kind == TASK_TO_CLASS ? EXAMPLE_LABELS : EXAMPLE_SEQUENCE;
    if (stream->task->kind == TASK_TO_CLASS) {
        draw_classes(examples, stream, step, first, count);
        return;
    }
    if (stream->torch)
        draw_torch(examples, stream, count);
    else
        draw_philox(examples, stream, step, first, count);
    for (int i = 0; i < count; i++) write_target(examples, stream->task, i);
}

int examples_labels(const struct ch_examples *examples, int i) {
    int labels = 0;
    if (examples->kind == EXAMPLE_SEQUENCE) return examples->target_length[i] - 1;
    ch_sequence target = ch_examples_target(examples, (size_t)i);
    for (size_t t = 0; t < target.length; t++) labels += target.tokens[t] >= 0;
    return labels;
}

size_t ch_examples_count(const ch_examples *examples) {
    return (size_t)examples->count;
}

const ch_vocab *ch_examples_vocab(const ch_examples *examples) {
    return &examples->vocab;
}

const char *ch_examples_class(const ch_examples *examples, size_t i) {
    ch_assert(i < (size_t)examples->count);
    bool has_class = examples->task && examples->task->kind == TASK_TO_CLASS;
    return has_class ? examples->task->class_name[ch_examples_target(examples, i).tokens[0]] : NULL;
}

ch_sequence ch_examples_source(const ch_examples *examples, size_t i) {
    ch_assert(i < (size_t)examples->count);
    return (ch_sequence){examples->source + i * (size_t)examples->longest, (size_t)examples->source_length[i]};
}

ch_sequence ch_examples_target(const ch_examples *examples, size_t i) {
    ch_assert(i < (size_t)examples->count);
    return (ch_sequence){examples->target + i * (size_t)examples->longest_target, (size_t)examples->target_length[i]};
}
