/* A trained row for each position, added to the embeddings: GPT's and BERT's. Gehring et al. 2017. */
#include "nn/position.h"

static ch_status declare(struct position *position, struct params *params, ch_error *error) {
    struct param_spec spec = {
        .role = ROLE_EMBEDDING, .rank = 2, .shape = {position->sizes.max_positions, position->sizes.width}};
    return params_declare(params, "pos", "weight", spec, &position->table, error);
}

static void forward(struct pass *pass, const struct position *position, real *x, const struct batch *batch) {
    position_add(x, pass_value(pass, position->table), batch->position, batch->rows, position->sizes.width);
}

/* A position is looked up as a token is; no row is frozen. */
static void backward(struct pass *pass, const struct position *position, const real *dx, const struct batch *batch) {
    embedding_backward(pass_grad(pass, position->table), dx, batch->position, 1, -1, batch->rows,
                       position->sizes.width);
}

const struct position_variant position_learned = {
    .variant = {"learned", "a trained row for each position, added to the embeddings"},
    .declare = declare,
    .forward = forward,
    .backward = backward,
};
