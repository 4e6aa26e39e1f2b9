/*
 * Glorot & Bengio 2010: every matrix from uniform(-a, a), a = sqrt(6 / (in + out)); biases of linear layers from
 * uniform(-1 / sqrt(in), 1 / sqrt(in)), as PyTorch constructs them; norms from 1 and 0. The lesson's initialisation.
 */
#include "nn/init.h"

static double bias_bound(const struct param *row) {
    return 1.0 / sqrt(row->fan_in);
}

static double xavier_bound(const struct param *row) {
    return sqrt(6.0 / (double)(row->shape[0] + row->shape[1]));
}

static void uniform(double bound, const uint32_t bits[4], double number[4]) {
    for (int i = 0; i < 4; i++) number[i] = bound * (2.0 * ((double)bits[i] + 0.5) / 4294967296.0 - 1.0);
}

static void fill_philox(struct params *params, uint64_t seed) {
    struct philox_key key = philox_derive(seed, PHILOX_INIT, 0);
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (init_is_matrix(row)) init_philox(params, row, key, uniform, xavier_bound(row));
        if (row->role == ROLE_LINEAR_BIAS) init_philox(params, row, key, uniform, bias_bound(row));
    }
}

/* Constructors first, in order of registration; then xavier_uniform_ over everything with two dimensions. */
static void fill_torch(struct params *params, struct torch_rng *torch) {
    init_torch_construct(params, torch, NULL);
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (init_is_matrix(row)) torch_xavier_uniform(torch, params->value + row->offset, row->shape[0], row->shape[1]);
    }
}

static void fill(struct params *params, uint64_t seed, struct torch_rng *torch) {
    init_norms(params);
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
