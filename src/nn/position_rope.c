/*
 * Queries and keys are turned: pair i of a head's numbers at position p by the angle p / base^(2i/Dh), so that q . k
 * depends on the distance of their positions alone. Su et al. 2021; the kernel is kernels/rope.c. Pairs are (x_i,
 * x_{i + Dh/2}), as in GPT-NeoX and Llama, or interleaved, (x_{2i}, x_{2i + 1}), as in the paper.
 * The table "pos.rope" is a buffer of the model's positions; angles beyond it are computed when they are needed.
 */
#include "nn/position.h"

static struct rope rope_of(const struct position *position) {
    const struct position_sizes *sizes = &position->sizes;
    const struct rope_settings *rope = &sizes->rope;
    return (struct rope){.d_head = sizes->d_head,
                         .interleaved = position->variant->interleaved,
                         .base = rope->scaling->base(rope->base, rope->factor, sizes->d_head),
                         .divisor = rope->scaling->divisor(rope->factor)};
}

static ch_status declare(struct position *position, struct params *params, ch_error *error) {
    const struct position_sizes *sizes = &position->sizes;
    struct param_spec spec = {.role = ROLE_BUFFER, .rank = 2, .shape = {sizes->max_positions, sizes->d_head}};
    return params_declare(params, "pos", "rope", spec, &position->table, error);
}

static void fill(const struct position *position, struct params *params) {
    struct rope rope = rope_of(position);
    rope_table(params->value + params->row[position->table].offset, &rope, position->sizes.max_positions);
}

static void rotate(struct pass *pass, const struct position *position, real *x, int ld, int heads,
                   const struct batch *batch, bool back) {
    if (pass_measures(pass)) return;
    struct rope rope = rope_of(position);
    rope.table = pass_value(pass, position->table);
    rope.positions = position->sizes.max_positions;
    rope_rotate(x, ld, &rope, batch->position, batch->rows, heads, back);
}

const struct position_variant position_rope = {
    .variant = {"rope", "queries and keys turned by their position, the halves of a head paired, as in Llama"},
    .can_extend = true,
    .rotary = true,
    .declare = declare,
    .fill = fill,
    .rotate = rotate,
};

const struct position_variant position_rope_interleaved = {
    .variant = {"rope-interleaved", "the same with neighbouring numbers paired, as in the paper"},
    .can_extend = true,
    .rotary = true,
    .interleaved = true,
    .declare = declare,
    .fill = fill,
    .rotate = rotate,
};
