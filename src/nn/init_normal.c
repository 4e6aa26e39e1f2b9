/*
 * GPT-2's, Radford et al. 2019: every matrix from a normal distribution around 0 of deviation 0.02; those that end a
 * residual branch of 0.02 / sqrt(n), n the branches of their stack, so that the sum of all branches deviates as one
 * does; biases 0, norms from 1 and 0.
 */
#include "nn/init.h"

#include <string.h>

static const double deviation = 0.02;

/* A stack is what names begin with, up to the first dot: "enc", "dec". */
static bool same_stack(const struct param *a, const struct param *b) {
    size_t length = strcspn(a->name, ".");
    return length == strcspn(b->name, ".") && memcmp(a->name, b->name, length) == 0;
}

static double deviation_of(const struct params *params, const struct param *row) {
    int branches = 0;
    for (int i = 0; row->residual && i < params->count; i++)
        branches += params->row[i].residual && same_stack(&params->row[i], row);
    return branches ? deviation / sqrt(branches) : deviation;
}

/* Box & Muller 1958: two numbers from the angle and the distance of a point. */
static void normal(double scale, const uint32_t bits[4], double number[4]) {
    for (int i = 0; i < 4; i += 2) {
        double distance = scale * sqrt(-2 * log(((double)bits[i] + 0.5) / 4294967296.0));
        double angle = 6.28318530717958647693 * ((double)bits[i + 1] + 0.5) / 4294967296.0;
        number[i] = distance * cos(angle);
        number[i + 1] = distance * sin(angle);
    }
}

/* Constructors first, in order of registration; then normal_ over everything with two dimensions. */
static void fill(struct params *params, uint64_t seed, struct torch_rng *torch) {
    struct philox_key key = philox_derive(seed, PHILOX_INIT, 0);
    double spare = 0;
    if (torch) init_torch_construct(params, torch, &spare);
    init_norms(params);
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (row->role == ROLE_LINEAR_BIAS) init_constant(params, row, 0);
        if (!init_is_matrix(row)) continue;
        double scale = deviation_of(params, row);
        if (torch)
            torch_rng_normal(torch, &spare, params->value + row->offset, (int64_t)row->count, scale);
        else
            init_philox(params, row, key, normal, scale);
    }
}

static double matrix_variance(int64_t out, int64_t in) {
    (void)out, (void)in;
    return deviation * deviation;
}

static double bias_variance(int64_t in) {
    (void)in;
    return 0;
}

const struct init init_normal = {
    .variant = {"normal", "matrices normal(0, 0.02), narrower where they end a residual branch, as in GPT-2"},
    .fill = fill,
    .matrix_variance = matrix_variance,
    .bias_variance = bias_variance,
};
