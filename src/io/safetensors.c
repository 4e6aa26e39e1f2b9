/* The reader: header and checks first, data on demand. */
#include "io/safetensors.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "nn/params.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LENGTH_BYTES = 8,
    HEADER_LIMIT = 100 * 1000 * 1000, /* the format's own limit */
    CHUNK = 16 * 1024,                /* of data on its way to real; a multiple of every element's size */
    SHAPE_TEXT = 192,                 /* ST_RANK numbers of 20 digits */
};

struct slot {
    const struct st_tensor *tensor;
};

struct st_file {
    char *path;
    int descriptor;
    struct js_value *header; /* owns the names and the metadata */
    const struct js_value *metadata;
    struct st_tensor *tensor;
    size_t count;
    struct slot *by_name; /* sorted */
};

/* ---- what is no safetensors file ---------------------------------------------------------------- */

static bool starts_with(const unsigned char *bytes, size_t length, const char *prefix) {
    return length >= strlen(prefix) && memcmp(bytes, prefix, strlen(prefix)) == 0;
}

/* Names the usual suspects. `start` holds the file's first bytes. */
static ch_status refuse_start(const char *path, const unsigned char *start, size_t length, ch_error *error) {
    if (starts_with(start, length, "version https://git-lfs"))
        return fail(error, CH_FAILED,
                    "%s is a Git-LFS pointer, not the file itself: run `git lfs pull` in its repository to get it",
                    path);
    if (starts_with(start, length, "PK\x03\x04") || starts_with(start, length, "\x80\x02"))
        return fail(error, CH_FAILED,
                    "%s is a PyTorch pickle archive, expected safetensors: load it in PyTorch and save its state_dict "
                    "as safetensors",
                    path);
    if (length <= LENGTH_BYTES)
        return fail(error, CH_FAILED, "%s is truncated: expected a safetensors header, found %zu byte%s in all", path,
                    length, text_plural(length));
    return fail(error, CH_FAILED,
                "%s is not a safetensors file: expected a header of at most %d bytes that starts with '{', found other "
                "bytes",
                path, HEADER_LIMIT);
}

/* Reads the length of the header and makes sure that so many bytes are there. */
static ch_status read_header_length(struct st_file *file, uint64_t file_bytes, size_t *header_bytes, ch_error *error) {
    unsigned char start[64] = {0};
    size_t length = file_bytes < sizeof start ? (size_t)file_bytes : sizeof start;
    if (length == 0) return fail(error, CH_FAILED, "%s is empty, expected a safetensors file", file->path);
    ch_status status = file_read_at(file->descriptor, file->path, 0, start, length, error);
    if (status != CH_OK) return status;
    uint64_t stated = 0;
    for (int i = 0; i < LENGTH_BYTES; i++) stated |= (uint64_t)start[i] << (8 * i);
    if (length <= LENGTH_BYTES || start[LENGTH_BYTES] != '{' || stated > HEADER_LIMIT || stated < 2)
        return refuse_start(file->path, start, length, error);
    if (stated > file_bytes - LENGTH_BYTES)
        return fail(error, CH_FAILED,
                    "%s is truncated: its header ends at byte %" PRIu64 ", but the file has %" PRIu64 " bytes",
                    file->path, stated + LENGTH_BYTES, file_bytes);
    *header_bytes = (size_t)stated;
    return CH_OK;
}

static ch_status read_header(struct st_file *file, size_t bytes, ch_error *error) {
    char where[640];
    snprintf(where, sizeof where, "the header of %s", file->path);
    char *text = mem_new(bytes, 1);
    if (!text) return fail_memory(error, where);
    ch_status status = file_read_at(file->descriptor, file->path, LENGTH_BYTES, text, bytes, error);
    if (status == CH_OK) status = js_parse(text, bytes, where, &file->header, error);
    mem_free(text);
    return status;
}

/* ---- one tensor's entry: `where` names file and tensor ------------------------------------------- */

static ch_status read_dtype(struct st_tensor *tensor, const struct js_value *entry, const char *where,
                            ch_error *error) {
    const char *name;
    ch_status status = js_text(js_find(entry, "dtype"), where, "dtype", &name, error);
    if (status != CH_OK) return status;
    tensor->dtype = st_dtype_find(name);
    return tensor->dtype ? CH_OK : fail(error, CH_FAILED, "%s: unknown dtype '%s'", where, name);
}

/* Elements and bytes that the shape asks for. */
static ch_status count_bytes(struct st_tensor *tensor, const char *where, ch_error *error) {
    bool overflow = false;
    tensor->count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        if (tensor->shape[d] < 0)
            return fail(error, CH_FAILED, "%s: 'shape': expected sizes of at least 0, found %" PRId64, where,
                        tensor->shape[d]);
        overflow = overflow || __builtin_mul_overflow(tensor->count, (size_t)tensor->shape[d], &tensor->count);
    }
    overflow = overflow || __builtin_mul_overflow(tensor->count, tensor->dtype->size, &tensor->bytes);
    if (!overflow) return CH_OK;
    char shape[SHAPE_TEXT];
    shape_text(tensor->rank, tensor->shape, shape, sizeof shape);
    return fail(error, CH_FAILED, "%s: the shape %s has more elements than any machine can hold", where, shape);
}

static ch_status read_shape(struct st_tensor *tensor, const struct js_value *entry, const char *where,
                            ch_error *error) {
    const struct js_value *shape = js_find(entry, "shape");
    ch_status status = js_expect(shape, JS_ARRAY, where, "shape", error);
    if (status == CH_OK && js_count(shape) > ST_RANK)
        status =
            fail(error, CH_FAILED, "%s: expected at most %d dimensions, found %zu", where, ST_RANK, js_count(shape));
    for (; status == CH_OK && (size_t)tensor->rank < js_count(shape); tensor->rank++)
        status = js_int(js_at(shape, (size_t)tensor->rank), where, "shape", &tensor->shape[tensor->rank], error);
    return status == CH_OK ? count_bytes(tensor, where, error) : status;
}

/* Offsets become positions in the file once they are known to fit the shape and lie inside the data. */
static ch_status read_offsets(struct st_tensor *tensor, const struct js_value *entry, uint64_t data_start,
                              const char *where, ch_error *error) {
    const struct js_value *offsets = js_find(entry, "data_offsets");
    int64_t begin, end;
    ch_status status = js_expect(offsets, JS_ARRAY, where, "data_offsets", error);
    if (status == CH_OK && js_count(offsets) != 2)
        status = fail(error, CH_FAILED, "%s: 'data_offsets': expected 2 numbers, found %zu", where, js_count(offsets));
    if (status == CH_OK) status = js_int(js_at(offsets, 0), where, "data_offsets", &begin, error);
    if (status == CH_OK) status = js_int(js_at(offsets, 1), where, "data_offsets", &end, error);
    if (status != CH_OK) return status;
    if (begin < 0 || end < begin || (uint64_t)(end - begin) != tensor->bytes) {
        char shape[SHAPE_TEXT];
        shape_text(tensor->rank, tensor->shape, shape, sizeof shape);
        return fail(error, CH_FAILED,
                    "%s: expected %zu byte%s for %s %s, found data_offsets [%" PRId64 ", %" PRId64 "]", where,
                    tensor->bytes, text_plural(tensor->bytes), tensor->dtype->name, shape, begin, end);
    }
    if (end > INT64_MAX - HEADER_LIMIT - LENGTH_BYTES)
        return fail(error, CH_FAILED, "%s: data_offsets end at %" PRId64 ", beyond any file", where, end);
    tensor->offset = data_start + (uint64_t)begin;
    return CH_OK;
}

/* Names are printed, so they must be text that a person can see. That they are UTF-8 is JSON's rule already. */
static ch_status check_name(const char *path, const char *name, ch_error *error) {
    static const char rule[] = "expected tensors' names without control characters";
    if (!*name) return fail(error, CH_FAILED, "%s: %s, found an empty one", path, rule);
    for (const char *c = name; *c; c++)
        if (text_control(c)) return fail(error, CH_FAILED, "%s: %s, found '%s'", path, rule, name);
    return CH_OK;
}

static ch_status read_entry(struct st_tensor *tensor, const char *path, const char *name, const struct js_value *entry,
                            uint64_t data_start, ch_error *error) {
    char where[640];
    snprintf(where, sizeof where, "%s: tensor '%s'", path, name);
    *tensor = (struct st_tensor){.name = name};
    ch_status status = js_expect(entry, JS_OBJECT, path, name, error);
    if (status == CH_OK) status = check_name(path, name, error);
    if (status == CH_OK) status = read_dtype(tensor, entry, where, error);
    if (status == CH_OK) status = read_shape(tensor, entry, where, error);
    if (status == CH_OK) status = read_offsets(tensor, entry, data_start, where, error);
    return status;
}

/* ---- the header as a whole ---------------------------------------------------------------------- */

static ch_status read_metadata(struct st_file *file, const struct js_value *metadata, ch_error *error) {
    ch_status status = js_expect(metadata, JS_OBJECT, file->path, "__metadata__", error);
    void *cursor = NULL;
    const char *key, *text;
    const struct js_value *value;
    while (status == CH_OK && js_next(metadata, &cursor, &key, &value))
        status = js_text(value, file->path, key, &text, error);
    file->metadata = metadata;
    return status;
}

static ch_status read_entries(struct st_file *file, uint64_t data_start, ch_error *error) {
    size_t keys = js_count(file->header);
    file->tensor = mem_new(keys, sizeof *file->tensor);
    file->by_name = mem_new(keys, sizeof *file->by_name);
    if (!file->tensor || !file->by_name) return fail_memory(error, file->path);
    void *cursor = NULL;
    const char *key;
    const struct js_value *value;
    ch_status status = CH_OK;
    while (status == CH_OK && js_next(file->header, &cursor, &key, &value)) {
        if (strcmp(key, "__metadata__") == 0) {
            status = read_metadata(file, value, error);
        } else {
            struct st_tensor *tensor = &file->tensor[file->count];
            file->by_name[file->count++].tensor = tensor;
            status = read_entry(tensor, file->path, key, value, data_start, error);
        }
    }
    return status;
}

static int compare_offsets(const void *a, const void *b) {
    const struct st_tensor *x = ((const struct slot *)a)->tensor, *y = ((const struct slot *)b)->tensor;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* an empty one first: it ends where it begins */
}

static int compare_names(const void *a, const void *b) {
    const struct st_tensor *x = ((const struct slot *)a)->tensor, *y = ((const struct slot *)b)->tensor;
    return strcmp(x->name, y->name);
}

/* The tensors must cover the data: no gap, no overlap, nothing behind. `order` is sorted by offset. */
static ch_status check_cover(const struct st_file *file, const struct slot *order, uint64_t data_start,
                             uint64_t file_bytes, ch_error *error) {
    uint64_t end = data_start;
    for (size_t i = 0; i < file->count; i++) {
        if (order[i].tensor->offset != end)
            return fail(error, CH_FAILED,
                        "%s: tensor '%s': expected its data at offset %" PRIu64 ", found %" PRIu64 " (%s)", file->path,
                        order[i].tensor->name, end - data_start, order[i].tensor->offset - data_start,
                        order[i].tensor->offset < end ? "tensors overlap" : "bytes that belong to no tensor");
        end += order[i].tensor->bytes;
    }
    if (end == file_bytes) return CH_OK;
    return fail(error, CH_FAILED, "%s %s: expected %" PRIu64 " bytes as its header says, found %" PRIu64, file->path,
                file_bytes < end ? "is truncated" : "has bytes behind its last tensor", end, file_bytes);
}

static ch_status open_checked(struct st_file *file, ch_error *error) {
    uint64_t file_bytes = 0;
    size_t header_bytes = 0;
    ch_status status = file_open(file->path, &file->descriptor, &file_bytes, error);
    if (status == CH_OK) status = read_header_length(file, file_bytes, &header_bytes, error);
    if (status == CH_OK) status = read_header(file, header_bytes, error);
    if (status != CH_OK) return status;
    uint64_t data_start = LENGTH_BYTES + header_bytes;
    status = read_entries(file, data_start, error);
    if (status != CH_OK) return status;
    qsort(file->by_name, file->count, sizeof *file->by_name, compare_offsets);
    status = check_cover(file, file->by_name, data_start, file_bytes, error);
    qsort(file->by_name, file->count, sizeof *file->by_name, compare_names);
    return status;
}

ch_status st_open(const char *path, struct st_file **file, ch_error *error) {
    ch_assert(path && file);
    *file = NULL;
    struct st_file *opened = mem_new(1, sizeof *opened);
    if (!opened) return fail_memory(error, path);
    opened->descriptor = -1;
    opened->path = mem_copy_string(path);
    ch_status status = opened->path ? open_checked(opened, error) : fail_memory(error, path);
    if (status == CH_OK)
        *file = opened;
    else
        st_close(opened);
    return status;
}

void st_close(struct st_file *file) {
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    js_free(file->header);
    mem_free(file->tensor);
    mem_free(file->by_name);
    mem_free(file->path);
    mem_free(file);
}

/* ---- looking things up -------------------------------------------------------------------------- */

size_t st_count(const struct st_file *file) {
    return file->count;
}

const struct st_tensor *st_tensor(const struct st_file *file, size_t i) {
    ch_assert(i < file->count);
    return &file->tensor[i];
}

const struct st_tensor *st_find(const struct st_file *file, const char *name) {
    const struct slot wanted = {&(const struct st_tensor){.name = name}};
    const struct slot *found = bsearch(&wanted, file->by_name, file->count, sizeof wanted, compare_names);
    return found ? found->tensor : NULL;
}

const char *st_metadata(const struct st_file *file, const char *key) {
    const struct js_value *value = js_find(file->metadata, key);
    const char *text = NULL;
    if (value) js_text(value, file->path, key, &text, NULL);
    return text;
}

/* NULL, and a sentence, if there is no such tensor. */
static const struct st_tensor *find_shaped(const struct st_file *file, const char *name, int rank, const int64_t *shape,
                                           ch_error *error) {
    char expected[SHAPE_TEXT], found[SHAPE_TEXT];
    ch_assert(rank >= 0 && rank <= ST_RANK);
    shape_text(rank, shape, expected, sizeof expected);
    const struct st_tensor *tensor = st_find(file, name);
    if (!tensor) {
        fail(error, CH_FAILED, "%s: expected a tensor '%s' of shape %s, found none of that name", file->path, name,
             expected);
        return NULL;
    }
    bool equal = rank == tensor->rank;
    for (int d = 0; equal && d < rank; d++) equal = shape[d] == tensor->shape[d];
    if (equal) return tensor;
    shape_text(tensor->rank, tensor->shape, found, sizeof found);
    fail(error, CH_FAILED, "%s: tensor '%s': expected shape %s, found %s", file->path, name, expected, found);
    return NULL;
}

static ch_status wrong_dtype(const struct st_file *file, const struct st_tensor *tensor, const char *expected,
                             ch_error *error) {
    return fail(error, CH_FAILED, "%s: tensor '%s': expected dtype %s, found %s", file->path, tensor->name, expected,
                tensor->dtype->name);
}

ch_status st_expect(const struct st_file *file, const char *name, int rank, const int64_t *shape,
                    const struct st_tensor **tensor, ch_error *error) {
    *tensor = find_shaped(file, name, rank, shape, error);
    if (!*tensor) return CH_FAILED;
    return (*tensor)->dtype->convert ? CH_OK : wrong_dtype(file, *tensor, "F32, F16, BF16 or F64", error);
}

ch_status st_expect_dtype(const struct st_file *file, const char *name, const char *dtype, int rank,
                          const int64_t *shape, const struct st_tensor **tensor, ch_error *error) {
    *tensor = find_shaped(file, name, rank, shape, error);
    if (!*tensor) return CH_FAILED;
    return strcmp((*tensor)->dtype->name, dtype) == 0 ? CH_OK : wrong_dtype(file, *tensor, dtype, error);
}

/* ---- data --------------------------------------------------------------------------------------- */

ch_status st_read(const struct st_file *file, const struct st_tensor *tensor, real *out, ch_error *error) {
    unsigned char chunk[CHUNK];
    ch_assert(tensor->dtype->convert);
    size_t size = tensor->dtype->size, most = CHUNK / size;
    ch_status status = CH_OK;
    for (size_t done = 0; status == CH_OK && done < tensor->count;) {
        size_t count = tensor->count - done < most ? tensor->count - done : most;
        status = file_read_at(file->descriptor, file->path, tensor->offset + done * size, chunk, count * size, error);
        if (status == CH_OK) tensor->dtype->convert(chunk, count, out + done);
        done += count;
    }
    return status;
}

ch_status st_read_finite(const struct st_file *file, const struct st_tensor *tensor, bool is_signed, real *out,
                         ch_error *error) {
    ch_status status = st_read(file, tensor, out, error);
    for (size_t i = 0; i < tensor->count && status == CH_OK; i++)
        if (!isfinite(out[i]))
            status = fail(error, CH_FAILED, "%s: '%s': element %zu is %s; expected finite numbers", file->path,
                          tensor->name, i, isnan(out[i]) ? "not a number" : "infinite");
        else if (!is_signed && out[i] < 0)
            status = fail(error, CH_FAILED, "%s: '%s': element %zu is %g; expected numbers of at least 0", file->path,
                          tensor->name, i, (double)out[i]);
    return status;
}

ch_status st_read_bytes(const struct st_file *file, const struct st_tensor *tensor, void *out, ch_error *error) {
    return file_read_at(file->descriptor, file->path, tensor->offset, out, tensor->bytes, error);
}
