#include "nn/embedding.h"

#include <stdio.h>

ch_status embedding_declare(struct embedding *embedding, struct params *params, const char *name, const char *parameter,
                            int vocab, int width, int pad, const struct position *position, ch_error *error) {
    *embedding = (struct embedding){.width = width, .pad = pad, .position = position};
    snprintf(embedding->name, sizeof embedding->name, "%s", name);
    embedding->dropout_site = pass_site(name, "embedded");
    struct param_spec spec = {.role = ROLE_EMBEDDING, .rank = 2, .shape = {vocab, width}, .frozen_row_plus_1 = pad + 1};
    return params_declare(params, parameter, "weight", spec, &embedding->weight, error);
}

static real scale_of(const struct embedding *embedding) {
    return RC(sqrt(embedding->width));
}

real *embedding_layer_forward(struct pass *pass, const struct embedding *embedding, const int *token,
                              const struct batch *batch, struct embedding_saved *saved) {
    real *y = pass_take(pass, (size_t)batch->rows, (size_t)embedding->width);
    *saved = (struct embedding_saved){.token = token, .batch = batch};
    if (!pass_measures(pass))
        embedding_forward(y, pass_value(pass, embedding->weight), token, scale_of(embedding), batch->rows,
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
    embedding_backward(pass_grad(pass, embedding->weight), dx, saved->token, scale_of(embedding), embedding->pad, rows,
                       embedding->width);
    position_backward(pass, embedding->position, dx, saved->batch);
    profile_lap(pass->profile, OPERATION_EMBEDDING);
}
