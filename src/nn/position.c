#include "nn/position.h"

static const struct position_variant *const variants[] = {&position_sinusoidal,
                                                          &position_learned,
                                                          &position_rope,
                                                          &position_rope_interleaved,
                                                          &position_alibi,
                                                          &position_relative_bias,
                                                          &position_relative_bias_per_layer,
                                                          &position_none,
                                                          NULL};

const ch_variant *position_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}

/* ---- scaling of rotary positions ---- */

static double same_base(double base, double factor, int d_head) {
    (void)factor, (void)d_head;
    return base;
}

/* The slowest pair turns `factor` times slower, the fastest as before. */
static double ntk_base(double base, double factor, int d_head) {
    return d_head > 2 ? base * pow(factor, d_head / (d_head - 2.0)) : base;
}

static double undivided(double factor) {
    (void)factor;
    return 1;
}

static double divided(double factor) {
    return factor;
}

const struct rope_scaling rope_scaling_none = {{"none", "rotary positions as they were trained"}, same_base, undivided};
const struct rope_scaling rope_scaling_linear = {
    {"linear", "rotary positions divided by rope-factor"}, same_base, divided};
const struct rope_scaling rope_scaling_ntk = {
    {"ntk", "a larger base: slow pairs of rotary positions are stretched, fast ones hardly"}, ntk_base, undivided};

static const struct rope_scaling *const scalings[] = {&rope_scaling_none, &rope_scaling_linear, &rope_scaling_ntk,
                                                      NULL};

const ch_variant *rope_scaling_row(size_t i) {
    return scalings[i] ? &scalings[i]->variant : NULL;
}

/* ---- what makes no sense together ---- */

enum { STANDARD_BASE = 10000 };

static ch_status refuse_rope(const struct position_variant *variant, const char *option, ch_error *error) {
    return fail(error, CH_USAGE, "%s is a setting of rotary positions: expected position %s or %s, found %s", option,
                position_rope.variant.name, position_rope_interleaved.variant.name, variant->variant.name);
}

ch_status position_check(const struct position_variant *variant, const struct rope_settings *rope, int d_head,
                         ch_error *error) {
    bool scaled = rope->scaling != &rope_scaling_none;
    if (!variant->rotary && rope->base != STANDARD_BASE) return refuse_rope(variant, "rope-base", error);
    if (!variant->rotary && scaled) return refuse_rope(variant, "rope-scaling", error);
    if (!variant->rotary && rope->factor != 1) return refuse_rope(variant, "rope-factor", error);
    if (!scaled && rope->factor != 1)
        return fail(error, CH_USAGE, "rope-factor: expected 1 without rope-scaling, which would use it, found %g",
                    rope->factor);
    if (scaled && rope->factor == 1)
        return fail(error, CH_USAGE, "rope-scaling %s changes nothing by a factor of 1: give a rope-factor above 1",
                    rope->scaling->variant.name);
    if (variant->rotary && d_head % 2)
        return fail(error, CH_USAGE, "d-head: expected an even number, found %d: rotary positions turn pairs", d_head);
    return CH_OK;
}

/* ---- the hooks, where there are any ---- */

ch_status position_declare(struct position *position, const struct position_variant *variant, struct params *params,
                           const struct position_sizes *sizes, ch_error *error) {
    *position = (struct position){.variant = variant, .sizes = *sizes, .table = -1};
    return variant->declare ? variant->declare(position, params, error) : CH_OK;
}

ch_status position_declare_bias(const struct position *position, enum position_scope scope, struct params *params,
                                const char *prefix, int heads, int *table, ch_error *error) {
    if (position->variant->scope != scope) return CH_OK;
    struct param_spec spec = {.role = ROLE_EMBEDDING, .rank = 2, .shape = {SCORE_BUCKETS, heads}};
    return params_declare(params, prefix, "rel_bias.weight", spec, table, error);
}

void position_fill(const struct position *position, struct params *params) {
    if (position->variant->fill) position->variant->fill(position, params);
}

void position_forward(struct pass *pass, const struct position *position, real *x, const struct batch *batch) {
    if (position->variant->forward && !pass_measures(pass)) position->variant->forward(pass, position, x, batch);
}

void position_backward(struct pass *pass, const struct position *position, const real *dx, const struct batch *batch) {
    if (position->variant->backward && !pass_measures(pass)) position->variant->backward(pass, position, dx, batch);
}
