/* Greedy decoding through the public API. Work: models.c. */
#include "bench.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A model that has been trained for a second ends most of its answers; one that has not goes on to the limit. */
static const struct decode_case {
    const char *name;
    int size, sources, batch, steps, max_new;
    int verified; /* sources that the reference decodes, too */
} decode_cases[] = {
    {"lesson-500", 0, 500, 50, 600, 19, 500},
    {"lesson-1", 0, 1, 1, 600, 19, 1},
    {"small-50", 1, 50, 50, 0, 61, 4},
};
enum { DECODE_CASES = sizeof decode_cases / sizeof *decode_cases };

struct decoding {
    const struct decode_case *row;
    int threads;
    ch_recipe *recipe;
    ch_model *model;
    ch_examples *examples;
    ch_sequence *source;
    ch_answer *answer;
    ch_decoder *decoder;
};

static bool decode_row(size_t i, char name[CASE_NAME]) {
    if (i >= DECODE_CASES) return false;
    snprintf(name, CASE_NAME, "%s", decode_cases[i].name);
    return true;
}

static void decode_close(void *state) {
    struct decoding *d = state;
    if (!d) return;
    ch_decoder_free(d->decoder);
    ch_model_free(d->model);
    ch_examples_free(d->examples);
    ch_recipe_free(d->recipe);
    mem_free(d->source);
    mem_free(d->answer);
    mem_free(d);
}

/* Through a file, as decoding gets its models: opening one makes it ready to decode. */
static ch_status reopen(const ch_model *trained, ch_model **model, ch_error *error) {
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/clearhead-bench-%ld.safetensors", folder ? folder : "/tmp", (long)getpid());
    ch_status status = ch_model_save(trained, path, error);
    if (status == CH_OK) status = ch_model_open(path, 0, model, error);
    unlink(path);
    return status;
}

static ch_status train_model(struct decoding *d, ch_error *error) {
    ch_step step;
    ch_trainer *trainer = NULL;
    ch_status status = ch_trainer_new(d->recipe, NULL, &trainer, error);
    for (int i = 0; i < d->row->steps && status == CH_OK; i++) status = ch_trainer_step(trainer, &step, error);
    if (status == CH_OK) status = reopen(ch_trainer_model(trainer), &d->model, error);
    ch_trainer_free(trainer);
    return status;
}

static ch_decode_options options_of(const struct decoding *d) {
    return (ch_decode_options){.max_new = d->row->max_new, .batch_size = d->row->batch, .threads = d->threads};
}

static ch_status prepare(struct decoding *d, ch_error *error) {
    size_t count = (size_t)d->row->sources;
    ch_decode_options options = options_of(d);
    d->source = mem_new(count, sizeof *d->source);
    d->answer = mem_new(count, sizeof *d->answer);
    if (!d->source || !d->answer) return fail_memory(error, "the decoding");
    ch_status status = ch_examples_new(d->recipe, count, &d->examples, error);
    if (status == CH_OK) status = train_model(d, error);
    if (status == CH_OK) status = ch_decoder_new(d->model, &options, &d->decoder, error);
    for (size_t i = 0; i < count && status == CH_OK; i++) d->source[i] = ch_examples_source(d->examples, i);
    return status;
}

static void *decode_open(size_t i, int threads, ch_error *error) {
    struct decoding *d = mem_new(1, sizeof *d);
    if (!d) return fail_memory(error, "the decoding"), NULL;
    d->row = &decode_cases[i];
    d->threads = threads;
    d->recipe = recipe_of_size(&sizes[d->row->size], threads, error);
    if (d->recipe && prepare(d, error) == CH_OK) return d;
    return decode_close(d), NULL;
}

static ch_status decode_run(void *state, ch_error *error) {
    struct decoding *d = state;
    return ch_decoder_run(d->decoder, d->source, (size_t)d->row->sources, d->answer, error);
}

static ch_status same_answer(size_t number, const ch_answer *found, const ch_answer *expected, ch_error *error) {
    if (found->length == expected->length && found->ended == expected->ended &&
        memcmp(found->tokens, expected->tokens, found->length * sizeof *found->tokens) == 0)
        return CH_OK;
    size_t t = 0;
    while (t < found->length && t < expected->length && found->tokens[t] == expected->tokens[t]) t++;
    return fail(error, CH_FAILED, "answer %zu parts from that without a cache at token %zu", number, t + 1);
}

/* The reference computes every position again at every step, with the explicit core, on one thread. */
static ch_status decode_verify(void *state, ch_error *error) {
    struct decoding *d = state;
    size_t count = (size_t)d->row->verified;
    ch_decode_options options = options_of(d);
    options.no_cache = true;
    options.attention = "explicit";
    options.threads = 1;
    ch_decoder *reference = NULL;
    ch_answer *expected = mem_new(count, sizeof *expected);
    if (!expected) return fail_memory(error, "the reference");
    ch_status status = decode_run(d, error);
    if (status == CH_OK) status = ch_decoder_new(d->model, &options, &reference, error);
    if (status == CH_OK) status = ch_decoder_run(reference, d->source, count, expected, error);
    for (size_t i = 0; i < count && status == CH_OK; i++)
        status = same_answer(i + 1, &d->answer[i], &expected[i], error);
    ch_decoder_free(reference);
    mem_free(expected);
    return status;
}

static struct work decode_work(const void *state) {
    const struct decoding *d = state;
    struct work work = {0};
    for (int i = 0; i < d->row->sources; i++)
        work.flop +=
            forward_flop(d->model, (double)d->source[i].length, (double)d->answer[i].length + d->answer[i].ended);
    return work;
}

const struct kind kind_decode = {.name = "decode",
                                 .row = decode_row,
                                 .open = decode_open,
                                 .verify = decode_verify,
                                 .run = decode_run,
                                 .work = decode_work,
                                 .close = decode_close,
                                 .threaded = true};
