/*
 * Kernels over rows: layer norm, softmax, cross-entropy, dropout, Adam, transposition, embedding, and those of
 * rows_parts.c, at the sizes of a shard. They are bound by memory: work is the bytes that must be read and written. The
 * references are plain loops in double; a sum over rows may round once more for each of them.
 */
#include "rows.h"
#include "base/memory.h"

#include <float.h>
#include <string.h>

static const double layernorm_epsilon = 1e-5;

double sum_tolerance(const struct state *s) {
    return usual_tolerance() + s->rows * (sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON);
}

/* ---- shapes ---- */

void width_rows(const struct size *size, int *rows, int *channels) {
    *rows = shard_rows(size);
    *channels = size->width;
}

static void vocab_rows(const struct size *size, int *rows, int *channels) {
    *rows = shard_rows(size);
    *channels = size->symbols + 3;
}

static void score_rows(const struct size *size, int *rows, int *channels) {
    *rows = shard_rows(size) * size->heads;
    *channels = size->longest;
}

static void matrix(const struct size *size, int *rows, int *channels) {
    *rows = size->hidden;
    *channels = size->width;
}

static void parameters(const struct size *size, int *rows, int *channels) {
    *rows = 8 * size->hidden;
    *channels = size->width;
}

/* ---- layer norm ---- */

static void layernorm(struct state *s) {
    layernorm_forward(s->out, s->mean, s->rstd, s->in, s->weight, s->bias, RC(layernorm_epsilon), s->rows, s->channels);
}

static void row_moments(const real *x, int n, double *mean, double *rstd) {
    double sum = 0, squares = 0;
    for (int c = 0; c < n; c++) sum += (double)x[c];
    *mean = sum / n;
    for (int c = 0; c < n; c++) squares += ((double)x[c] - *mean) * ((double)x[c] - *mean);
    *rstd = 1 / sqrt(squares / n + layernorm_epsilon);
}

static ch_status verify_layernorm(struct state *s, ch_error *error) {
    for (int n = 0; n < s->rows; n++) {
        const real *x = s->in + (size_t)n * (size_t)s->channels;
        double mean, rstd;
        row_moments(x, s->channels, &mean, &rstd);
        for (int c = 0; c < s->channels; c++)
            s->second[(size_t)n * (size_t)s->channels + (size_t)c] =
                RC(((double)x[c] - mean) * rstd * (double)s->weight[c] + (double)s->bias[c]);
    }
    layernorm(s);
    return agree("y", s->out, s->second, s->count, usual_tolerance(), error);
}

static void norm_gradient(struct state *s) {
    layernorm_backward(s->out, s->sum_weight, s->sum_bias, s->second, s->in, s->mean, s->rstd, s->weight, s->rows,
                       s->channels);
}

/* dx = rstd (g - mean(g) - xhat mean(g xhat)), g = dy w */
static void norm_gradient_row(struct state *s, size_t n, double *dw, double *db) {
    size_t width = (size_t)s->channels;
    const real *x = s->in + n * width, *dy = s->second + n * width;
    double mean, rstd, g_mean = 0, gx_mean = 0;
    row_moments(x, s->channels, &mean, &rstd);
    for (size_t c = 0; c < width; c++) {
        double normed = ((double)x[c] - mean) * rstd, g = (double)dy[c] * (double)s->weight[c];
        g_mean += g / s->channels;
        gx_mean += g * normed / s->channels;
        dw[c] += (double)dy[c] * normed;
        db[c] += (double)dy[c];
    }
    for (size_t c = 0; c < width; c++) {
        double normed = ((double)x[c] - mean) * rstd, g = (double)dy[c] * (double)s->weight[c];
        s->third[n * width + c] = RC(rstd * (g - g_mean - normed * gx_mean));
    }
}

static ch_status verify_norm_gradient(struct state *s, ch_error *error) {
    double *sums = mem_new(2 * (size_t)s->channels, sizeof *sums);
    if (!sums) return fail_memory(error, "the reference");
    double *dw = sums, *db = sums + s->channels;
    layernorm(s);
    for (int n = 0; n < s->rows; n++) norm_gradient_row(s, (size_t)n, dw, db);
    norm_gradient(s);
    for (int c = 0; c < s->channels; c++) {
        s->fourth[c] = RC(dw[c]);
        s->fourth[s->channels + c] = RC(db[c]);
    }
    mem_free(sums);
    ch_status status = agree("dx", s->out, s->third, s->count, usual_tolerance(), error);
    if (status == CH_OK) status = agree("dw", s->sum_weight, s->fourth, (size_t)s->channels, sum_tolerance(s), error);
    return status == CH_OK
               ? agree("db", s->sum_bias, s->fourth + s->channels, (size_t)s->channels, sum_tolerance(s), error)
               : status;
}

/* ---- softmax, in place: the next run goes over what the last one left, numbers from 0 to 1 ---- */

static void softmax_rows(struct state *s) {
    for (int n = 0; n < s->rows; n++)
        softmax_row(s->out + (size_t)n * (size_t)s->channels, s->channels, &s->mean[n], &s->rstd[n]);
}

/* exp(x - max) of n numbers. */
static void softmax_reference(real *y, const real *x, int n) {
    double most = -(double)INFINITY;
    for (int i = 0; i < n; i++) most = fmax(most, (double)x[i]);
    for (int i = 0; i < n; i++) y[i] = RC(exp((double)x[i] - most));
}

static ch_status verify_softmax_rows(struct state *s, ch_error *error) {
    memcpy(s->out, s->in, s->count * sizeof *s->out);
    softmax_rows(s);
    for (size_t at = 0; at < s->count; at += (size_t)s->channels)
        softmax_reference(s->second + at, s->in + at, s->channels);
    return agree("exp(x - max)", s->out, s->second, s->count, usual_tolerance(), error);
}

static void loss(struct state *s) {
    cross_entropy(s->out, s->in, s->token, -1, RC(1), s->rows, s->channels);
}

static ch_status verify_loss(struct state *s, ch_error *error) {
    double expected = 0;
    for (int n = 0; n < s->rows; n++) {
        const real *x = s->in + (size_t)n * (size_t)s->channels;
        real *d = s->second + (size_t)n * (size_t)s->channels;
        double sum = 0;
        for (int c = 0; c < s->channels; c++) sum += exp((double)x[c]);
        for (int c = 0; c < s->channels; c++) d[c] = RC(exp((double)x[c]) / sum - (c == s->token[n]));
        expected += log(sum) - (double)x[s->token[n]];
    }
    struct loss found = cross_entropy(s->out, s->in, s->token, -1, RC(1), s->rows, s->channels);
    if (!(fabs(found.sum - expected) <= usual_tolerance() * expected))
        return fail(error, CH_FAILED, "loss: expected %.9g, found %.9g", expected, found.sum);
    return agree("dlogits", s->out, s->second, s->count, usual_tolerance(), error);
}

/* ---- dropout ---- */

static struct dropout dropout_of_bench(void) {
    return (struct dropout){.rate = RC(0.1), .key = philox_derive(3, PHILOX_DROPOUT, 4), .site = 5};
}

static void drop(struct state *s) {
    struct dropout dropout = dropout_of_bench();
    dropout_forward(s->out, s->keep, s->in, &dropout, &s->batch.view, s->channels);
}

/* Row by row, as anybody may ask for a mask. */
static ch_status verify_drop(struct state *s, ch_error *error) {
    struct dropout dropout = dropout_of_bench();
    size_t width = (size_t)s->channels;
    uint8_t *keep = mem_new(width + 128, 1);
    if (!keep) return fail_memory(error, "the reference");
    drop(s);
    for (size_t n = 0; n < (size_t)s->rows; n++) {
        const uint8_t *kept = dropout_row(&dropout, s->batch.example[s->batch.sequence[n]],
                                          (uint32_t)s->batch.position[n], 0, n * width, s->channels, keep);
        for (size_t c = 0; c < width; c++)
            s->second[n * width + c] = kept[c] ? s->in[n * width + c] * dropout_factor(&dropout) : 0;
    }
    mem_free(keep);
    return agree("y", s->out, s->second, s->count, usual_tolerance(), error);
}

static void drop_gradient(struct state *s) {
    struct dropout dropout = dropout_of_bench();
    dropout_backward(s->out, s->second, s->keep, &dropout, s->count);
}

static ch_status verify_drop_gradient(struct state *s, ch_error *error) {
    struct dropout dropout = dropout_of_bench();
    drop(s);
    drop_gradient(s);
    for (size_t i = 0; i < s->count; i++) s->third[i] = s->keep[i] ? s->second[i] * dropout_factor(&dropout) : 0;
    return agree("dx", s->out, s->third, s->count, usual_tolerance(), error);
}

/* ---- Adam ---- */

static const double rate = 1e-3, beta1 = 0.9, beta2 = 0.98, adam_epsilon = 1e-9;

/* Always as a first step: w out, m third, v fourth. */
static void adam(struct state *s) {
    adam_update(s->out, s->third, s->fourth, s->in, RC(1), rate, beta1, beta2, adam_epsilon, 1 - beta1, 1 - beta2,
                s->count);
}

static ch_status verify_adam(struct state *s, ch_error *error) {
    memcpy(s->out, s->second, s->count * sizeof *s->out);
    memset(s->third, 0, s->count * sizeof *s->third);
    memset(s->fourth, 0, s->count * sizeof *s->fourth);
    adam(s);
    for (size_t i = 0; i < s->count; i++) {
        double g = (double)s->in[i];
        s->second[i] = RC((double)s->second[i] - rate * g / (fabs(g) + adam_epsilon));
    }
    return agree("w", s->out, s->second, s->count, usual_tolerance(), error);
}

/* ---- turning and embedding ---- */

static void turn(struct state *s) {
    transpose(s->out, s->in, s->rows, s->channels);
}

static ch_status verify_turn(struct state *s, ch_error *error) {
    for (size_t n = 0; n < (size_t)s->rows; n++)
        for (size_t c = 0; c < (size_t)s->channels; c++)
            s->second[c * (size_t)s->rows + n] = s->in[n * (size_t)s->channels + c];
    turn(s);
    return agree("y", s->out, s->second, s->count, 0, error);
}

static void embed(struct state *s) {
    embedding_forward(s->out, s->table, s->token, RC(8), s->rows, s->channels);
}

static ch_status verify_embed(struct state *s, ch_error *error) {
    size_t width = (size_t)s->channels;
    input_fill(s->table, (size_t)s->group * width, 6);
    embed(s);
    for (size_t n = 0; n < (size_t)s->rows; n++)
        for (size_t c = 0; c < width; c++)
            s->second[n * width + c] = RC(8 * (double)s->table[(size_t)s->token[n] * width + c]);
    return agree("y", s->out, s->second, s->count, usual_tolerance(), error);
}

static void embed_gradient(struct state *s) {
    embedding_backward(s->table, s->in, s->token, RC(8), -1, s->rows, s->channels);
}

/* Token by token, where the kernel goes row by row. */
static ch_status verify_embed_gradient(struct state *s, ch_error *error) {
    size_t width = (size_t)s->channels;
    ch_status status = CH_OK;
    memset(s->table, 0, (size_t)s->group * width * sizeof *s->table);
    embed_gradient(s);
    for (size_t n = 0; n < (size_t)s->rows && status == CH_OK; n++) {
        memset(s->second, 0, width * sizeof *s->second);
        for (size_t m = 0; m < (size_t)s->rows; m++)
            for (size_t c = 0; c < width && s->token[m] == s->token[n]; c++)
                s->second[c] += RC(8) * s->in[m * width + c];
        status = agree("dw", s->table + (size_t)s->token[n] * width, s->second, width, sum_tolerance(s), error);
    }
    return status;
}

/* ---- the table ---- */

static const struct kernel kernels[] = {
    {"layernorm/forward", width_rows, layernorm, verify_layernorm, 2, 0, NULL},
    {"layernorm/backward", width_rows, norm_gradient, verify_norm_gradient, 3, 0, NULL},
    {"softmax/rows", score_rows, softmax_rows, verify_softmax_rows, 2, 0, NULL},
    {"cross-entropy", vocab_rows, loss, verify_loss, 2, 0, NULL},
    {"dropout/forward", width_rows, drop, verify_drop, 2, 1, NULL},
    {"dropout/backward", width_rows, drop_gradient, verify_drop_gradient, 2, 1, NULL},
    {"adam", parameters, adam, verify_adam, 7, 0, NULL},
    {"transpose", matrix, turn, verify_turn, 2, 0, NULL},
    {"embedding/forward", width_rows, embed, verify_embed, 2, 0, NULL},
    {"embedding/backward", width_rows, embed_gradient, verify_embed_gradient, 3, 0, NULL},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static const struct kernel *kernel_at(size_t i) {
    return i < KERNELS ? &kernels[i] : rows_part(i - KERNELS);
}

static bool row(size_t i, char name[CASE_NAME]) {
    const struct kernel *kernel = kernel_at(i / SIZES);
    if (!kernel) return false;
    snprintf(name, CASE_NAME, "%s/%s", kernel->name, sizes[i % SIZES].name);
    return true;
}

static void close_case(void *state) {
    struct state *s = state;
    if (!s) return;
    real *const all[] = {s->in,   s->second,     s->third,    s->fourth, s->out,  s->weight,
                         s->bias, s->sum_weight, s->sum_bias, s->mean,   s->rstd, s->table};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free_aligned(all[i]);
    mem_free(s->keep);
    mem_free(s->token);
    batch_buffer_free(&s->batch);
    mem_free(s);
}

static bool allocate(struct state *s, ch_error *error) {
    size_t width = (size_t)s->channels, rows = (size_t)s->rows;
    real **const as_all[] = {&s->in, &s->second, &s->third, &s->fourth, &s->out};
    real **const as_channels[] = {&s->weight, &s->bias, &s->sum_weight, &s->sum_bias};
    bool complete = (s->table = input_reals((size_t)s->group * width, error)) && (s->mean = input_reals(rows, error)) &&
                    (s->rstd = input_reals(rows, error));
    for (size_t i = 0; i < 5; i++) complete = complete && (*as_all[i] = input_reals(s->count, error));
    for (size_t i = 0; i < 4; i++) complete = complete && (*as_channels[i] = input_reals(width, error));
    if (!complete) return false;
    s->keep = mem_new(s->count, 1);
    s->token = mem_new(rows, sizeof *s->token);
    if (s->keep && s->token && batch_buffer_new(&s->batch, s->rows, s->rows)) return true;
    fail_memory(error, "the inputs");
    return false;
}

static void fill(struct state *s) {
    input_fill(s->in, s->count, 1);
    input_fill(s->second, s->count, 2);
    input_fill(s->weight, (size_t)s->channels, 3);
    input_fill(s->bias, (size_t)s->channels, 4);
    int tokens = s->kernel->run == loss ? s->channels : s->group;
    for (int n = 0; n < s->rows; n++) s->token[n] = input_below(5, (size_t)n, tokens);
    for (int n = 0; n < s->rows; n += ROWS_EACH)
        batch_add(&s->batch, s->rows - n < ROWS_EACH ? s->rows - n : ROWS_EACH, 0, (uint32_t)(n / ROWS_EACH));
}

static void *open_case(size_t i, int threads, ch_error *error) {
    const struct size *size = &sizes[i % SIZES];
    struct state *s = mem_new(1, sizeof *s);
    (void)threads;
    if (!s) return fail_memory(error, "the inputs"), NULL;
    s->kernel = kernel_at(i / SIZES);
    s->heads = size->heads;
    s->kernel->shape(size, &s->rows, &s->channels);
    s->count = (size_t)s->rows * (size_t)s->channels;
    bool embeds = s->kernel->run == embed || s->kernel->run == embed_gradient;
    s->group = embeds ? size->symbols + 3 : ROWS_EACH;
    if (!allocate(s, error)) return close_case(s), NULL;
    fill(s);
    return s;
}

static ch_status verify(void *state, ch_error *error) {
    struct state *s = state;
    return s->kernel->verify(s, error);
}

static ch_status run(void *state, ch_error *error) {
    struct state *s = state;
    (void)error;
    s->kernel->run(s);
    return CH_OK;
}

static struct work work(const void *state) {
    const struct state *s = state;
    return (struct work){.bytes = (double)s->count * (s->kernel->reals * sizeof(real) + s->kernel->bytes)};
}

const struct kind kind_rows = {
    .name = "rows", .row = row, .open = open_case, .verify = verify, .run = run, .work = work, .close = close_case};
