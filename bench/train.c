/*
 * Steps of training through the public API: the lesson's model in three sizes, and models of text, each by its recipe,
 * which clearhead train takes, too. Their text is drawn here, every character of the vocabulary in it: how many there
 * are is what a step costs, and not which comes when. Work: models.c.
 */
#include "bench.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "io/file.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <unistd.h>

enum { VERIFIED_STEPS = 2, STEPS = 1000000 /* more than will ever be taken */, PATH = 512 };

static const struct text_case {
    const char *name, *recipe;
    int characters; /* distinct ones */
} text_cases[] = {
    {"tinyshakespeare", CH_SOURCE "/recipes/tinyshakespeare.json", 65},
    {"gpt2", CH_SOURCE "/bench/gpt2.json", 50257},
};
enum { TEXT_CASES = sizeof text_cases / sizeof *text_cases };

struct training {
    ch_recipe *recipe;
    ch_trainer *trainer;
    char text[PATH]; /* its file; empty: none */
};

static bool row(size_t i, char name[CASE_NAME]) {
    if (i >= SIZES + TEXT_CASES) return false;
    snprintf(name, CASE_NAME, "%s", i < SIZES ? sizes[i].name : text_cases[i - SIZES].name);
    return true;
}

static void close_case(void *state) {
    struct training *t = state;
    if (!t) return;
    ch_trainer_free(t->trainer);
    ch_recipe_free(t->recipe);
    if (*t->text) unlink(t->text);
    mem_free(t);
}

/* ---- a text: all characters in order, then three times as many at random; `!` and what comes behind it ---- */

enum { FIRST_CHARACTER = '!', LEAST_TEXT = 20000 };

static ch_status write_text(char path[PATH], int characters, ch_error *error) {
    const char *folder = getenv("TMPDIR");
    size_t count = (size_t)(4 * characters < LEAST_TEXT ? LEAST_TEXT : 4 * characters), length = 0;
    char *text = mem_new(count, UTF8_BYTES);
    if (!text) return fail_memory(error, "the text");
    for (size_t i = 0; i < count; i++) {
        int character = i < (size_t)characters ? (int)i : input_below(1, i, characters);
        length += utf8_encode((uint32_t)(FIRST_CHARACTER + character), text + length);
    }
    snprintf(path, PATH, "%s/clearhead-bench-%ld.txt", folder ? folder : "/tmp", (long)getpid());
    ch_status status = file_write(path, text, length, error);
    mem_free(text);
    return status;
}

static ch_status read_recipe(struct training *t, const struct text_case *c, int threads, ch_error *error) {
    ch_status status = ch_recipe_new(&t->recipe, error);
    if (status == CH_OK) status = ch_recipe_read(t->recipe, c->recipe, error);
    if (status == CH_OK) status = set_number(t->recipe, "threads", threads, error);
    if (status == CH_OK) status = set_number(t->recipe, "validation", 0, error);
    if (status == CH_OK) status = write_text(t->text, c->characters, error);
    return status == CH_OK ? ch_recipe_set(t->recipe, "text", t->text, error) : status;
}

/* Steps are cheaper than inputs of their own. */
static void *open_case(size_t i, int threads, ch_error *error) {
    struct training *t = mem_new(1, sizeof *t);
    if (!t) return fail_memory(error, "the training"), NULL;
    ch_status status = CH_OK;
    if (i < SIZES)
        status = (t->recipe = recipe_of_size(&sizes[i], threads, error)) ? CH_OK : CH_FAILED;
    else
        status = read_recipe(t, &text_cases[i - SIZES], threads, error);
    if (status == CH_OK && set_number(t->recipe, "steps", STEPS, error) == CH_OK) return t;
    return close_case(t), NULL;
}

/* ---- the reference ---- */

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
static ch_status verify(void *state, ch_error *error) {
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

static ch_status run(void *state, ch_error *error) {
    ch_step step;
    return ch_trainer_step(((struct training *)state)->trainer, &step, error);
}

static struct work work(const void *state) {
    const ch_trainer *trainer = ((const struct training *)state)->trainer;
    const struct ch_examples *batch = &trainer->examples;
    struct work work = {0};
    for (int i = 0; i < batch->count; i++)
        work.flop += 3 * forward_flop(trainer->model, batch->source_length[i], batch->target_length[i] - 1);
    return work;
}

const struct kind kind_train = {.name = "train",
                                .row = row,
                                .open = open_case,
                                .verify = verify,
                                .run = run,
                                .work = work,
                                .close = close_case,
                                .threaded = true};
