#include "nn/init.h"
#include "nn/pass.h"

static const struct init *const variants[] = {&init_xavier, &init_normal, NULL};

const ch_variant *init_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}

bool init_is_matrix(const struct param *row) {
    return row->role == ROLE_EMBEDDING || row->role == ROLE_LINEAR_WEIGHT;
}

void init_constant(struct params *params, const struct param *row, real value) {
    for (size_t i = 0; i < row->count; i++) params->value[row->offset + i] = value;
}

void init_norms(struct params *params) {
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (row->role == ROLE_NORM_WEIGHT) init_constant(params, row, 1);
        if (row->role == ROLE_NORM_BIAS) init_constant(params, row, 0);
    }
}

void init_philox(struct params *params, const struct param *row, struct philox_key key, init_four four, double scale) {
    uint32_t counter[4] = {0, 0, 0, pass_site(row->name, "init")}, bits[4];
    double number[4] = {0};
    for (size_t i = 0; i < row->count; i++) {
        if (i % 4 == 0) {
            counter[0] = (uint32_t)(i / 4);
            counter[1] = (uint32_t)(i / 4 >> 32);
            philox(key, counter, bits);
            four(scale, bits, number);
        }
        params->value[row->offset + i] = RC(number[i % 4]);
    }
}

/* What the constructor of a layer of that role draws for a row. */
static void construct(struct params *params, const struct param *row, enum param_role role, struct torch_rng *torch,
                      double *spare) {
    real *out = params->value + row->offset;
    int64_t count = (int64_t)row->count;
    if (role == ROLE_EMBEDDING && spare) torch_rng_normal(torch, spare, out, count, 1);
    if (role == ROLE_EMBEDDING && !spare) torch_rng_skip_normal(torch, count);
    if (role == ROLE_LINEAR_WEIGHT) torch_kaiming_uniform_linear(torch, out, row->shape[0], row->shape[1]);
    if (role == ROLE_LINEAR_BIAS) torch_linear_bias(torch, out, row->shape[0], row->fan_in);
}

/* A matrix that was replaced is drawn into the one that took its place: constructors' matrices are drawn again anyway.
 */
void init_torch_construct(struct params *params, struct torch_rng *torch, double *spare) {
    for (int i = 0; i <= params->count; i++) {
        for (int r = 0; r < params->replaced_count; r++) {
            const struct replaced *replaced = &params->replaced[r];
            if (replaced->before == i) construct(params, &params->row[replaced->row], replaced->role, torch, spare);
        }
        if (i < params->count) construct(params, &params->row[i], params->row[i].role, torch, spare);
    }
}
