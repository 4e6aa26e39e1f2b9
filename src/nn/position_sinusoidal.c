/*
 * pe(pos, 2i) = sin(pos / 10000^(2i/D)),  pe(pos, 2i+1) = cos(pos / 10000^(2i/D)). Vaswani et al. 2017.
 * A buffer: saved with the model, never trained.
 */
#include "nn/position.h"

static ch_status declare(struct position *position, struct params *params, ch_error *error) {
    struct param_spec spec = {
        .role = ROLE_BUFFER, .rank = 3, .shape = {1, position->sizes.max_positions, position->sizes.width}};
    return params_declare(params, "pos", "pe", spec, &position->table, error);
}

/* In float, in the order of operations of the lesson's code: the frequency is exp(2i * (-ln 10000 / D)). */
static void fill(const struct position *position, struct params *params) {
    real *row = params->value + params->row[position->table].offset;
    real step = RC(-log(10000.0) / position->sizes.width);
    for (int pos = 0; pos < position->sizes.max_positions; pos++, row += position->sizes.width)
        for (int i = 0; i < position->sizes.width; i += 2) {
            real angle = (real)pos * R(exp)((real)i * step);
            row[i] = R(sin)(angle);
            row[i + 1] = R(cos)(angle);
        }
}

static void forward(struct pass *pass, const struct position *position, real *x, const struct batch *batch) {
    position_add(x, pass_value(pass, position->table), batch->position, batch->rows, position->sizes.width);
}

const struct position_variant position_sinusoidal = {
    .variant = {"sinusoidal", "fixed sines and cosines, added to the embeddings; needs an even width"},
    .even_width = true,
    .declare = declare,
    .fill = fill,
    .forward = forward,
};
