/* io/safetensors: bytes written and read, every conversion, and a sentence for every way a file can be wrong. */
#include "io/safetensors.h"
#include "base/memory.h"
#include "io/file.h"
#include "runs.h"
#include "scarce.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a folder of our own ------------------------------------------------------------------------ */

static char path[PATH_MAX];

static int make_scratch(void **state) {
    make_folder(state);
    snprintf(path, sizeof path, "%s/m.st", folder);
    return 0;
}

/* ---- files made by hand ------------------------------------------------------------------------- */

/* Length, header, data; the length may lie. */
static void put(uint64_t stated, const char *header, const void *data, size_t bytes) {
    unsigned char buffer[4096];
    size_t length = strlen(header);
    assert_true(8 + length + bytes < sizeof buffer);
    for (int i = 0; i < 8; i++) buffer[i] = (unsigned char)(stated >> (8 * i));
    memcpy(buffer + 8, header, length + 1);
    if (bytes) memcpy(buffer + 8 + length, data, bytes);
    assert_int_equal(file_write(path, buffer, 8 + length + bytes, NULL), CH_OK);
}

static struct st_file *open_put(const char *header, const void *data, size_t bytes) {
    put(strlen(header), header, data, bytes);
    struct st_file *file;
    ch_error error;
    if (st_open(path, &file, &error) != CH_OK) fail_msg("%s", error.message);
    return file;
}

static void assert_refused(const char *says) {
    struct st_file *file = (struct st_file *)1;
    ch_error error = {0};
    assert_int_equal(st_open(path, &file, &error), CH_FAILED);
    assert_null(file);
    if (!strstr(error.message, path)) fail_msg("'%s' does not name %s", error.message, path);
    if (!strstr(error.message, says)) fail_msg("'%s' does not say '%s'", error.message, says);
    assert_int_equal(st_open(path, &file, NULL), CH_FAILED);
}

static void assert_sentence(ch_status status, const ch_error *error, const char *says) {
    assert_int_equal(status, CH_FAILED);
    if (!strstr(error->message, says)) fail_msg("'%s' does not say '%s'", error->message, says);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void read_expecting(const char *dtype, const void *data, size_t bytes, const double *expected, int64_t count) {
    char header[200];
    snprintf(header, sizeof header, "{\"x\":{\"dtype\":\"%s\",\"shape\":[%d],\"data_offsets\":[0,%zu]}}", dtype,
             (int)count, bytes);
    struct st_file *file = open_put(header, data, bytes);
    const struct st_tensor *tensor;
    assert_int_equal(st_expect(file, "x", 1, &count, &tensor, NULL), CH_OK);
    real out[16];
    assert_int_equal(st_read(file, tensor, out, NULL), CH_OK);
    for (int64_t i = 0; i < count; i++) {
        real wanted = (real)expected[i];
        if (isnan(wanted))
            assert_true(isnan(out[i]));
        else
            assert_memory_equal(&out[i], &wanted, sizeof wanted); /* the sign of zero, too */
    }
    st_close(file);
}

static void every_float_is_exact(void **state) {
    (void)state;
    static const double inf = (double)INFINITY, nan = (double)NAN;
    static const uint16_t half[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001,
                                    0x03ff, 0x0400, 0x7c00, 0xfc00, 0x7e00, 0x3555};
    read_expecting("F16", half, sizeof half,
                   (double[]){0, -0.0, 1, -2, 65504, 0x1p-24, 0x3ffp-24, 0x1p-14, inf, -inf, nan, 0x1.554p-2}, 12);
    static const uint16_t brain[] = {0x0000, 0x8000, 0x3f80, 0xc000, 0x7f7f, 0x0001, 0x7f80, 0xff80, 0x7fc0, 0x3eab};
    read_expecting("BF16", brain, sizeof brain,
                   (double[]){0, -0.0, 1, -2, 0x1.fep127, 0x1p-133, inf, -inf, nan, 0x1.56p-2}, 10);
    static const float single[] = {0, -0.0f, 1.5f, 3.4028235e38f, 1e-45f, INFINITY, NAN};
    read_expecting("F32", single, sizeof single, (double[]){0, -0.0, 1.5, 0x1.fffffep127, 0x1p-149, inf, nan}, 7);
    static const double wide[] = {0, -0.0, 0.1, 1e300, 5e-324, -1.5};
    read_expecting("F64", wide, sizeof wide, wide, 6);
}

/* More than one chunk of conversion, at an odd place. */
static void a_long_misaligned_tensor(void **state) {
    (void)state;
    enum { COUNT = 20011 };
    float *data = malloc(COUNT * sizeof *data);
    for (int i = 0; i < COUNT; i++) data[i] = (float)i * 0.25f;
    const uint8_t flag = 7;
    const struct st_item items[] = {{"flag", "U8", 0, NULL, &flag}, {"x", "F32", 1, (const int64_t[]){COUNT}, data}};
    assert_int_equal(st_write(path, items, 2, NULL, 0, NULL), CH_OK);
    struct st_file *file;
    assert_int_equal(st_open(path, &file, NULL), CH_OK);
    assert_int_equal(st_find(file, "x")->offset % 4, 1);
    real *out = malloc(COUNT * sizeof *out);
    assert_int_equal(st_read(file, st_find(file, "x"), out, NULL), CH_OK);
    for (int i = 0; i < COUNT; i++) assert_true(out[i] == (real)data[i]);
    st_close(file);
    free(out);
    free(data);
}

static void lookups(void **state) {
    (void)state;
    const char data[5] = "abcd";
    struct st_file *file =
        open_put("{\"z\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]},"
                 "\"__metadata__\":{\"task\":\"reverse\"},"
                 "\"e\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[2,2]},"
                 "\"a\":{\"shape\":[1,2,1],\"extra\":null,\"data_offsets\":[0,2],\"dtype\":\"BOOL\"}}   ",
                 data, 4);
    assert_int_equal(st_count(file), 3);
    assert_string_equal(st_tensor(file, 0)->name, "z");
    assert_string_equal(st_tensor(file, 2)->name, "a");
    for (size_t i = 0; i < 3; i++) assert_ptr_equal(st_find(file, st_tensor(file, i)->name), st_tensor(file, i));
    assert_null(st_find(file, "b"));
    assert_null(st_find(file, "__metadata__"));
    assert_string_equal(st_metadata(file, "task"), "reverse");
    assert_null(st_metadata(file, "heads"));
    const struct st_tensor *a = st_find(file, "a"), *e = st_find(file, "e");
    assert_int_equal(a->rank, 3);
    assert_int_equal(a->shape[1], 2);
    assert_int_equal(a->count, 2);
    char out[2];
    assert_int_equal(st_read_bytes(file, a, out, NULL), CH_OK);
    assert_memory_equal(out, "ab", 2);
    assert_int_equal(st_read_bytes(file, st_find(file, "z"), out, NULL), CH_OK);
    assert_memory_equal(out, "cd", 2);
    assert_int_equal(e->count, 0);
    assert_int_equal(st_read(file, e, NULL, NULL), CH_OK);
    st_close(file);
    st_close(NULL);
}

static void without_metadata_or_tensors(void **state) {
    (void)state;
    struct st_file *file = open_put("{}", NULL, 0);
    assert_int_equal(st_count(file), 0);
    assert_null(st_metadata(file, "task"));
    assert_null(st_find(file, "x"));
    st_close(file);
}

static void expectations_have_their_sentence(void **state) {
    (void)state;
    const char data[16] = {0};
    struct st_file *file = open_put("{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                                    "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[8,16]}}",
                                    data, 16);
    const struct st_tensor *tensor;
    const int64_t two[] = {2}, wide[] = {2, 3};
    ch_error error;
    assert_int_equal(st_expect(file, "w", 1, two, &tensor, &error), CH_OK);
    assert_sentence(st_expect(file, "w", 2, wide, &tensor, &error), &error,
                    "m.st: tensor 'w': expected shape (2, 3), found (2)");
    assert_sentence(st_expect(file, "w", 1, wide + 1, &tensor, &error), &error, "expected shape (3), found (2)");
    assert_sentence(st_expect(file, "v", 1, two, &tensor, &error), &error,
                    "m.st: expected a tensor 'v' of shape (2), found none of that name");
    assert_sentence(st_expect(file, "n", 0, NULL, &tensor, &error), &error,
                    "tensor 'n': expected dtype F32, F16, BF16 or F64, found I64");
    assert_int_equal(st_expect_dtype(file, "n", "I64", 0, NULL, &tensor, &error), CH_OK);
    assert_sentence(st_expect_dtype(file, "w", "I64", 1, two, &tensor, &error), &error,
                    "tensor 'w': expected dtype I64, found F32");
    st_close(file);
}

static void a_file_that_shrinks_after_opening(void **state) {
    (void)state;
    const char data[8] = {0};
    struct st_file *file = open_put("{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", data, 8);
    real out[2];
    ch_error error;
    assert_int_equal(truncate(path, 60), 0);
    assert_sentence(st_read(file, st_find(file, "w"), out, &error), &error, "while it is read");
    assert_sentence(st_read_bytes(file, st_find(file, "w"), out, &error), &error, "while it is read");
    st_close(file);
}

/* ---- wrong files -------------------------------------------------------------------------------- */

static void what_is_no_safetensors_file(void **state) {
    (void)state;
    static const struct {
        const char *content;
        size_t length;
        const char *says;
    } wrong[] = {
        {"", 0, "is empty"},
        {"hi\n", 3, "is truncated"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", 64, "git lfs pull"},
        {"<!DOCTYPE html><html></html>", 28, "is not a safetensors file"},
        {"hello world", 11, "is not a safetensors file"},
        {"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0archive/data.pkl", 34, "PyTorch pickle archive"},
        {"\x80\x02\x8a\x0al\xfc\x9c"
         "F\xf9 j\xa8P\x19.",
         15, "PyTorch pickle archive"},
        {"\x05\0\0\0\0\0\0\0 {}  ", 13, "is not a safetensors file"},
        {"\x01\xe1\xf5\x05\0\0\0\0{}", 10, "is not a safetensors file"}, /* 100,000,001 */
        {"\0\xe1\xf5\x05\0\0\0\0{}", 10, "its header ends at byte 100000008, but the file has 10 bytes"},
        {"\x01\0\0\0\0\0\0\0{}", 10, "is not a safetensors file"},
        {"\x02\0\0\0\0\0\0\0{]", 10, "not valid JSON at line 1"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "is not a safetensors file"},
        {"\x02\0\0\0\0\0\0\0{}more", 14,
         "bytes behind its last tensor: expected 10 bytes as its header says, found 14"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(file_write(path, wrong[i].content, wrong[i].length, NULL), CH_OK);
        assert_refused(wrong[i].says);
    }
    assert_int_equal(unlink(path), 0);
    assert_refused("No such file");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused("expected a file, found a folder");
}

static void wrong_headers(void **state) {
    (void)state;
    static const struct {
        const char *header, *says; /* with 8 bytes of data behind it */
    } wrong[] = {
        {"{\"w\":1}", "'w': expected an object, found a whole number"},
        {"{\"w\":{}}", "tensor 'w': 'dtype' is missing"},
        {"{\"w\":{\"dtype\":32}}", "tensor 'w': 'dtype': expected a string, found a whole number"},
        {"{\"w\":{\"dtype\":\"F31\"}}", "tensor 'w': unknown dtype 'F31'"},
        {"{\"w\":{\"dtype\":\"F32\"}}", "tensor 'w': 'shape' is missing"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":2}}", "'shape': expected an array, found a whole number"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2.0]}}", "'shape': expected a whole number, found a fraction"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[-2]}}", "expected sizes of at least 0, found -2"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1]}}", "expected at most 8 dimensions, found 9"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296]}}", "more elements than any machine"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904]}}", "more elements than any machine"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4,0]}}", "more elements than any machine"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2]}}", "'data_offsets' is missing"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}",
         "'data_offsets': expected 2 numbers, found 1"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,\"8\"]}}", "found a string"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[null,8]}}", "found null"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,7]}}",
         "expected 8 bytes for F32 (2), found data_offsets [0, 7]"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", "found data_offsets [8, 0]"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}}", "found data_offsets [-8, 0]"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[9223372036854775799,9223372036854775807]}}",
         "beyond any file"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,18446744073709551615]}}", "too big"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}",
         "is truncated: expected 75 bytes as its header says, found 71"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "bytes behind its last tensor"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         "tensor 'w': expected its data at offset 0, found 4 (bytes that belong to no tensor)"},
        {"{\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"w\":{\"dtype\":\"F32\",\"shape\":[1],"
         "\"data_offsets\":[4,8]}}",
         "expected its data at offset 8, found 4 (tensors overlap)"},
        {"{\"w\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},\"w\":{\"dtype\":\"F64\",\"shape\":[],\"data_"
         "offsets\":[0,8]}}",
         "duplicate object key"},
        {"{\"__metadata__\":[]}", "'__metadata__': expected an object, found an array"},
        {"{\"__metadata__\":{\"heads\":4}}", "'heads': expected a string, found a whole number"},
        {"{\"w\\n\":1}", "'w?': expected an object"},
        {"{\"\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         ": expected tensors' names without control characters, found an empty one"},
        {"{\"w\\n\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "control characters, found 'w?'"},
        {"{\"\\u001b[31m\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "found '?[31m'"},
        {"{\"w\\u007f\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "found 'w?'"},
        {"{\"\\u009b31m\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "found '?\?31m'"},
        {"{\"\xc2\x85\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "found '?\?'"},
        {"{\"w\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "unable to decode byte 0xff"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put(strlen(wrong[i].header), wrong[i].header, "12345678", 8);
        assert_refused(wrong[i].says);
    }
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    const real data[3] = {1, 2, 3};
    const struct st_item item = {"w", NULL, 1, (const int64_t[]){3}, data};
    assert_int_equal(st_write(path, &item, 1, NULL, 0, NULL), CH_OK);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    for (off_t length = info.st_size - 1; length >= 0; length--) {
        assert_int_equal(truncate(path, length), 0);
        assert_refused(length == 0 ? "is empty" : "is truncated");
    }
}

/* ---- writing ------------------------------------------------------------------------------------ */

static void the_bytes_are_known(void **state) {
    (void)state;
    const uint32_t words[] = {1, 0xfffffffe};
    const int64_t step = -2;
    const struct st_item items[] = {{"words", "U32", 1, (const int64_t[]){2}, words}, {"step", "I64", 0, NULL, &step}};
    const struct st_pair metadata[] = {{"task", "copy"}, {"note", "\xc3\xa9"}};
    static const char header[] = "{\"__metadata__\":{\"task\":\"copy\",\"note\":\"\xc3\xa9\"},"
                                 "\"words\":{\"dtype\":\"U32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                                 "\"step\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[8,16]}}   ";
    static const unsigned char data[] = {1,    0,    0,    0,    0xfe, 0xff, 0xff, 0xff,
                                         0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    size_t padded = sizeof header - 1, length;
    assert_int_equal(padded % 8, 0);
    for (int twice = 0; twice < 2; twice++) {
        char *bytes;
        assert_int_equal(st_write(path, items, 2, metadata, 2, NULL), CH_OK);
        assert_int_equal(file_read(path, 1000, &bytes, &length, NULL), CH_OK);
        assert_int_equal(length, 8 + padded + sizeof data);
        assert_memory_equal(bytes, ((const char[]){(char)padded, 0, 0, 0, 0, 0, 0, 0}), 8);
        assert_memory_equal(bytes + 8, header, padded);
        assert_memory_equal(bytes + 8 + padded, data, sizeof data);
        mem_free(bytes);
    }
}

static void what_is_written_is_read(void **state) {
    (void)state;
    const real weight[6] = {0, -1, RC(0.1), RC(1e30), RC(INFINITY), RC(-1e-30)};
    const uint64_t words[2] = {UINT64_MAX, 5};
    const struct st_item items[] = {
        {"w", NULL, 2, (const int64_t[]){2, 3}, weight},
        {"none", NULL, 2, (const int64_t[]){0, 3}, NULL},
        {"words", "U64", 1, (const int64_t[]){2}, words},
    };
    assert_int_equal(st_write(path, items, 3, &(struct st_pair){"k", "v"}, 1, NULL), CH_OK);
    struct st_file *file;
    assert_int_equal(st_open(path, &file, NULL), CH_OK);
    const struct st_tensor *tensor;
    real out[6];
    uint64_t again[2];
    assert_int_equal(st_expect(file, "w", 2, items[0].shape, &tensor, NULL), CH_OK);
    assert_string_equal(tensor->dtype->name, REAL_DTYPE);
    assert_int_equal(st_read(file, tensor, out, NULL), CH_OK);
    assert_memory_equal(out, weight, sizeof out);
    assert_int_equal(st_expect_dtype(file, "words", "U64", 1, items[2].shape, &tensor, NULL), CH_OK);
    assert_int_equal(st_read_bytes(file, tensor, again, NULL), CH_OK);
    assert_memory_equal(again, words, sizeof again);
    assert_string_equal(st_metadata(file, "k"), "v");
    st_close(file);
}

static void writing_fails_whole(void **state) {
    (void)state;
    char missing[PATH_MAX + 16];
    snprintf(missing, sizeof missing, "%s/no/m.st", folder);
    ch_error error;
    const uint8_t byte = 1;
    const struct st_item item = {"w", "U8", 0, NULL, &byte}, odd = {"w\xff", "U8", 0, NULL, &byte};
    assert_sentence(st_write(missing, &item, 1, NULL, 0, &error), &error, "No such file");
    assert_sentence(st_write(path, &item, 1, &(struct st_pair){"k", "\xff"}, 1, &error), &error,
                    "metadata 'k': expected text in UTF-8");
    assert_sentence(st_write(path, &odd, 1, NULL, 0, &error), &error, "expected a tensor's name in UTF-8");
    assert_int_equal(access(path, F_OK), -1);
}

/* ---- memory: every allocation fails once -------------------------------------------------------- */

static ch_status write_and_read(void) {
    const real data[2] = {1, 2};
    const struct st_item items[] = {{"encoder.layer0", NULL, 1, (const int64_t[]){2}, data},
                                    {"encoder.layer1.a.long.name", NULL, 1, (const int64_t[]){2}, data}};
    const struct st_pair metadata = {"clearhead.form", "1"};
    ch_status status = st_write(path, items, 2, &metadata, 1, NULL);
    if (status != CH_OK) return status;
    struct st_file *file;
    status = st_open(path, &file, NULL);
    st_close(file);
    return status;
}

static int entries(void) {
    DIR *dir = opendir(folder);
    int count = -2; /* . and .. */
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

static void memory_runs_out(void **state) {
    (void)state;
    long failures = 0;
    for (bool done = false; !done && failures < 1000;) {
        scarce_begin(++failures, true);
        ch_status status = write_and_read();
        done = !scarce_end("a file");
        assert_int_equal(status, done ? CH_OK : CH_NO_MEMORY);
        assert_int_equal(entries(), access(path, F_OK) == 0 ? 1 : 0); /* no temporary file */
    }
    assert_in_range(failures, 10, 999);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_scratch, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_float_is_exact),
        TEST(a_long_misaligned_tensor),
        TEST(lookups),
        TEST(without_metadata_or_tensors),
        TEST(expectations_have_their_sentence),
        TEST(a_file_that_shrinks_after_opening),
        TEST(what_is_no_safetensors_file),
        TEST(wrong_headers),
        TEST(every_truncation_is_refused),
        TEST(the_bytes_are_known),
        TEST(what_is_written_is_read),
        TEST(writing_fails_whole),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
