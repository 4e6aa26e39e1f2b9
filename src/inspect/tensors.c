#include "inspect/tensors.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/run_folder.h"
#include "io/safetensors.h"

#include <string.h>

real *tensors_add(struct ch_tensors *tensors, const char *name, int rank, const int64_t *shape) {
    if (!mem_grow((void **)&tensors->item, &tensors->capacity, tensors->count + 1, sizeof *tensors->item)) return NULL;
    struct named_tensor *item = &tensors->item[tensors->count];
    *item = (struct named_tensor){.rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        item->shape[d] = shape[d];
        item->count *= (size_t)shape[d];
    }
    item->name = mem_copy_string(name);
    item->value = mem_new(item->count, sizeof *item->value);
    if (item->name && item->value) {
        tensors->count++;
        return item->value;
    }
    mem_free(item->name);
    mem_free(item->value);
    return NULL;
}

struct named_tensor *tensors_find(const struct ch_tensors *tensors, const char *name) {
    for (size_t i = 0; i < tensors->count; i++)
        if (strcmp(tensors->item[i].name, name) == 0) return &tensors->item[i];
    return NULL;
}

void ch_tensors_free(ch_tensors *tensors) {
    if (!tensors) return;
    for (size_t i = 0; i < tensors->count; i++) {
        mem_free(tensors->item[i].name);
        mem_free(tensors->item[i].value);
    }
    mem_free(tensors->item);
    mem_free(tensors);
}

/* ---- files ---- */

static ch_status read_tensor(struct ch_tensors *tensors, const struct st_file *file, const struct st_tensor *from,
                             const char *path, ch_error *error) {
    if (!from->dtype->convert)
        return fail(error, CH_FAILED, "%s: '%s': expected floating-point numbers, found %s", path, from->name,
                    from->dtype->name);
    if (from->rank > TENSOR_RANK)
        return fail(error, CH_FAILED, "%s: '%s': expected at most %d dimensions, found %d", path, from->name,
                    TENSOR_RANK, from->rank);
    real *value = tensors_add(tensors, from->name, from->rank, from->shape);
    return value ? st_read(file, from, value, error) : fail_memory(error, path);
}

ch_status ch_tensors_open(const char *path, ch_tensors **out, ch_error *error) {
    *out = NULL;
    struct st_file *file;
    ch_status status = st_open(path, &file, error);
    if (status != CH_OK) return status;
    struct ch_tensors *tensors = mem_new(1, sizeof *tensors);
    if (!tensors) status = fail_memory(error, path);
    for (size_t i = 0; status == CH_OK && i < st_count(file); i++)
        status = read_tensor(tensors, file, st_tensor(file, i), path, error);
    st_close(file);
    if (status == CH_OK)
        *out = tensors;
    else
        ch_tensors_free(tensors);
    return status;
}

#define DUMP_FORMAT "clearhead dump"

/* A dump may take the place of a dump, and of nothing else: a model of the same ending would be lost. */
static ch_status check_target(const char *path, ch_error *error) {
    struct st_file *file;
    if (!run_exists(path)) return CH_OK;
    bool dump = false;
    if (st_open(path, &file, NULL) == CH_OK) {
        const char *format = st_metadata(file, "format");
        dump = format && strcmp(format, DUMP_FORMAT) == 0;
        st_close(file);
    }
    return dump ? CH_OK
                : fail(error, CH_FAILED,
                       "%s is there already and is not a dump; expected a new name, or that of a dump", path);
}

ch_status ch_tensors_save(const ch_tensors *tensors, const char *path, ch_error *error) {
    static const struct st_pair metadata[] = {{"format", DUMP_FORMAT}, {"schema", "1"}};
    ch_status status = check_target(path, error);
    if (status != CH_OK) return status;
    struct st_item *item = mem_new(tensors->count, sizeof *item);
    if (!item) return fail_memory(error, path);
    for (size_t i = 0; i < tensors->count; i++) {
        const struct named_tensor *from = &tensors->item[i];
        item[i] = (struct st_item){.name = from->name, .rank = from->rank, .shape = from->shape, .data = from->value};
    }
    status = st_write(path, item, tensors->count, metadata, sizeof metadata / sizeof *metadata, error);
    mem_free(item);
    return status;
}

/* ---- the public face ---- */

size_t ch_tensors_count(const ch_tensors *tensors) {
    return tensors->count;
}

static ch_tensor public_tensor(const struct named_tensor *item) {
    ch_tensor tensor = {.name = item->name, .rank = item->rank};
    memcpy(tensor.shape, item->shape, sizeof item->shape);
#ifndef CH_DOUBLE
    tensor.value = item->value;
#endif
    return tensor;
}

bool ch_tensors_get(const ch_tensors *tensors, size_t i, ch_tensor *tensor) {
    if (i >= tensors->count) return false;
    *tensor = public_tensor(&tensors->item[i]);
    return true;
}

void ch_tensors_values(const ch_tensors *tensors, size_t i, double *values) {
    ch_assert(i < tensors->count);
    for (size_t e = 0; e < tensors->item[i].count; e++) values[e] = (double)tensors->item[i].value[e];
}

static ch_status fail_unknown(const ch_tensors *tensors, const char *name, ch_error *error) {
    const char **names = mem_new(tensors->count, sizeof *names);
    for (size_t i = 0; names && i < tensors->count; i++) names[i] = tensors->item[i].name;
    const char *nearest = names ? text_nearest(name, names, tensors->count) : NULL;
    ch_status status =
        fail(error, CH_USAGE, "there is no tensor '%s'%s%s%s among %zu", name, nearest ? " (did you mean '" : "",
             nearest ? nearest : "", nearest ? "'?)" : "", tensors->count);
    mem_free(names);
    return status;
}

ch_status ch_tensors_find(const ch_tensors *tensors, const char *name, ch_tensor *tensor, ch_error *error) {
    const struct named_tensor *item = tensors_find(tensors, name);
    if (!item) return fail_unknown(tensors, name, error);
    *tensor = public_tensor(item);
    return CH_OK;
}
