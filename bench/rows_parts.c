/* Kernels over rows that belong to exchangeable parts: RMSNorm, rotary positions, activations, gated or not. */
#include "rows.h"
#include "base/memory.h"

#include <string.h>

static const double epsilon = 1e-5;

static void hidden_rows(const struct size *size, int *rows, int *channels) {
    *rows = shard_rows(size);
    *channels = size->hidden;
}

/* ---- RMSNorm ---- */

static double inverse_root(const real *x, int n) {
    double squares = 0;
    for (int c = 0; c < n; c++) squares += (double)x[c] * (double)x[c];
    return 1 / sqrt(squares / n + epsilon);
}

static void rmsnorm(struct state *s) {
    rmsnorm_forward(s->out, s->rstd, s->in, s->weight, RC(epsilon), s->rows, s->channels);
}

static ch_status verify_rmsnorm(struct state *s, ch_error *error) {
    size_t width = (size_t)s->channels;
    for (size_t at = 0; at < s->count; at += width) {
        double rstd = inverse_root(s->in + at, s->channels);
        for (size_t c = 0; c < width; c++) s->second[at + c] = RC((double)s->in[at + c] * rstd * (double)s->weight[c]);
    }
    rmsnorm(s);
    return agree("y", s->out, s->second, s->count, usual_tolerance(), error);
}

static void rmsnorm_gradient(struct state *s) {
    rmsnorm_backward(s->out, s->sum_weight, s->second, s->in, s->rstd, s->weight, s->rows, s->channels);
}

/* dx = rstd (g - xhat mean(g xhat)), g = dy w, xhat = x rstd; dw is added to. */
static void rmsnorm_gradient_row(struct state *s, size_t at, double *dw) {
    size_t width = (size_t)s->channels;
    const real *x = s->in + at, *dy = s->second + at;
    double rstd = inverse_root(x, s->channels), mean = 0;
    for (size_t c = 0; c < width; c++) {
        mean += (double)dy[c] * (double)s->weight[c] * (double)x[c] * rstd / s->channels;
        dw[c] += (double)dy[c] * (double)x[c] * rstd;
    }
    for (size_t c = 0; c < width; c++)
        s->third[at + c] = RC(rstd * ((double)dy[c] * (double)s->weight[c] - (double)x[c] * rstd * mean));
}

static ch_status verify_rmsnorm_gradient(struct state *s, ch_error *error) {
    size_t width = (size_t)s->channels;
    double *dw = mem_new(width, sizeof *dw);
    if (!dw) return fail_memory(error, "the reference");
    for (size_t at = 0; at < s->count; at += width) rmsnorm_gradient_row(s, at, dw);
    for (size_t c = 0; c < width; c++) s->fourth[c] = RC(dw[c]);
    mem_free(dw);
    rmsnorm(s);
    rmsnorm_gradient(s);
    ch_status status = agree("dx", s->out, s->third, s->count, usual_tolerance(), error);
    return status == CH_OK ? agree("dw", s->sum_weight, s->fourth, width, sum_tolerance(s), error) : status;
}

/* ---- rotary positions, in place: the next run turns on from where the last one left the rows ---- */

static struct rope rope_of(const struct state *s, bool interleaved) {
    return (struct rope){.d_head = s->channels / s->heads,
                         .interleaved = interleaved,
                         .base = 10000,
                         .divisor = 1,
                         .table = s->table,
                         .positions = ROWS_EACH};
}

static void rotate(struct state *s, bool interleaved) {
    struct rope rope = rope_of(s, interleaved);
    rope_rotate(s->out, s->channels, &rope, s->batch.view.position, s->rows, s->heads, false);
}

static void rotate_halves(struct state *s) {
    rotate(s, false);
}

static void rotate_neighbours(struct state *s) {
    rotate(s, true);
}

/* Pair i of the head that begins at x: its numbers lie `step` apart. */
static void rotate_pair(real *y, const real *x, int step, double angle) {
    double a = (double)x[0], b = (double)x[step];
    y[0] = RC(a * cos(angle) - b * sin(angle));
    y[step] = RC(b * cos(angle) + a * sin(angle));
}

static ch_status verify_rotation(struct state *s, bool interleaved, ch_error *error) {
    struct rope rope = rope_of(s, interleaved);
    rope_table(s->table, &rope, ROWS_EACH);
    int half = rope.d_head / 2, step = interleaved ? 1 : half;
    for (int n = 0; n < s->rows; n++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < half; i++) {
                size_t at = (size_t)n * (size_t)s->channels + (size_t)(h * rope.d_head + (interleaved ? 2 * i : i));
                double speed = pow(rope.base, -2.0 * i / rope.d_head);
                rotate_pair(s->second + at, s->in + at, step, s->batch.view.position[n] * speed);
            }
    memcpy(s->out, s->in, s->count * sizeof *s->out);
    rotate(s, interleaved);
    return agree("x", s->out, s->second, s->count, usual_tolerance(), error);
}

static ch_status verify_halves(struct state *s, ch_error *error) {
    return verify_rotation(s, false, error);
}

static ch_status verify_neighbours(struct state *s, ch_error *error) {
    return verify_rotation(s, true, error);
}

/* ---- activations ---- */

static const double pi = 3.14159265358979323846;

static double gelu_value(double x, double *slope) {
    double below = 0.5 * erfc(-x / sqrt(2));
    *slope = below + x * exp(-0.5 * x * x) / sqrt(2 * pi);
    return x * below;
}

static double gelu_tanh_value(double x, double *slope) {
    double bent = tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)), inner = sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x);
    *slope = 0.5 * (1 + bent) + 0.5 * x * (1 - bent * bent) * inner;
    return 0.5 * x * (1 + bent);
}

static double silu_value(double x, double *slope) {
    double share = 1 / (1 + exp(-x));
    *slope = share * (1 + x * (1 - share));
    return x * share;
}

static const struct curve gelu = {gelu_forward, gelu_forward_slope, gelu_backward, gelu_value};
static const struct curve gelu_tanh = {gelu_tanh_forward, gelu_tanh_forward_slope, gelu_tanh_backward, gelu_tanh_value};
static const struct curve silu = {silu_forward, silu_forward_slope, silu_backward, silu_value};

static void activate(struct state *s) {
    s->kernel->curve->forward(s->out, s->in, s->count);
}

/* In place: the next run goes over the slopes that the last one left. */
static void activate_and_slope(struct state *s) {
    s->kernel->curve->forward_slope(s->out, s->third, s->count);
}

static void activation_gradient(struct state *s) {
    s->kernel->curve->backward(s->out, s->second, s->in, s->count);
}

static ch_status verify_activation(struct state *s, ch_error *error) {
    double slope;
    for (size_t i = 0; i < s->count; i++) s->fourth[i] = RC(s->kernel->curve->value((double)s->in[i], &slope));
    activate(s);
    return agree("y", s->out, s->fourth, s->count, usual_tolerance(), error);
}

static ch_status verify_slope(struct state *s, ch_error *error) {
    double slope;
    for (size_t i = 0; i < s->count; i++) {
        s->fourth[i] = RC(s->kernel->curve->value((double)s->in[i], &slope));
        s->second[i] = RC(slope);
    }
    memcpy(s->third, s->in, s->count * sizeof *s->third);
    activate_and_slope(s);
    ch_status status = agree("y", s->out, s->fourth, s->count, usual_tolerance(), error);
    return status == CH_OK ? agree("slope", s->third, s->second, s->count, usual_tolerance(), error) : status;
}

static ch_status verify_activation_gradient(struct state *s, ch_error *error) {
    for (size_t i = 0; i < s->count; i++) {
        double slope;
        s->kernel->curve->value((double)s->in[i], &slope);
        s->third[i] = RC((double)s->second[i] * slope);
    }
    activation_gradient(s);
    return agree("dx", s->out, s->third, s->count, usual_tolerance(), error);
}

/* ---- gated: an activation times another row, as a row at a time of the gated feed-forward networks ---- */

static void gate(struct state *s) {
    size_t width = (size_t)s->channels;
    for (size_t at = 0; at < s->count; at += width) {
        s->kernel->curve->forward(s->out + at, s->in + at, width);
        multiply_by(s->out + at, s->second + at, width);
    }
}

static ch_status verify_gate(struct state *s, ch_error *error) {
    double slope;
    for (size_t i = 0; i < s->count; i++)
        s->third[i] = RC(s->kernel->curve->value((double)s->in[i], &slope) * (double)s->second[i]);
    gate(s);
    return agree("y", s->out, s->third, s->count, usual_tolerance(), error);
}

/* ---- the table ---- */

static const struct kernel kernels[] = {
    {"rmsnorm/forward", width_rows, rmsnorm, verify_rmsnorm, 2, 0, NULL},
    {"rmsnorm/backward", width_rows, rmsnorm_gradient, verify_rmsnorm_gradient, 3, 0, NULL},
    {"rope/halves", width_rows, rotate_halves, verify_halves, 2, 0, NULL},
    {"rope/interleaved", width_rows, rotate_neighbours, verify_neighbours, 2, 0, NULL},
    {"gelu/forward", hidden_rows, activate, verify_activation, 2, 0, &gelu},
    {"gelu/slope", hidden_rows, activate_and_slope, verify_slope, 3, 0, &gelu},
    {"gelu/backward", hidden_rows, activation_gradient, verify_activation_gradient, 3, 0, &gelu},
    {"gelu-tanh/forward", hidden_rows, activate, verify_activation, 2, 0, &gelu_tanh},
    {"gelu-tanh/slope", hidden_rows, activate_and_slope, verify_slope, 3, 0, &gelu_tanh},
    {"gelu-tanh/backward", hidden_rows, activation_gradient, verify_activation_gradient, 3, 0, &gelu_tanh},
    {"silu/forward", hidden_rows, activate, verify_activation, 2, 0, &silu},
    {"silu/slope", hidden_rows, activate_and_slope, verify_slope, 3, 0, &silu},
    {"silu/backward", hidden_rows, activation_gradient, verify_activation_gradient, 3, 0, &silu},
    {"swiglu/forward", hidden_rows, gate, verify_gate, 3, 0, &silu},
    {"geglu/forward", hidden_rows, gate, verify_gate, 3, 0, &gelu},
};

const struct kernel *rows_part(size_t i) {
    return i < sizeof kernels / sizeof *kernels ? &kernels[i] : NULL;
}
