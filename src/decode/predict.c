/*
 * ch_predict: what an encoder alone says of a source, its class or the tokens that <mask> hides: the softmax of the
 * logits, the likeliest first.
 */
#include "base/memory.h"
#include "data/task.h"
#include "model/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ch_prediction {
    size_t places, guesses;
    size_t *place;          /* (places) in the source */
    struct ch_guess *guess; /* (places, guesses) */
};

/* ---- names ---- */

const char *ch_model_class(const ch_model *model, int class_number) {
    ch_assert(class_number >= 0 && class_number < model->config.classes);
    const struct task *task = task_named(model->config.task);
    return task && task->classes == model->config.classes ? task->class_name[class_number] : NULL;
}

/* ---- guesses ---- */

static int likelier_first(const void *a, const void *b) {
    const ch_guess *x = a, *y = b;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return x->number - y->number;
}

/* The place's guesses from its logits (outputs). Special tokens have a share, and are no guess. */
static void guess(struct ch_prediction *p, size_t place, const struct ch_model *model, const real *logits) {
    bool classes = model->net.head->classes;
    double most = (double)-INFINITY, sum = 0;
    ch_guess *to = p->guess + place * p->guesses;
    for (int v = 0; v < model->net.outputs; v++) most = fmax(most, (double)logits[v]);
    for (int v = 0; v < model->net.outputs; v++) sum += exp((double)logits[v] - most);
    for (int v = 0; v < (int)p->guesses; v++)
        to[v] = (ch_guess){.number = v,
                           .text = classes ? ch_model_class(model, v) : ch_vocab_text(&model->vocab, v),
                           .probability = exp((double)logits[v] - most) / sum};
    qsort(to, p->guesses, sizeof *to, likelier_first);
}

static ch_status allocate(struct ch_prediction *p, const struct ch_model *model, ch_sequence source, ch_error *error) {
    bool classes = model->net.head->classes;
    p->places = classes;
    for (size_t i = 0; i < source.length && !classes; i++) p->places += source.tokens[i] == model->vocab.mask;
    if (p->places == 0)
        return fail(error, CH_FAILED, "the source has no %s: expected at least one, where a token is to be found",
                    ch_vocab_text(&model->vocab, model->vocab.mask));
    p->guesses = (size_t)(classes ? model->config.classes : model->vocab.symbols);
    p->place = mem_new(p->places, sizeof *p->place);
    p->guess = mem_new(p->places, p->guesses * sizeof *p->guess);
    if (!p->place || !p->guess) return fail_memory(error, "a prediction");
    for (size_t i = 0, place = 0; i < source.length && !classes; i++)
        if (source.tokens[i] == model->vocab.mask) p->place[place++] = i;
    return CH_OK;
}

/* ---- the walk ---- */

static ch_status walk(struct ch_prediction *p, const struct ch_model *model, const struct reading *text,
                      ch_error *error) {
    struct pass pass = {.core = &attention_fused, .dropout = DROPOUT_OFF};
    struct batch_limits limits = frame_limits(&model->config, 1, (int)text->length, 0);
    struct workspace workspace = {0};
    struct frame frame = {0};
    ch_status status = workspace_new(&workspace, model, &pass, &limits, false, error);
    if (status == CH_OK && !frame_new(&frame, &model->config, &limits)) status = fail_memory(error, "a source");
    if (status == CH_OK) {
        frame_add(&frame, (ch_sequence){text->token, text->length}, (ch_sequence){0}, 0);
        pass.params = &model->params;
        pass.turned = model->turned;
        pass.arena = &workspace.arena;
        struct assembly_input input = frame_input(&frame);
        const real *logits = assembly_forward(&pass, &model->net, &input, &workspace.saved);
        bool classes = model->net.head->classes;
        for (size_t i = 0; i < p->places; i++)
            guess(p, i, model, logits + (classes ? 0 : text->begin + p->place[i]) * (size_t)model->net.outputs);
    }
    frame_free(&frame);
    workspace_free(&workspace);
    return status;
}

static ch_status predict(struct ch_prediction *p, const struct ch_model *model, ch_sequence source, ch_error *error) {
    struct reading text;
    ch_status status = reading_check(model, source, error);
    if (status == CH_OK) status = allocate(p, model, source, error);
    if (status != CH_OK) return status;
    status = reading_new(&text, &model->vocab, source, true, 0, error);
    if (status != CH_OK) return status;
    status = walk(p, model, &text, error);
    reading_free(&text);
    return status;
}

/* ---- the public functions ---- */

ch_status ch_predict(const ch_model *model, ch_sequence source, ch_prediction **prediction, ch_error *error) {
    *prediction = NULL;
    if (model->config.arch->decoder)
        return fail(error, CH_FAILED,
                    "this model is %s: expected an encoder-only one, which tells classes or hidden "
                    "tokens; `%s` %s with this one",
                    model->config.arch->variant.name, model_continues(model) ? "generate" : "decode",
                    model_continues(model) ? "goes on with a text" : "answers sources");
    struct ch_prediction *p = mem_new(1, sizeof *p);
    if (!p) return fail_memory(error, "a prediction");
    ch_status status = predict(p, model, source, error);
    if (status == CH_OK)
        *prediction = p;
    else
        ch_prediction_free(p);
    return status;
}

void ch_prediction_free(ch_prediction *p) {
    if (!p) return;
    mem_free(p->place);
    mem_free(p->guess);
    mem_free(p);
}

size_t ch_prediction_places(const ch_prediction *p) {
    return p->places;
}

size_t ch_prediction_place(const ch_prediction *p, size_t i) {
    ch_assert(i < p->places);
    return p->place[i];
}

size_t ch_prediction_guesses(const ch_prediction *p) {
    return p->guesses;
}

ch_guess ch_prediction_guess(const ch_prediction *p, size_t i, size_t rank) {
    ch_assert(i < p->places && rank < p->guesses);
    return p->guess[i * p->guesses + rank];
}
