/*
 * Whole models through the public API: steps of training, and greedy decoding.
 *
 * Work is the useful arithmetic: all matrix products over real tokens, attention's over the pairs that a query sees,
 * 2 m n k each; backward is twice forward. For a source of s tokens and t decoder rows, D width, F hidden, V tokens:
 *   encoder layer  2 s D (3 D + D + 2 F) + 4 s s D
 *   decoder layer  2 t D (3 D + D + 2 D + 2 F) + 2 s D 2 D + 4 (t (t + 1) / 2 + t s) D
 *   output         2 t D V
 * Decoding with a cache takes the same for t generated tokens, EOS included.
 */
#include "bench.h"
#include "base/memory.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double forward_flop(const ch_model_info *m, double s, double t) {
    double d = m->d_model, f = m->d_ff;
    double encoder = 2 * s * d * (4 * d + 2 * f) + 4 * s * s * d;
    double decoder = 2 * t * d * (6 * d + 2 * f) + 4 * s * d * d + 4 * (t * (t + 1) / 2 + t * s) * d;
    return m->layers * (encoder + decoder) + 2 * t * d * m->vocab_size;
}

/* ---- recipes ---- */

static ch_status set_number(ch_recipe *recipe, const char *option, int value, ch_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%d", value);
    return ch_recipe_set(recipe, option, text, error);
}

static ch_recipe *recipe_of(const struct size *size, int threads, ch_error *error) {
    const struct {
        const char *option;
        int value;
    } row[] = {
        {"symbols", size->symbols},
        {"min-len", size->shortest},
        {"max-len", size->longest},
        {"d-model", size->width},
        {"heads", size->heads},
        {"d-ff", size->hidden},
        {"layers", size->layers},
        {"batch-size", size->batch},
        {"threads", threads},
        {"validation", 0},
        {"average", 0}, /* as PyTorch's loop */
    };
    ch_recipe *recipe;
    ch_status status = ch_recipe_new(&recipe, error);
    for (size_t i = 0; i < sizeof row / sizeof *row && status == CH_OK; i++)
        status = set_number(recipe, row[i].option, row[i].value, error);
    if (status == CH_OK) return recipe;
    ch_recipe_free(recipe);
    return NULL;
}

/* ---- training ---- */

enum { VERIFIED_STEPS = 2 };

struct training {
    ch_recipe *recipe;
    ch_trainer *trainer;
};

static bool train_row(size_t i, char name[CASE_NAME]) {
    if (i >= SIZES) return false;
    snprintf(name, CASE_NAME, "%s", sizes[i].name);
    return true;
}

static void train_close(void *state) {
    struct training *t = state;
    if (!t) return;
    ch_trainer_free(t->trainer);
    ch_recipe_free(t->recipe);
    mem_free(t);
}

/* Steps are cheaper than inputs of their own: more than will ever be taken. */
static void *train_open(size_t i, int threads, ch_error *error) {
    struct training *t = mem_new(1, sizeof *t);
    if (!t) return fail_memory(error, "the training"), NULL;
    t->recipe = recipe_of(&sizes[i], threads, error);
    if (t->recipe && set_number(t->recipe, "steps", 1000000, error) == CH_OK) return t;
    return train_close(t), NULL;
}

static ch_status take_steps(const ch_recipe *recipe, ch_trainer **trainer, ch_step step[VERIFIED_STEPS],
                            ch_error *error) {
    ch_status status = ch_trainer_new(recipe, NULL, trainer, error);
    for (int i = 0; i < VERIFIED_STEPS && status == CH_OK; i++) status = ch_trainer_step(*trainer, &step[i], error);
    return status;
}

/* A ReLU whose argument is within rounding of 0 may open on one route and not on the other. One of some 500,000 in a
 * step of the lesson then adds or takes its whole gradient, at most 1 / sqrt(500,000) of the norm; its output stays
 * within rounding, and so does the loss. */
static const double norm_tolerance = 1.5e-3;

static ch_status same_step(const ch_step *found, const ch_step *expected, ch_error *error) {
    if (!(fabs(found->loss - expected->loss) <= usual_tolerance() * fmax(1, expected->loss)))
        return fail(error, CH_FAILED, "loss of step %lld: expected %.9g, found %.9g", (long long)found->step,
                    expected->loss, found->loss);
    if (!(fabs(found->grad_norm - expected->grad_norm) <= norm_tolerance * expected->grad_norm))
        return fail(error, CH_FAILED, "gradient norm of step %lld: expected %.9g, found %.9g", (long long)found->step,
                    expected->grad_norm, found->grad_norm);
    return CH_OK;
}

/* The reference takes the same steps on one thread with the explicit core; one trainer at a time, as they are large. */
static ch_status train_verify(void *state, ch_error *error) {
    struct training *t = state;
    ch_step step[VERIFIED_STEPS], expected[VERIFIED_STEPS];
    ch_trainer *reference = NULL;
    char threads[RECIPE_TEXT];
    snprintf(threads, sizeof threads, "%s", ch_recipe_get(t->recipe, "threads"));
    ch_status status = ch_recipe_set(t->recipe, "attention", "explicit", error);
    if (status == CH_OK) status = ch_recipe_set(t->recipe, "threads", "1", error);
    if (status == CH_OK) status = take_steps(t->recipe, &reference, expected, error);
    ch_trainer_free(reference);
    if (status == CH_OK) status = ch_recipe_set(t->recipe, "attention", "fused", error);
    if (status == CH_OK) status = ch_recipe_set(t->recipe, "threads", threads, error);
    if (status == CH_OK) status = take_steps(t->recipe, &t->trainer, step, error);
    for (int i = 0; i < VERIFIED_STEPS && status == CH_OK; i++) status = same_step(&step[i], &expected[i], error);
    return status;
}

static ch_status train_run(void *state, ch_error *error) {
    ch_step step;
    return ch_trainer_step(((struct training *)state)->trainer, &step, error);
}

static struct work train_work(const void *state) {
    const ch_trainer *trainer = ((const struct training *)state)->trainer;
    const struct ch_examples *batch = &trainer->examples;
    ch_model_info info = ch_model_get_info(ch_trainer_model(trainer));
    struct work work = {0};
    for (int i = 0; i < batch->count; i++)
        work.flop += 3 * forward_flop(&info, batch->source_length[i], batch->target_length[i] - 1);
    return work;
}

const struct kind kind_train = {.name = "train",
                                .row = train_row,
                                .open = train_open,
                                .verify = train_verify,
                                .run = train_run,
                                .work = train_work,
                                .close = train_close,
                                .threaded = true};

/* ---- decoding ---- */

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
    d->recipe = recipe_of(&sizes[d->row->size], threads, error);
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
    ch_model_info info = ch_model_get_info(d->model);
    struct work work = {0};
    for (int i = 0; i < d->row->sources; i++)
        work.flop += forward_flop(&info, (double)d->source[i].length, (double)d->answer[i].length + d->answer[i].ended);
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
