/* The writer: a header from the list of items, then the data straight from where it lies. */
#include "io/safetensors.h"
#include "base/json.h"
#include "base/memory.h"
#include "io/file.h"

#include <string.h>

static const struct st_dtype *item_dtype(const struct st_item *item) {
    const struct st_dtype *dtype = st_dtype_find(item->dtype ? item->dtype : REAL_DTYPE);
    ch_assert(dtype);
    return dtype;
}

static size_t item_bytes(const struct st_item *item) {
    size_t bytes = item_dtype(item)->size;
    ch_assert(item->rank >= 0 && item->rank <= ST_RANK);
    for (int d = 0; d < item->rank; d++) {
        bool overflow = item->shape[d] < 0 || __builtin_mul_overflow(bytes, (size_t)item->shape[d], &bytes);
        ch_assert(!overflow);
    }
    return bytes;
}

/* NULL when memory runs out, as all js_new_* */
static struct js_value *integers(const int64_t *value, int count) {
    struct js_value *array = js_new_array();
    bool ok = array != NULL;
    for (int i = 0; ok && i < count; i++) ok = js_add(array, js_new_int(value[i]));
    if (ok) return array;
    js_free(array);
    return NULL;
}

static bool add_item(struct js_value *header, const struct st_item *item, int64_t begin, int64_t end) {
    ch_assert(!js_find(header, item->name));
    struct js_value *entry = js_new_object();
    bool ok = js_set(entry, "dtype", js_new_text(item_dtype(item)->name)) &&
              js_set(entry, "shape", integers(item->shape, item->rank)) &&
              js_set(entry, "data_offsets", integers((const int64_t[]){begin, end}, 2));
    if (ok) return js_set(header, item->name, entry);
    js_free(entry);
    return false;
}

static bool add_metadata(struct js_value *header, const struct st_pair *metadata, size_t pairs) {
    struct js_value *object = js_new_object();
    bool ok = js_set(header, "__metadata__", object); /* which owns it from here on */
    for (size_t i = 0; ok && i < pairs; i++) {
        ch_assert(!js_find(object, metadata[i].key));
        ok = js_set(object, metadata[i].key, js_new_text(metadata[i].value));
    }
    return ok;
}

static bool build_header(struct js_value *header, const struct st_item *items, size_t count,
                         const struct st_pair *metadata, size_t pairs) {
    /* There even when it is empty: so no tensor can take its name. */
    bool ok = add_metadata(header, metadata, pairs);
    int64_t end = 0;
    for (size_t i = 0; ok && i < count; i++) {
        int64_t begin = end;
        bool overflow = __builtin_add_overflow(end, item_bytes(&items[i]), &end);
        ch_assert(!overflow);
        ok = add_item(header, &items[i], begin, end);
    }
    return ok;
}

/* JSON text is UTF-8. A caller's names are; metadata may carry a user's words. */
static ch_status check_text(const char *path, const struct st_item *items, size_t count, const struct st_pair *metadata,
                            size_t pairs, ch_error *error) {
    for (size_t i = 0; i < count; i++)
        if (!js_is_text(items[i].name))
            return fail(error, CH_FAILED, "%s: expected a tensor's name in UTF-8, found other bytes: '%s'", path,
                        items[i].name);
    for (size_t i = 0; i < pairs; i++)
        if (!js_is_text(metadata[i].key) || !js_is_text(metadata[i].value))
            return fail(error, CH_FAILED, "%s: metadata '%s': expected text in UTF-8, found other bytes", path,
                        metadata[i].key);
    return CH_OK;
}

/* The JSON text, or NULL when memory runs out; free with mem_free. */
static char *make_header(const struct st_item *items, size_t count, const struct st_pair *metadata, size_t pairs) {
    struct js_value *header = js_new_object();
    char *text = build_header(header, items, count, metadata, pairs) ? js_dump(header, 0) : NULL;
    js_free(header);
    return text;
}

static ch_status append_header(struct file_writer *writer, const char *text, ch_error *error) {
    size_t length = strlen(text), padded = (length + 7) / 8 * 8; /* so that the data starts aligned */
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++) prefix[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    ch_status status = file_writer_append(writer, prefix, sizeof prefix, error);
    if (status == CH_OK) status = file_writer_append(writer, text, length, error);
    if (status == CH_OK) status = file_writer_append(writer, "       ", padded - length, error);
    return status;
}

ch_status st_write(const char *path, const struct st_item *items, size_t count, const struct st_pair *metadata,
                   size_t pairs, ch_error *error) {
    ch_assert(path && (items || count == 0) && (metadata || pairs == 0));
    ch_status status = check_text(path, items, count, metadata, pairs, error);
    if (status != CH_OK) return status;
    char *text = make_header(items, count, metadata, pairs);
    if (!text) return fail_memory(error, path);
    struct file_writer writer;
    status = file_writer_open(&writer, path, error);
    if (status == CH_OK) status = append_header(&writer, text, error);
    for (size_t i = 0; status == CH_OK && i < count; i++)
        status = file_writer_append(&writer, items[i].data, item_bytes(&items[i]), error);
    if (status == CH_OK) status = file_writer_commit(&writer, error);
    mem_free(text);
    return status;
}
