/* Any bytes as a file: st_open refuses it with a sentence, or gives tensors that lie in the file, cover its data and
 * can be found and read. */
#include "io/safetensors.h"
#include "base/memory.h"
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

static void check_lookups(const struct st_file *file, const struct st_tensor *tensor) {
    const struct st_tensor *found;
    int64_t other[ST_RANK];
    memcpy(other, tensor->shape, sizeof other);
    other[0] ^= 1;
    ch_assert(st_find(file, tensor->name) == tensor);
    bool floats = st_expect(file, tensor->name, tensor->rank, tensor->shape, &found, NULL) == CH_OK;
    ch_assert(floats == (tensor->dtype->convert != NULL) && found == tensor);
    ch_status status =
        st_expect_dtype(file, tensor->name, tensor->dtype->name, tensor->rank, tensor->shape, &found, NULL);
    ch_assert(status == CH_OK);
    status = st_expect_dtype(file, tensor->name, "F128", tensor->rank, tensor->shape, &found, NULL);
    ch_assert(status == CH_FAILED);
    status = st_expect(file, tensor->name, tensor->rank ? tensor->rank : 1, other, &found, NULL);
    ch_assert(status == CH_FAILED);
}

static void check_data(const struct st_file *file, const struct st_tensor *tensor, size_t length) {
    ch_assert(tensor->offset <= length && tensor->bytes <= length - tensor->offset);
    unsigned char *raw = mem_new(tensor->bytes, 1);
    real *converted = mem_new(tensor->dtype->convert ? tensor->count : 0, sizeof *converted);
    ch_assert(raw && converted);
    ch_status status = st_read_bytes(file, tensor, raw, NULL);
    ch_assert(status == CH_OK);
    if (tensor->dtype->convert) {
        status = st_read(file, tensor, converted, NULL);
        ch_assert(status == CH_OK);
    }
    mem_free(raw);
    mem_free(converted);
}

static void check_file(const struct st_file *file, const uint8_t *bytes, size_t length) {
    size_t covered = 0;
    for (size_t i = 0; i < st_count(file); i++) {
        check_lookups(file, st_tensor(file, i));
        check_data(file, st_tensor(file, i), length);
        covered += st_tensor(file, i)->bytes;
    }
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    ch_assert(8 + header + covered == length);
    ch_assert(!st_find(file, "__metadata__"));
    const char *note = st_metadata(file, "k");
    ch_assert(!note || strlen(note) < length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char path[MEMORY_PATH];
    int memory = memory_file(bytes, length, path);
    struct st_file *file;
    ch_error error = {0};
    ch_status status = st_open(path, &file, &error);
    if (status == CH_OK)
        check_file(file, bytes, length);
    else
        ch_assert(!file && error.status == status && strstr(error.message, path));
    st_close(file);
    close(memory);
    return 0;
}
