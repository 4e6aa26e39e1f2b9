/*
 * Stage generalisation: examples that training never saw, whole answers by greedy decoding; and whether the last
 * layer's cross-attention shows the alignment that the task is about. Without a model it trains one first, by the
 * recipe.
 */
#include "base/memory.h"
#include "base/text.h"
#include "check/check.h"
#include "check/expectation.h"
#include "check/text.h"
#include "train/evaluate.h"

#include "inspect/attention.h"

#include <string.h>

enum { EXAMPLES = 500, LOOKS = 50 };
static const double enough = 0.99; /* of the answers */

/* ---- training ---- */

struct course {
    const struct check *check;
    ch_step first, last;
};

static bool each_step(const ch_step *step, void *context) {
    struct course *course = context;
    if (step->step == 1) course->first = *step;
    course->last = *step;
    return check_step(course->check, step);
}

static ch_status train(const struct check *check, ch_trainer **trainer, ch_error *error) {
    struct course course = {.check = check};
    ch_status status = ch_trainer_new(check->recipe, NULL, trainer, error);
    if (status == CH_OK) status = ch_trainer_run(*trainer, each_step, &course, error);
    if (status == CH_OK)
        check_line(check, "trained first: %lld step%s, loss %s to %s", (long long)course.last.steps,
                   text_plural((uint64_t)course.last.steps), check_number(course.first.loss, 4).text,
                   check_number(course.last.loss, 4).text);
    return status;
}

/* ---- alignment ---- */

/* Means over the looks, for each head of the last layer. */
struct looks {
    ch_alignment *head; /* (heads) */
    int heads, layer, count;
};

static void add_alignment(ch_alignment *sum, const ch_alignment *more, double share) {
    sum->anti_diagonal += share * more->anti_diagonal;
    sum->diagonal += share * more->diagonal;
    sum->entropy += share * more->entropy;
    sum->uniform_entropy += share * more->uniform_entropy;
}

static ch_status look_at(struct looks *looks, const ch_model *model, ch_sequence source, ch_error *error) {
    ch_attention *attention;
    ch_status status = ch_look(model, source, 0, &attention, error);
    if (status != CH_OK) return status;
    for (int h = 0; h < looks->heads; h++) {
        ch_alignment alignment = ch_attention_alignment(attention, looks->layer, h);
        add_alignment(&looks->head[h], &alignment, 1.0 / LOOKS);
    }
    ch_attention_free(attention);
    return CH_OK;
}

static ch_status look_at_all(struct looks *looks, const struct check *check, const ch_model *model, ch_error *error) {
    struct ch_examples examples;
    struct example_stream stream = example_stream(check->recipe, PHILOX_EVAL, NULL);
    ch_status status = examples_init(&examples, LOOKS, stream.max_length, stream.symbols, error);
    if (status != CH_OK) return status;
    examples_draw(&examples, &stream, 0, 0, LOOKS);
    for (size_t i = 0; i < LOOKS && status == CH_OK; i++)
        status = look_at(looks, model, ch_examples_source(&examples, i), error);
    examples_release(&examples);
    for (int h = 0; h < looks->heads; h++) looks->head[h].verdict = alignment_verdict(&looks->head[h]);
    return status;
}

/* The head that puts the most on a diagonal, of those whose verdict is the wanted one if there are any. */
static int best_head(const struct looks *looks, const char *wanted) {
    int best = 0;
    double most = -1;
    for (int h = 0; h < looks->heads; h++) {
        const ch_alignment *a = &looks->head[h];
        double mass = fmax(a->anti_diagonal, a->diagonal) + (wanted && strcmp(a->verdict, wanted) == 0 ? 1 : 0);
        if (mass > most) {
            most = mass;
            best = h;
        }
    }
    return best;
}

/* ---- the verdict ---- */

static ch_status judge(struct check *check, const ch_evaluation *e, const struct looks *looks) {
    const struct expectation *expectation = expectation_of(check->recipe->task->variant.name);
    const char *wanted = expectation ? expectation->alignment : NULL;
    int head = best_head(looks, wanted);
    const ch_alignment *a = &looks->head[head];
    bool exact = (double)e->exact >= enough * (double)e->total, aligned = !wanted || strcmp(a->verdict, wanted) == 0;
    check_line(check,
               "alignment of layer %d, head %d over %d sources: anti-diagonal %.2f, diagonal %.2f, entropy %.2f "
               "of %.2f uniform",
               looks->layer, head, LOOKS, text_number(a->anti_diagonal), text_number(a->diagonal), a->entropy,
               a->uniform_entropy);
    return check_result(check, exact && aligned, "exact %lld/%lld, expected %.0f or more; cross-attention %s%s%s",
                        (long long)e->exact, (long long)e->total, ceil(enough * (double)e->total), a->verdict,
                        wanted ? ", expected " : "", wanted ? wanted : "");
}

/* Of a single stack, which has no cross-attention to look at. */
static ch_status judge_answers(struct check *check, const ch_evaluation *e) {
    return check_result(check, (double)e->exact >= enough * (double)e->total, "exact %lld/%lld, expected %.0f or more",
                        (long long)e->exact, (long long)e->total, ceil(enough * (double)e->total));
}

static ch_status measure(struct check *check, const ch_model *model, ch_error *error) {
    if (recipe_has_text(check->recipe)) return text_generalisation(check, model, error);
    ch_evaluation evaluation;
    ch_status status = ch_evaluate(model, check->recipe, EXAMPLES, &evaluation, error);
    if (status != CH_OK) return status;
    if (!config_has(&model->config, CONFIG_DECODER_CROSS)) return judge_answers(check, &evaluation);
    int layer = model->config.layers - 1, heads = config_shape(&model->config, CONFIG_DECODER_CROSS, layer)->heads;
    struct looks looks = {.head = mem_new((size_t)heads, sizeof *looks.head), .heads = heads, .layer = layer};
    status = looks.head ? look_at_all(&looks, check, model, error) : fail_memory(error, "the alignments");
    if (status == CH_OK) status = judge(check, &evaluation, &looks);
    mem_free(looks.head);
    return status;
}

/* Training that runs into numbers that are not finite is a failed check, and its sentence says where. */
static ch_status run(struct check *check, ch_error *error) {
    if (check->model) return measure(check, check->model, error);
    ch_trainer *trainer = NULL;
    ch_error own;
    ch_status status = train(check, &trainer, &own);
    if (status == CH_OK)
        status = measure(check, ch_trainer_model(trainer), error);
    else if (status == CH_FAILED)
        status = check_result(check, false, "training: %s", own.message);
    else if (error)
        *error = own;
    ch_trainer_free(trainer);
    return status;
}

const struct stage stage_generalisation = {
    .variant = {"generalisation", "500 fresh sequences are answered, and cross-attention shows the task's alignment"},
    .needs_task = true,
    .run = run,
};
