#include "nn/embedding.h"

#include <stdio.h>

const struct embedding_scale embedding_scale_sqrt = {{"sqrt", "times the root of d-model, as in the lesson"}, true};
const struct embedding_scale embedding_scale_one = {{"one", "as they are, as in GPT-2 and Llama"}, false};

static const struct embedding_scale *const scales[] = {&embedding_scale_sqrt, &embedding_scale_one, NULL};

const ch_variant *embedding_scale_row(size_t i) {
    return scales[i] ? &scales[i]->variant : NULL;
}

const struct tie tie_none = {
    {"none", "source, target and output have matrices of their own, as in the lesson"}, false, false};
const struct tie tie_source_target = {{"source-target", "one embedding for source and target"}, true, false};
const struct tie tie_target_output = {
    {"target-output", "the output's matrix is the target's embedding, as in GPT-2"}, false, true};
const struct tie tie_all = {{"all", "one matrix for source, target and output, as in the article"}, true, true};

static const struct tie *const ties[] = {&tie_none, &tie_source_target, &tie_target_output, &tie_all, NULL};

const ch_variant *tie_row(size_t i) {
    return ties[i] ? &ties[i]->variant : NULL;
}

const char *tie_clash(const struct tie *tie, const struct arch *arch, const struct head *head) {
    if (tie->source && !(arch->encoder && arch->decoder)) return "one stack has one embedding";
    return tie->output && head->classes ? "an output of classes is no matrix of tokens" : NULL;
}

static void set_name(struct embedding *embedding, const char *name) {
    snprintf(embedding->name, sizeof embedding->name, "%s", name);
    embedding->dropout_site = pass_site(name, "embedded");
}

void embedding_set_scale(struct embedding *embedding, const struct embedding_scale *scale) {
    embedding->scale = scale->root ? RC(sqrt(embedding->width)) : 1;
}

void embedding_share(struct embedding *embedding, struct params *params, const char *name,
                     const struct embedding *with) {
    *embedding = *with;
    set_name(embedding, name);
    params_share(params, with->weight, ROLE_EMBEDDING);
}

ch_status embedding_declare(struct embedding *embedding, struct params *params, const char *name, const char *parameter,
                            int vocab, int width, int pad, const struct position *position, ch_error *error) {
    *embedding = (struct embedding){.width = width, .pad = pad, .position = position};
    set_name(embedding, name);
    embedding_set_scale(embedding, &embedding_scale_sqrt);
    struct param_spec spec = {.role = ROLE_EMBEDDING, .rank = 2, .shape = {vocab, width}, .frozen_row_plus_1 = pad + 1};
    return params_declare(params, parameter, "weight", spec, &embedding->weight, error);
}

real *embedding_layer_forward(struct pass *pass, const struct embedding *embedding, const int *token,
                              const struct batch *batch, struct embedding_saved *saved) {
    real *y = pass_take(pass, (size_t)batch->rows, (size_t)embedding->width);
    *saved = (struct embedding_saved){.token = token, .batch = batch};
    if (!pass_measures(pass))
        embedding_forward(y, pass_value(pass, embedding->weight), token, embedding->scale, batch->rows,
                          embedding->width);
    position_forward(pass, embedding->position, y, batch);
    profile_lap(pass->profile, OPERATION_EMBEDDING);
    pass_show(pass, embedding->name, "embedded", y, embedding->width, embedding->width, batch);
    return dropout_layer_forward(pass, embedding->dropout_site, y, batch, embedding->width, &saved->dropout);
}

void embedding_layer_backward(struct pass *pass, const struct embedding *embedding, real *dy, int rows,
                              const struct embedding_saved *saved) {
    real *dx = dropout_layer_backward(pass, dy, rows, &saved->dropout);
    pass_show_gradient(pass, embedding->name, "embedded", dx, embedding->width, embedding->width, rows);
    if (pass_measures(pass)) return;
    embedding_backward(pass_grad(pass, embedding->weight), dx, saved->token, embedding->scale, embedding->pad, rows,
                       embedding->width);
    position_backward(pass, embedding->position, dx, saved->batch);
    profile_lap(pass->profile, OPERATION_EMBEDDING);
}
