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

/* The metadata key under which a file states the order of computation: its tensors' names, a line each. An object of
 * JSON has no order that all writers keep: safetensors' own sorts by dtype and name. */
#define ORDER "order"

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

/* Puts the tensors that the lines of `order` name in front, in that order; what it does not name keeps its place behind
 * them. Lines that name no tensor of the file, or one for the second time, say nothing. Returns how many were named. */
static size_t put_in_order(const struct st_tensor **tensor, bool *taken, const struct st_file *file, char *order) {
    size_t placed = 0;
    char *rest = order;
    for (char *name; (name = strsep(&rest, "\n"));) {
        const struct st_tensor *named = st_find(file, name);
        bool *mark = named ? &taken[named - st_tensor(file, 0)] : NULL;
        if (mark && !*mark) {
            *mark = true;
            tensor[placed++] = named;
        }
    }
    for (size_t i = 0, at = placed; i < st_count(file); i++)
        if (!taken[i]) tensor[at++] = st_tensor(file, i);
    return placed;
}

static ch_status read_all(struct ch_tensors *tensors, const struct st_file *file, const char *path, ch_error *error) {
    const char *stated = st_metadata(file, ORDER);
    size_t count = st_count(file);
    char *order = mem_copy_string(stated ? stated : "");
    const struct st_tensor **tensor = mem_new(count, sizeof *tensor);
    bool *taken = mem_new(count, sizeof *taken);
    ch_status status = order && tensor && taken ? CH_OK : fail_memory(error, path);
    if (status == CH_OK) tensors->ordered = put_in_order(tensor, taken, file, order) > 0 && stated;
    for (size_t i = 0; status == CH_OK && i < count; i++) status = read_tensor(tensors, file, tensor[i], path, error);
    mem_free(order);
    mem_free(tensor);
    mem_free(taken);
    return status;
}

ch_status ch_tensors_open(const char *path, ch_tensors **out, ch_error *error) {
    *out = NULL;
    struct st_file *file;
    ch_status status = st_open(path, &file, error);
    if (status != CH_OK) return status;
    struct ch_tensors *tensors = mem_new(1, sizeof *tensors);
    status = tensors ? read_all(tensors, file, path, error) : fail_memory(error, path);
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

/* The names, a line each; NULL when memory runs out. */
static char *order_of(const ch_tensors *tensors) {
    size_t size = 1;
    for (size_t i = 0; i < tensors->count; i++) size += strlen(tensors->item[i].name) + 1;
    char *order = mem_new(size, 1), *end = order;
    for (size_t i = 0; order && i < tensors->count; i++) {
        if (i) *end++ = '\n';
        end = stpcpy(end, tensors->item[i].name);
    }
    return order;
}

ch_status ch_tensors_save(const ch_tensors *tensors, const char *path, ch_error *error) {
    ch_status status = check_target(path, error);
    if (status != CH_OK) return status;
    struct st_item *item = mem_new(tensors->count, sizeof *item);
    char *order = order_of(tensors);
    const struct st_pair metadata[] = {{"format", DUMP_FORMAT}, {"schema", "1"}, {ORDER, order}};
    for (size_t i = 0; item && i < tensors->count; i++) {
        const struct named_tensor *from = &tensors->item[i];
        item[i] = (struct st_item){.name = from->name, .rank = from->rank, .shape = from->shape, .data = from->value};
    }
    status = item && order ? st_write(path, item, tensors->count, metadata, tensors->ordered ? 3 : 2, error)
                           : fail_memory(error, path);
    mem_free(item);
    mem_free(order);
    return status;
}

/* ---- the public face ---- */

size_t ch_tensors_count(const ch_tensors *tensors) {
    return tensors->count;
}

bool ch_tensors_ordered(const ch_tensors *tensors) {
    return tensors->ordered;
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
