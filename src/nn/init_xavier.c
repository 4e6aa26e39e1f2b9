/*
 * Glorot & Bengio 2010: every matrix from uniform(-a, a), a = sqrt(6 / (in + out)); biases of linear layers from
 * uniform(-1 / sqrt(in), 1 / sqrt(in)), as PyTorch constructs them; norms from 1 and 0. The lesson's initialisation.
 */
#include "base/philox.h"
#include "nn/init.h"
#include "nn/pass.h"

static void fill_constant(real *out, real value, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = value;
}

static double bias_bound(const struct param *row) {
    return 1.0 / sqrt(row->fan_in);
}

static double xavier_bound(const struct param *row) {
    return sqrt(6.0 / (double)(row->shape[0] + row->shape[1]));
}

static void fill_philox_row(real *out, const struct param *row, struct philox_key key, double bound) {
    uint32_t counter[4] = {0, 0, 0, pass_site(row->name, "init")}, bits[4];
    for (size_t i = 0; i < row->count; i++) {
        if (i % 4 == 0) {
            counter[0] = (uint32_t)(i / 4);
            counter[1] = (uint32_t)(i / 4 >> 32);
            philox(key, counter, bits);
        }
        out[i] = RC(bound * (2.0 * ((double)bits[i % 4] + 0.5) / 4294967296.0 - 1.0));
    }
}

static void fill_philox(struct params *params, uint64_t seed) {
    struct philox_key key = philox_derive(seed, PHILOX_INIT, 0);
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (row->role == ROLE_EMBEDDING || row->role == ROLE_LINEAR_WEIGHT)
            fill_philox_row(params->value + row->offset, row, key, xavier_bound(row));
        if (row->role == ROLE_LINEAR_BIAS) fill_philox_row(params->value + row->offset, row, key, bias_bound(row));
    }
}

/* Constructors first, in order of registration; then xavier_uniform_ over everything with two dimensions. */
static void fill_torch(struct params *params, struct torch_rng *torch) {
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        real *out = params->value + row->offset;
        if (row->role == ROLE_EMBEDDING) torch_rng_skip_normal(torch, (int64_t)row->count);
        if (row->role == ROLE_LINEAR_WEIGHT) torch_kaiming_uniform_linear(torch, out, row->shape[0], row->shape[1]);
        if (row->role == ROLE_LINEAR_BIAS) torch_linear_bias(torch, out, row->shape[0], row->fan_in);
    }
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (row->role == ROLE_EMBEDDING || row->role == ROLE_LINEAR_WEIGHT)
            torch_xavier_uniform(torch, params->value + row->offset, row->shape[0], row->shape[1]);
    }
}

static void fill(struct params *params, uint64_t seed, struct torch_rng *torch) {
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (row->role == ROLE_NORM_WEIGHT) fill_constant(params->value + row->offset, 1, row->count);
        if (row->role == ROLE_NORM_BIAS) fill_constant(params->value + row->offset, 0, row->count);
    }
    if (torch)
        fill_torch(params, torch);
    else
        fill_philox(params, seed);
}

/* Glorot & Bengio's aim; and a third of the square of the bound, as of every uniform number around 0. */
static double matrix_variance(int64_t out, int64_t in) {
    return 2.0 / (double)(in + out);
}

static double bias_variance(int64_t in) {
    return 1.0 / (3.0 * (double)in);
}

const struct init init_xavier = {
    .variant = {"xavier", "matrices uniform by fan-in plus fan-out, as in the lesson"},
    .fill = fill,
    .matrix_variance = matrix_variance,
    .bias_variance = bias_variance,
};
