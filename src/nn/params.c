#include "nn/params.h"
#include "base/memory.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

enum { GROUP_ALIGNMENT = 16 }; /* elements: groups start on a cache line */

/* Puts a row behind the last one of its group. */
static void join_group(struct params *params, int id) {
    int last = params->row[id].together;
    while (params->row[last].next >= 0) last = params->row[last].next;
    params->row[last].next = id;
}

ch_status params_declare(struct params *params, const char *prefix, const char *name, struct param_spec spec, int *id,
                         ch_error *error) {
    size_t capacity = (size_t)params->capacity;
    if (!mem_grow((void **)&params->row, &capacity, (size_t)params->count + 1, sizeof *params->row))
        return fail_memory(error, "the parameter table");
    params->capacity = (int)capacity;
    struct param *row = &params->row[params->count];
    *row = (struct param){.rank = spec.rank,
                          .count = 1,
                          .role = spec.role,
                          .fan_in = spec.fan_in,
                          .product = spec.role == ROLE_LINEAR_WEIGHT,
                          .frozen_row = spec.frozen_row_plus_1 - 1,
                          .together = spec.together_plus_1 ? spec.together_plus_1 - 1 : params->count,
                          .next = -1};
    int length = snprintf(row->name, sizeof row->name, "%s%s%s", prefix, *prefix ? "." : "", name);
    ch_assert(length < PARAM_NAME && spec.rank <= PARAM_RANK);
    for (int d = 0; d < spec.rank; d++) {
        row->shape[d] = spec.shape[d];
        if (__builtin_mul_overflow(row->count, (size_t)spec.shape[d], &row->count))
            return fail(error, CH_NO_MEMORY, "%s has more elements than this machine can count", row->name);
    }
    if (spec.together_plus_1) join_group(params, params->count);
    *id = params->count++;
    return CH_OK;
}

void params_share(struct params *params, int row, enum param_role role) {
    ch_assert(params->replaced_count < MOST_REPLACED);
    params->replaced[params->replaced_count++] = (struct replaced){params->count, row, role};
    if (role != ROLE_LINEAR_WEIGHT) return;
    params->row[row].product = true;
    params->row[row].frozen_row = -1; /* only embeddings pass a row over */
}

static ch_status place(struct params *params, struct param *row, ch_error *error) {
    row->offset = params->block;
    size_t end;
    if (__builtin_add_overflow(params->block, row->count, &end) || end > SIZE_MAX / 64)
        return fail(error, CH_NO_MEMORY, "the parameters up to %s do not fit into memory", row->name);
    params->block = end;
    return CH_OK;
}

/* Places the group of one row behind what is placed already. */
static ch_status place_group(struct params *params, int first, ch_error *error) {
    ch_status status = CH_OK;
    for (int i = first; i >= 0 && status == CH_OK; i = params->row[i].next)
        status = place(params, &params->row[i], error);
    params->block = (params->block + GROUP_ALIGNMENT - 1) / GROUP_ALIGNMENT * GROUP_ALIGNMENT;
    return status;
}

static ch_status place_all(struct params *params, bool trained, ch_error *error) {
    ch_status status = CH_OK;
    for (int first = 0; first < params->count && status == CH_OK; first++)
        if (params->row[first].together == first && param_is_trained(&params->row[first]) == trained)
            status = place_group(params, first, error);
    return status;
}

ch_status params_commit(struct params *params, ch_error *error) {
    params->block = 0;
    ch_status status = place_all(params, true, error);
    params->trained = params->block;
    return status == CH_OK ? place_all(params, false, error) : status;
}

ch_status params_allocate(struct params *params, ch_error *error) {
    params->value = mem_new_aligned(params->block * sizeof(real));
    return params->value ? CH_OK : fail_memory(error, "the parameters");
}

void params_free(struct params *params) {
    mem_free(params->row);
    mem_free_aligned(params->value);
    *params = (struct params){0};
}

real *params_new_block(const struct params *params) {
    return mem_new_aligned(params->trained * sizeof(real));
}

void params_clear_sums(const struct params *params, real *grad) {
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (param_is_trained(row) && !row->product) memset(grad + row->offset, 0, row->count * sizeof *grad);
    }
}

void params_turn(const struct params *params, real *turned, int first) {
    const struct param *row = &params->row[first];
    if (!row->product || row->together != first) return;
    int in = (int)row->shape[1], out = 0;
    for (int i = first; i >= 0; i = params->row[i].next) out += (int)params->row[i].shape[0];
    transpose(turned + row->offset, params->value + row->offset, out, in);
}

enum { MOST_TURNED = 16 << 20 }; /* elements: 64 MiB, what a large cache holds */

bool params_turn_pays(const struct params *params) {
    return params->trained <= MOST_TURNED;
}

real *params_new_turned(const struct params *params) {
    return mem_new_aligned((params->trained + LANES) * sizeof(real));
}

const struct param *params_find(const struct params *params, const char *name) {
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->row[i].name, name) == 0) return &params->row[i];
    return NULL;
}

bool param_is_trained(const struct param *param) {
    return param->role != ROLE_BUFFER;
}

int64_t params_count_trained(const struct params *params) {
    int64_t total = 0;
    for (int i = 0; i < params->count; i++)
        if (param_is_trained(&params->row[i])) total += (int64_t)params->row[i].count;
    return total;
}

void shape_text(int rank, const int64_t *shape, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "(");
    for (int d = 0; d < rank && used < size; d++)
        used += (size_t)snprintf(out + used, size - used, "%s%lld", d ? ", " : "", (long long)shape[d]);
    if (used < size) snprintf(out + used, size - used, ")");
}
