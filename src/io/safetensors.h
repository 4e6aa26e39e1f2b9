/*
 * safetensors, the one file format for tensors: 8 bytes with the header's length N (little-endian), N bytes of JSON
 *     {"__metadata__": {key: text}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
 * and the data, which the offsets (counted from the data's first byte) cover without gap or overlap.
 * https://github.com/huggingface/safetensors
 *
 * Names are not empty and have no control characters: they are printed.
 *
 * The reader checks all of a file when it opens it and reads a tensor's data when asked, so that a model is never in
 * memory twice, and a file that shrinks meanwhile is a failure and not a signal. The writer puts tensors in the order
 * given: the same input makes the same bytes.
 */
#ifndef CH_IO_SAFETENSORS_H
#define CH_IO_SAFETENSORS_H

#include "base/error.h"
#include "base/real.h"

enum { ST_RANK = 8 }; /* the most dimensions */

struct st_dtype {
    const char *name; /* "BF16" */
    size_t size;      /* bytes of an element */
    /* Elements to real; NULL for those that are no floating-point numbers of ours. Bytes may lie anywhere. */
    void (*convert)(const unsigned char *bytes, size_t count, real *out);
};

/* The dtype of that name, or NULL. */
const struct st_dtype *st_dtype_find(const char *name);

/* ---- reading ---------------------------------------------------------------------------------- */

struct st_file;

struct st_tensor {
    const char *name;
    const struct st_dtype *dtype;
    int rank;
    int64_t shape[ST_RANK];
    size_t count;    /* elements */
    size_t bytes;    /* count * dtype->size */
    uint64_t offset; /* of the first byte in the file */
};

ch_status st_open(const char *path, struct st_file **file, ch_error *error);
void st_close(struct st_file *file); /* NULL is fine */

/* Tensors stand in the header's order; tensors, names and metadata are borrowed from the file. */
size_t st_count(const struct st_file *file);
const struct st_tensor *st_tensor(const struct st_file *file, size_t i);
const struct st_tensor *st_find(const struct st_file *file, const char *name); /* NULL: there is none */
/* The text of a metadata key, or NULL. */
const char *st_metadata(const struct st_file *file, const char *key);

/* The tensor of that name with that shape and numbers that st_read can read, or a sentence with what was expected and
 * what the file has. */
ch_status st_expect(const struct st_file *file, const char *name, int rank, const int64_t *shape,
                    const struct st_tensor **tensor, ch_error *error);
/* The same for st_read_bytes, with exactly that dtype. */
ch_status st_expect_dtype(const struct st_file *file, const char *name, const char *dtype, int rank,
                          const int64_t *shape, const struct st_tensor **tensor, ch_error *error);

/* tensor->count numbers: F32, F16, BF16 and F64 become real. An F64 too large for a float becomes infinite. */
ch_status st_read(const struct st_file *file, const struct st_tensor *tensor, real *out, ch_error *error);
/* The same, and refuses what is not finite; where they have no sign, what is below 0, too. */
ch_status st_read_finite(const struct st_file *file, const struct st_tensor *tensor, bool is_signed, real *out,
                         ch_error *error);
/* tensor->bytes bytes as they are: integers, generator words. */
ch_status st_read_bytes(const struct st_file *file, const struct st_tensor *tensor, void *out, ch_error *error);

/* ---- writing ---------------------------------------------------------------------------------- */

struct st_item {
    const char *name;
    const char *dtype; /* NULL: data is real (REAL_DTYPE is written); else "U8", "U32", "I64", ... */
    int rank;
    const int64_t *shape;
    const void *data;
};

struct st_pair {
    const char *key, *value;
};

/* Writes through io/file: whole or not at all. Names and keys must differ (a bug otherwise). */
ch_status st_write(const char *path, const struct st_item *items, size_t count, const struct st_pair *metadata,
                   size_t pairs, ch_error *error);

#endif
