/*
 * Family position: how the order of tokens enters. A variant may work where a stack begins, on the embedded rows, and
 * where its self-attentions compare queries with keys; cross-attention knows no positions. Hooks that a variant has no
 * use for are NULL.
 */
#ifndef CH_NN_POSITION_H
#define CH_NN_POSITION_H

#include "nn/pass.h"

struct position;

/* Whose table of relative positions it is. */
enum position_scope { POSITION_OF_NOBODY, POSITION_OF_STACK, POSITION_OF_ATTENTION };

/* What positions add to the scores of one self-attention. */
struct position_bias {
    int heads; /* before any was removed */
    int table; /* row of the parameter table, (buckets, heads); -1: none */
};

struct position_variant {
    ch_variant variant;
    bool can_extend;           /* sequences may be longer than max_positions */
    bool even_width;           /* takes the width D in pairs */
    bool rotary, interleaved;  /* takes the width Dh in pairs: (2i, 2i + 1), or else (i, i + Dh/2) */
    enum position_scope scope; /* of a trained table of biases */
    /* Buffers and parameters of the model; one instance serves source and target. */
    ch_status (*declare)(struct position *position, struct params *params, ch_error *error);
    /* Fills buffers once the parameters have memory. */
    void (*fill)(const struct position *position, struct params *params);
    /* Adds to the embedded rows x (N, D), in place. */
    void (*forward)(struct pass *pass, const struct position *position, real *x, const struct batch *batch);
    /* Adds to the gradients of what is learned, from that of the embedded rows. */
    void (*backward)(struct pass *pass, const struct position *position, const real *dx, const struct batch *batch);
    /* Says what is added to the scores, backward included. */
    void (*bias)(struct pass *pass, struct position_bias own, struct scores *scores);
    /* Turns queries or keys x (N, heads, Dh), rows ld apart, in place; back: the other way, as their gradients go. */
    void (*rotate)(struct pass *pass, const struct position *position, real *x, int ld, int heads,
                   const struct batch *batch, bool back);
};

/* How rotary positions reach beyond the lengths of training. */
struct rope_scaling {
    ch_variant variant;
    /* The base of the angles and what positions are divided by. */
    double (*base)(double base, double factor, int d_head);
    double (*divisor)(double factor);
};
extern const struct rope_scaling rope_scaling_none, rope_scaling_linear, rope_scaling_ntk;
const ch_variant *rope_scaling_row(size_t i);

/* Settings of rotary positions. */
struct rope_settings {
    double base, factor;
    const struct rope_scaling *scaling;
};

struct position_sizes {
    int width, max_positions;
    int d_head; /* of every self-attention, where positions are rotary */
    struct rope_settings rope;
};

struct position {
    const struct position_variant *variant;
    struct position_sizes sizes;
    int table; /* row of the parameter table; -1: none */
};

extern const struct position_variant position_sinusoidal, position_learned, position_rope, position_rope_interleaved,
    position_alibi, position_relative_bias, position_relative_bias_per_layer, position_none;
const ch_variant *position_row(size_t i);

/* Fails with a sentence, in the words of the options, where settings and sizes make no sense together. */
ch_status position_check(const struct position_variant *variant, const struct rope_settings *rope, int d_head,
                         ch_error *error);

ch_status position_declare(struct position *position, const struct position_variant *variant, struct params *params,
                           const struct position_sizes *sizes, ch_error *error);
/* Declares "<prefix>.rel_bias.weight" if tables are `scope`'s; otherwise *table stays as it is. */
ch_status position_declare_bias(const struct position *position, enum position_scope scope, struct params *params,
                                const char *prefix, int heads, int *table, ch_error *error);
void position_fill(const struct position *position, struct params *params);

void position_forward(struct pass *pass, const struct position *position, real *x, const struct batch *batch);
void position_backward(struct pass *pass, const struct position *position, const real *dx, const struct batch *batch);

#endif
