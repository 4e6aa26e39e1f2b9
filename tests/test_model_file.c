/*
 * Model files: saved and opened bit for bit, other float types to their rounding, and a sentence for everything that a
 * file can have wrong. What is checked by the safetensors reader alone is in test_safetensors.c.
 */
#include "runs.h"

#include "base/memory.h"
#include "io/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Hundreds of small files: waiting for the disk each time would only take time. */
int disk_fsync(int descriptor) {
    (void)descriptor;
    return 0;
}

static char path[1024]; /* of the file at hand */

static int set_up(void **state) {
    make_folder(state);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    return 0;
}

static ch_model *small_model(void) {
    ch_recipe *recipe = recipe_of("d-model", "8", "heads", "2", "d-ff", "6", "layers", "1", "max-positions", "9",
                                  "max-len", "8", "min-len", "2", "task", "copy", "dropout", "0.25", NULL);
    ch_model *model = model_of(recipe);
    ch_recipe_free(recipe);
    return model;
}

static void save(const ch_model *model) {
    ch_error error;
    check_ok(ch_model_save(model, path, &error), &error);
}

/* Opening must fail with a sentence that names the file and says so. */
static void check_refused(const char *says, const char *more) {
    ch_model *model = (ch_model *)1;
    ch_error error;
    check_sentence(ch_model_open(path, 0, &model, &error), CH_FAILED, &error, path, says, more, NULL);
    assert_null(model);
    assert_int_equal(ch_model_open(path, 0, &model, NULL), CH_FAILED);
}

/* ---- a file in parts, to be changed and written again ---- */

enum { MOST_TENSORS = 64 };

struct parts {
    struct st_file *file;
    struct st_item item[MOST_TENSORS];
    void *data[MOST_TENSORS];
    size_t count;
    char config[8192];
    const char *format;
};

static struct parts take_apart(void) {
    struct parts parts = {.file = open_golden(path), .format = "clearhead"};
    parts.count = st_count(parts.file);
    assert_true(parts.count < MOST_TENSORS - 1);
    snprintf(parts.config, sizeof parts.config, "%s", st_metadata(parts.file, "config"));
    for (size_t i = 0; i < parts.count; i++) {
        const struct st_tensor *tensor = st_tensor(parts.file, i);
        parts.data[i] = golden(parts.file, "", tensor->name, NULL);
        parts.item[i] =
            (struct st_item){.name = tensor->name, .rank = tensor->rank, .shape = tensor->shape, .data = parts.data[i]};
    }
    return parts;
}

static void put_together(const struct parts *parts) {
    struct st_pair metadata[] = {{"format", parts->format}, {"config", parts->config}, {"heads", "2"}};
    ch_error error;
    check_ok(st_write(path, parts->item, parts->count, metadata, 3, &error), &error);
}

static void free_parts(struct parts *parts) {
    for (size_t i = 0; i < parts->count; i++) free(parts->data[i]);
    st_close(parts->file);
}

static struct st_item *item_of(struct parts *parts, const char *name) {
    for (size_t i = 0; i < parts->count; i++)
        if (strcmp(parts->item[i].name, name) == 0) return &parts->item[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static struct parts fresh_parts(void) {
    ch_model *model = small_model();
    save(model);
    ch_model_free(model);
    return take_apart();
}

/* ---- round trips ---- */

static void saved_and_opened_bit_for_bit(void **state) {
    (void)state;
    ch_model *model = small_model();
    save(model);
    ch_model *back = open_model(path);
    check_same("values", back->params.value, model->params.value, model->params.block);
    ch_model_info a = ch_model_get_info(model), b = ch_model_get_info(back);
    assert_string_equal(b.task, "copy");
    assert_true(a.d_model == b.d_model && a.heads == b.heads && a.d_ff == b.d_ff && a.layers == b.layers);
    assert_true(a.max_positions == b.max_positions && a.dropout == b.dropout && a.parameters == b.parameters);
    size_t size, again;
    char *bytes = file_bytes(path, &size);
    save(back);
    char *bytes_again = file_bytes(path, &again);
    assert_int_equal(size, again);
    assert_memory_equal(bytes, bytes_again, size);
    free(bytes), free(bytes_again);
    ch_model_free(model);
    ch_model_free(back);
}

static void heads_that_contradict_the_file(void **state) {
    (void)state;
    ch_model *model = small_model();
    save(model);
    ch_model_free(model);
    ch_error error;
    check_sentence(ch_model_open(path, 4, &model, &error), CH_USAGE, &error, path, "has 2 heads", "--heads says 4",
                   NULL);
    check_ok(ch_model_open(path, 2, &model, &error), &error);
    ch_model_free(model);
}

/* Rounds a float to BF16 or F16 by cutting bits: any rounding will do, what is read must be what was written. */
static uint16_t to_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static uint16_t to_f16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 23 & 0xff) - 127;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (exponent < -14) return sign; /* too small to matter here */
    assert_true(exponent <= 15);
    return (uint16_t)(sign | (uint32_t)(exponent + 15) << 10 | (bits >> 13 & 0x3ff));
}

/* Every tensor in another type; free() each. */
static void convert(struct parts *parts, const char *dtype) {
    for (size_t i = 0; i < parts->count; i++) {
        size_t count = st_tensor(parts->file, i)->count;
        const real *from = parts->data[i];
        void *to = calloc(count, sizeof(double));
        for (size_t k = 0; k < count; k++) {
            if (strcmp(dtype, "F64") == 0) ((double *)to)[k] = (double)from[k];
            if (strcmp(dtype, "F32") == 0) ((float *)to)[k] = (float)from[k];
            if (strcmp(dtype, "F16") == 0) ((uint16_t *)to)[k] = to_f16((float)from[k]);
            if (strcmp(dtype, "BF16") == 0) ((uint16_t *)to)[k] = to_bf16((float)from[k]);
        }
        free(parts->data[i]);
        parts->data[i] = to;
        parts->item[i].data = to;
        parts->item[i].dtype = dtype;
    }
}

/* |x| <= 1 here (norms 1, tables sine and cosine), so the cut bits are an absolute bound, too. */
static void other_float_types_open_rounded(void **state) {
    (void)state;
    static const struct {
        const char *dtype;
        double most;
    } types[] = {{"F64", 0}, {"F32", 0x1p-24}, {"F16", 0x1p-10}, {"BF16", 0x1p-7}};
    ch_model *model = small_model();
    for (int t = 0; t < 4; t++) {
        struct parts parts = fresh_parts();
        convert(&parts, types[t].dtype);
        put_together(&parts);
        ch_model *back = open_model(path);
        check_close(types[t].dtype, back->params.value, model->params.value, model->params.block, types[t].most);
        ch_model_free(back);
        free_parts(&parts);
    }
    ch_model_free(model);
}

/* The table of positions may be missing: it is computed. */
static void a_buffer_may_be_missing(void **state) {
    (void)state;
    struct parts parts = fresh_parts();
    size_t kept = 0;
    for (size_t i = 0; i < parts.count; i++)
        if (strcmp(parts.item[i].name, "pos.pe") != 0) parts.item[kept++] = parts.item[i];
    assert_int_equal(kept + 1, parts.count);
    struct parts less = parts;
    less.count = kept;
    put_together(&less);
    ch_model *back = open_model(path), *model = small_model();
    check_same("values", back->params.value, model->params.value, model->params.block);
    ch_model_free(back);
    ch_model_free(model);
    free_parts(&parts);
}

/* ---- what is no file, or not all of one ---- */

static void no_file(void **state) {
    (void)state;
    unlink(path);
    check_refused("cannot open", "No such file");
    put_bytes(path, "", 0);
    check_refused("is empty", "expected a safetensors file");
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n";
    put_bytes(path, lfs, sizeof lfs - 1);
    check_refused("Git-LFS pointer", "git lfs pull");
    put_bytes(path, "PK\x03\x04 and so on", 14);
    check_refused("PyTorch pickle", "safetensors");
    unlink(path);
    ch_model *model;
    ch_error error;
    check_sentence(ch_model_open(folder, 0, &model, &error), CH_FAILED, &error, folder, "expected a run or checkpoint",
                   NULL);
    char *endless = malloc(10001);
    memset(endless, 'a', 10000);
    endless[10000] = '\0';
    check_sentence(ch_model_open(endless, 0, &model, &error), CH_FAILED, &error, "path", NULL);
    free(endless);
}

static void truncated_anywhere(void **state) {
    (void)state;
    ch_model *model = small_model();
    save(model);
    ch_model_free(model);
    size_t size;
    char *bytes = file_bytes(path, &size);
    for (size_t length = 1; length < size; length += 97) {
        put_bytes(path, bytes, length);
        check_refused("", "");
    }
    put_bytes(path, bytes, size - 1);
    check_refused("", "");
    free(bytes);
}

/* A flipped byte in the header is refused or changes what is told, and never more: a file that still opens holds
 * finite numbers and a config that fits them. */
static void flipped_bytes_never_crash(void **state) {
    (void)state;
    ch_model *model = small_model();
    save(model);
    ch_model_free(model);
    size_t size, header = 0, refused = 0, tried = 0;
    char *bytes = file_bytes(path, &size);
    for (int i = 0; i < 8; i++) header |= (size_t)(unsigned char)bytes[i] << (8 * i);
    for (size_t at = 0; at < 8 + header; at += at < 8 ? 1 : 11)
        for (int bit = 0; bit < 8; bit += 3) {
            bytes[at] = (char)(bytes[at] ^ 1 << bit);
            put_bytes(path, bytes, size);
            bytes[at] = (char)(bytes[at] ^ 1 << bit);
            ch_error error = {0};
            ch_status status = ch_model_open(path, 0, &model, &error);
            tried++;
            refused += status != CH_OK;
            assert_true((status == CH_OK) == (model != NULL));
            if (status != CH_OK) assert_true(strlen(error.message) > 20);
            ch_model_free(model);
        }
    assert_true(refused > tried / 2);
    free(bytes);
}

/* ---- tensors ---- */

static const int64_t wrong_shape[] = {8, 7}, turned[] = {6, 8};

static void wrong_tensors(void **state) {
    (void)state;
    struct parts parts = fresh_parts();
    struct st_item *item = item_of(&parts, "enc.0.attn.W_q.weight"), good = *item;
    item->shape = wrong_shape;
    put_together(&parts);
    check_refused("'enc.0.attn.W_q.weight'", "expected shape (8, 8), found (8, 7)");
    *item = good;
    item = item_of(&parts, "enc.0.ff.net.3.weight");
    good = *item;
    item->shape = turned;
    put_together(&parts);
    check_refused("'enc.0.ff.net.3.weight'", "expected shape (8, 6), found (6, 8)");
    *item = good;
    item->dtype = "I64";
    void *zeros = calloc(64, 8);
    item->data = zeros;
    put_together(&parts);
    check_refused("'enc.0.ff.net.3.weight'", "expected dtype F32, F16, BF16 or F64, found I64");
    *item = good;
    item->name = "enc.0.ff.net.3.wight";
    put_together(&parts);
    check_refused("expected a tensor 'enc.0.ff.net.3.weight' of shape (8, 6)", "found none");
    *item = good;
    parts.item[parts.count] = (struct st_item){.name = "enc.9.extra", .rank = 2, .shape = wrong_shape, .data = zeros};
    struct parts more = parts;
    more.count++;
    put_together(&more);
    check_refused("'enc.9.extra'", "no place for");
    free(zeros);
    free_parts(&parts);
}

static void numbers_that_are_none(void **state) {
    (void)state;
    struct parts parts = fresh_parts();
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    static const char *const said[] = {"not a number", "infinite", "infinite"};
    static const char *const where[] = {"src_emb.weight", "dec.0.n3.bias", "pos.pe"};
    for (int i = 0; i < 3; i++) {
        struct st_item *item = item_of(&parts, where[i]);
        real *value = (real *)(uintptr_t)item->data, good = value[5];
        value[5] = (real)bad[i];
        put_together(&parts);
        check_refused(where[i], "element 5 is");
        check_refused(said[i], "expected finite numbers");
        value[5] = good;
    }
    put_together(&parts);
    ch_model_free(open_model(path));
    free_parts(&parts);
}

/* ---- configs ---- */

/* Puts `to` in the place of `from`, which must be there, and expects the sentence. */
static void check_config(const char *from, const char *to, const char *says, const char *more) {
    struct parts parts = fresh_parts();
    char *at = strstr(parts.config, from), changed[8192];
    if (!at) fail_msg("'%s' is not in %s", from, parts.config);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - parts.config), parts.config, to, at + strlen(from));
    strcpy(parts.config, changed);
    put_together(&parts);
    check_refused(says, more);
    free_parts(&parts);
}

static void configs_that_name_the_unknown(void **state) {
    (void)state;
    check_config("\"schema\":1", "\"schema\":2", "'schema'", "expected 1, found 2");
    check_config("\"schema\":1,", "", "'schema'", "");
    check_config("\"d_model\":8", "\"d_model\":8,\"rotary\":true", "'rotary'", "does not know");
    check_config("\"norm\":\"layernorm\"", "\"norm\":\"batchnorm\"", "unknown norm 'batchnorm'", "have layernorm");
    check_config("\"ffn\":\"relu\"", "\"ffn\":\"maxout\"", "unknown ffn 'maxout'", "have relu");
    check_config("\"position\":\"sinusoidal\"", "\"position\":\"sundial\"", "unknown position 'sundial'", "sinusoidal");
    check_config("\"norm_placement\":\"post\"", "\"norm_placement\":\"between\"", "unknown norm_placement 'between'",
                 "have post, pre");
    check_config("encoder-decoder", "hour-glass", "unknown architecture 'hour-glass'", "decoder-only");
    check_config("{", "[", "", "");
}

static void configs_with_wrong_numbers(void **state) {
    (void)state;
    check_config("\"d_model\":8", "\"d_model\":\"8\"", "'d_model'", "expected a whole number, found a string");
    check_config("\"d_model\":8", "\"d_model\":0", "'d_model'", "found 0");
    check_config("\"d_model\":8", "\"d_model\":7", "'d_model'", "expected an even number, found 7");
    check_config("\"d_model\":8", "\"d_model\":10", "src_emb.weight", "expected shape (13, 10), found (13, 8)");
    check_config("\"d_model\":8", "\"d_model\":99999999999999999999", "", "");
    check_config("\"layers\":1", "\"layers\":2", "'attention'", "expected 6 shapes, found 3");
    check_config("\"layers\":1", "\"layers\":-1", "'layers'", "found -1");
    check_config("\"symbols\":10", "\"symbols\":11", "src_emb.weight", "expected shape (14, 8)");
    check_config("\"dropout\":0.25", "\"dropout\":1.0", "'dropout'", "found 1");
    check_config("\"dropout\":0.25", "\"dropout\":-0.5", "'dropout'", "found -0.5");
    check_config("\"max_positions\":9", "\"max_positions\":1", "'max_positions'", "found 1");
    check_config("\"task\":\"copy\"", "\"task\":7", "'task'", "");
}

static void configs_with_wrong_attention(void **state) {
    (void)state;
    check_config("\"enc.0.attn\"", "\"enc.1.attn\"", "enc.0.attn", "");
    check_config("\"heads\":2", "\"heads\":0", "'heads'", "found 0");
    check_config("\"heads\":2", "\"heads\":3", "'kv_of_head'", "expected 3 numbers, one for each head, found 2");
    check_config("\"heads\":2", "\"haeds\":2", "'haeds'", "does not know");
    check_config("\"kv_heads\":2", "\"kv_heads\":3", "'kv_heads'", "expected 1 to 2, found 3");
    check_config("\"kv_heads\":2", "\"kv_heads\":1", "'kv_of_head'", "expected 0, found 1");
    check_config("\"d_head\":4", "\"d_head\":0", "'d_head'", "found 0");
    check_config("\"d_head\":4", "\"d_head\":5", "W_q.weight", "expected shape (10, 8), found (8, 8)");
    check_config("\"kv_of_head\":[0,1]", "\"kv_of_head\":[0,2]", "'kv_of_head'", "found 2");
    check_config("\"kv_of_head\":[0,1]", "\"kv_of_head\":[0,-1]", "'kv_of_head'", "found -1");
    check_config("\"kv_of_head\":[0,1]", "\"kv_of_head\":[0]", "'kv_of_head'", "found 1");
    check_config("\"kv_of_head\":[0,1]", "\"kv_of_head\":7", "'kv_of_head'", "");
    check_config("\"original_head\":[0,1]", "\"original_head\":[0,true]", "'original_head'", "");
    check_config("\"original_head\":[0,1]", "\"original_head\":[0,4096]", "'original_head'", "found 4096");
}

/* What is not said is the lesson's, as in files that are older than a part. */
static void parts_that_an_older_file_does_not_name(void **state) {
    (void)state;
    static const char *const later[] = {",\"rope_base\":10000.0", ",\"rope_scaling\":\"none\"", ",\"rope_factor\":1.0",
                                        ",\"bias\":\"all\"",      ",\"qk_norm\":\"off\"",       ",\"window\":0",
                                        ",\"soft_cap\":0.0",      ",\"original_heads\":2",      ",\"original_heads\":2",
                                        ",\"original_heads\":2"};
    struct parts parts = fresh_parts();
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        char *at = strstr(parts.config, later[i]);
        if (!at) fail_msg("'%s' is not in %s", later[i], parts.config);
        memmove(at, at + strlen(later[i]), strlen(at + strlen(later[i])) + 1);
    }
    put_together(&parts);
    ch_model *back = open_model(path), *model = small_model();
    assert_true(config_same(&back->config, &model->config));
    ch_model_free(back);
    ch_model_free(model);
    free_parts(&parts);
}

/* A model of text: its file says all of its vocabulary. */
static void a_vocabulary_of_text_stands_in_the_file(void **state) {
    (void)state;
    static const char characters[] = "\n abr\xC3\xA9\xE2\x82\xAC";
    struct vocab_plan plan = {
        .tokens = &tokens_characters, .symbols = 7, .specials = VOCAB_LESSON, .characters = characters};
    ch_model *small = small_model(), *model;
    struct config config;
    ch_error error;
    check_ok(config_copy(&config, &small->config, &error), &error);
    check_ok(config_set_vocab(&config, &plan, &error), &error);
    assert_false(config_same(&config, &small->config));
    check_ok(model_build(&config, &model, &error), &error);
    check_ok(model_allocate(model, &error), &error);
    save(model);
    ch_model *again = open_model(path);
    assert_true(config_same(&again->config, &model->config));
    const ch_vocab *vocab = ch_model_vocab(again);
    assert_int_equal(ch_vocab_size(vocab), 10);
    int token[8];
    size_t count;
    check_ok(ch_vocab_parse(vocab, "b\xC3\xA9 \xE2\x82\xAC", token, 8, &count, &error), &error);
    static const int expected[] = {3, 5, 1, 6};
    assert_int_equal(count, 4);
    assert_memory_equal(token, expected, sizeof expected);
    ch_model_free(again);
    ch_model_free(model);
    ch_model_free(small);
}

static void configs_with_a_wrong_vocabulary(void **state) {
    (void)state;
    static const char specials[] = "\"specials\":[\"<pad>\",\"<sos>\",\"<eos>\"]";
    check_config("\"tokens\":\"numbers\"", "\"tokens\":\"words\"", "unknown tokens 'words'",
                 "have bytes, characters, numbers");
    check_config("\"tokens\":\"numbers\"", "\"tokens\":7", "'tokens'", "expected a string");
    check_config("\"tokens\":\"numbers\"", "\"tokens\":\"bytes\"", "'symbols': expected 256", "found 10");
    check_config("\"tokens\":\"numbers\"", "\"tokens\":\"characters\"", "'characters'", "");
    check_config("\"tokens\":\"numbers\"", "\"tokens\":\"characters\",\"characters\":\"abc\"",
                 "expected as many as there are symbols, 10", "found 3");
    check_config("\"tokens\":\"numbers\"", "\"tokens\":\"characters\",\"characters\":\"cab\"", "'characters'",
                 "character 2 is U+0061, behind U+0063");
    check_config("\"tokens\":\"numbers\"", "\"tokens\":\"numbers\",\"characters\":\"abc\"", "expected none",
                 "tokens are numbers");
    check_config(specials, "\"specials\":[\"<eos>\",\"<sos>\"]", "'specials'", "found '<sos>' at place 2");
    check_config(specials, "\"specials\":[\"<end>\"]", "'specials'", "found '<end>' at place 1");
    check_config(specials, "\"specials\":7", "'specials'", "array");
    check_config(specials, "\"specials\":[\"<sos>\",\"<eos>\"]", "'specials'", "that is encoder-decoder");
    check_config("\"tokens\":\"numbers\",", "\"tokens\":\"bytes\",", "'symbols'", "");
}

/* Files of before there were other tokens say nothing of them. */
static void numbers_need_not_be_named(void **state) {
    (void)state;
    struct parts parts = fresh_parts();
    static const char whole[] = "\"tokens\":\"numbers\",\"specials\":[\"<pad>\",\"<sos>\",\"<eos>\"],";
    char *at = strstr(parts.config, whole);
    assert_non_null(at);
    memmove(at, at + strlen(whole), strlen(at + strlen(whole)) + 1);
    put_together(&parts);
    ch_model *model = open_model(path), *small = small_model();
    assert_true(config_same(&model->config, &small->config));
    ch_model_free(small);
    ch_model_free(model);
    free_parts(&parts);
}

static void parts_that_do_not_fit_each_other(void **state) {
    (void)state;
    static const char sinusoidal[] = "\"position\":\"sinusoidal\"";
    check_config("\"rope_base\":10000.0", "\"rope_base\":500.0", "rope-base", "found sinusoidal");
    check_config("\"rope_scaling\":\"none\"", "\"rope_scaling\":\"ntk\"", "rope-scaling", "found sinusoidal");
    check_config("\"rope_factor\":1.0", "\"rope_factor\":0.5", "'rope_factor'", "found 0.5");
    check_config("\"rope_scaling\":\"none\"", "\"rope_scaling\":\"yarn\"", "unknown rope_scaling 'yarn'", "have none");
    check_config(sinusoidal, "\"position\":\"rope\"", "pos.pe", "no place");
    check_config("\"bias\":\"all\"", "\"bias\":\"none\"", "bias'", "no place");
    check_config("\"qk_norm\":\"off\"", "\"qk_norm\":\"on\"", "q_norm.weight", "");
    check_config("\"qk_norm\":\"off\"", "\"qk_norm\":true", "'qk_norm'", "");
    check_config("\"window\":0", "\"window\":-1", "'window'", "found -1");
    check_config("\"soft_cap\":0.0", "\"soft_cap\":1e-9", "soft-cap", "at least 0.001");
    check_config("\"original_heads\":2", "\"original_heads\":1", "'original_heads'", "expected 2 to 4096, found 1");
}

/* Rotary positions: even heads, and one width in all self-attentions. */
static void heads_that_rotary_positions_cannot_turn(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("d-model", "8", "heads", "2", "d-ff", "6", "layers", "2", "position", "rope", NULL);
    ch_model *model = model_of(recipe);
    for (int odd = 0; odd < 2; odd++) {
        for (int i = 0; i < 6; i++) model->config.shape[i].d_head = odd ? 3 : 4;
        if (!odd) config_shape(&model->config, CONFIG_DECODER_SELF, 1)->d_head = 6;
        save(model);
        if (odd)
            check_refused("d-head: expected an even number", "found 3");
        else
            check_refused("'dec.1.self_attn': expected d_head 4", "found 6");
    }
    ch_model_free(model);
    ch_recipe_free(recipe);
}

/* Heads times width that no int holds. */
static void a_width_that_overflows(void **state) {
    (void)state;
    char shape[60000],
        *end = shape + sprintf(shape, "\"heads\":4096,\"kv_heads\":1,\"d_head\":1000000,\"kv_of_head\":[0");
    for (int h = 1; h < 4096; h++) end += sprintf(end, ",0");
    end += sprintf(end, "],\"original_head\":[0");
    for (int h = 1; h < 4096; h++) end += sprintf(end, ",%d", h);
    strcpy(end, "]");
    struct parts parts = fresh_parts();
    static const char good[] = "\"heads\":2,\"kv_heads\":2,\"d_head\":4,\"kv_of_head\":[0,1],\"original_head\":[0,1]";
    char *at = strstr(parts.config, good);
    assert_non_null(at);
    char *changed = malloc(100000);
    sprintf(changed, "%.*s%s%s", (int)(at - parts.config), parts.config, shape, at + strlen(good));
    struct st_pair metadata[] = {{"format", "clearhead"}, {"config", changed}};
    ch_error error;
    check_ok(st_write(path, parts.item, parts.count, metadata, 2, &error), &error);
    check_refused("enc.0.attn", "heads");
    free(changed);
    free_parts(&parts);
}

/* ---- files without a config: the lesson's state_dict ---- */

static const int64_t odd_embedding[] = {13, 5}, odd_table[] = {1, 16, 5}, odd_hidden[] = {6, 5}, few_rows[] = {3, 8};

/* Shapes that the sinusoidal table cannot have: its columns come in pairs. */
static void an_odd_width_without_a_config(void **state) {
    (void)state;
    real zeros[13 * 8] = {0};
    struct st_item items[] = {{.name = "src_emb.weight", .rank = 2, .shape = odd_embedding, .data = zeros},
                              {.name = "pos.pe", .rank = 3, .shape = odd_table, .data = zeros},
                              {.name = "enc.0.ff.net.0.weight", .rank = 2, .shape = odd_hidden, .data = zeros},
                              {.name = "enc.0.attn.W_q.weight", .rank = 1, .shape = odd_embedding, .data = zeros},
                              {.name = "dec.0.self_attn.W_q.weight", .rank = 1, .shape = odd_embedding, .data = zeros}};
    struct st_pair metadata[] = {{"heads", "1"}};
    ch_error error;
    check_ok(st_write(path, items, 5, metadata, 1, &error), &error);
    check_refused("src_emb.weight", "even");
    items[0].shape = few_rows;
    check_ok(st_write(path, items, 5, metadata, 1, &error), &error);
    check_refused("src_emb.weight", "at least 4 rows");
    check_ok(st_write(path, items, 4, metadata, 1, &error), &error);
    check_refused("as many decoder as encoder layers", "found 0 and 1");
    check_ok(st_write(path, items + 1, 4, metadata, 1, &error), &error);
    check_refused("'src_emb.weight'", "expected a model that clearhead wrote, or the state_dict");
}

static void heads_in_the_metadata(void **state) {
    (void)state;
    static const struct {
        const char *heads, *says;
    } cases[] = {{"two", "found 'two'"}, {"", "found ''"}, {"0", "found '0'"}, {"-2", "found '-2'"}, {"2x", "'2x'"}};
    struct parts parts = fresh_parts();
    ch_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct st_pair metadata[] = {{"heads", cases[i].heads}};
        check_ok(st_write(path, parts.item, parts.count, metadata, 1, &error), &error);
        check_refused("metadata 'heads'", cases[i].says);
    }
    struct st_pair metadata[] = {{"heads", "3"}};
    check_ok(st_write(path, parts.item, parts.count, metadata, 1, &error), &error);
    ch_model *model;
    check_sentence(ch_model_open(path, 0, &model, &error), CH_USAGE, &error, "heads 3", "width 8", NULL);
    check_sentence(ch_model_open(path, 5, &model, &error), CH_USAGE, &error, path, "heads 5", "width 8", NULL);
    check_ok(st_write(path, parts.item, parts.count, NULL, 0, &error), &error);
    check_sentence(ch_model_open(path, 0, &model, &error), CH_FAILED, &error, path, "give it with --heads", NULL);
    check_ok(st_write(path, parts.item, parts.count, metadata, 1, &error), &error);
    metadata[0].value = "2";
    check_ok(st_write(path, parts.item, parts.count, metadata, 1, &error), &error);
    ch_model_free(open_model(path));
    free_parts(&parts);
}

/* What a model says of itself makes the same model; a task that this build does not know is left out. */
static void a_model_makes_its_recipe(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("d-model", "12", "heads", "3", "kv-heads", "1", "d-head", "5", "dropout", "0.3",
                                  "ffn", "geglu", "norm-placement", "pre", "symbols", "7", "task", "copy", NULL),
              *own;
    ch_model *model = model_of(recipe);
    ch_error error;
    check_ok(ch_model_recipe(model, NULL, &own, &error), &error);
    ch_model *again = model_of(own);
    assert_true(config_same(&again->config, &model->config));
    ch_recipe_free(own);
    strcpy(model->config.task, "backward");
    check_ok(ch_model_recipe(model, NULL, &own, &error), &error);
    assert_string_equal(ch_recipe_get(own, "task"), "reverse");
    ch_recipe_free(own);
    ch_model_free(again);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_makes_its_recipe),
        cmocka_unit_test(saved_and_opened_bit_for_bit),
        cmocka_unit_test(heads_that_contradict_the_file),
        cmocka_unit_test(other_float_types_open_rounded),
        cmocka_unit_test(a_buffer_may_be_missing),
        cmocka_unit_test(no_file),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(flipped_bytes_never_crash),
        cmocka_unit_test(wrong_tensors),
        cmocka_unit_test(numbers_that_are_none),
        cmocka_unit_test(configs_that_name_the_unknown),
        cmocka_unit_test(configs_with_wrong_numbers),
        cmocka_unit_test(configs_with_wrong_attention),
        cmocka_unit_test(a_vocabulary_of_text_stands_in_the_file),
        cmocka_unit_test(configs_with_a_wrong_vocabulary),
        cmocka_unit_test(numbers_need_not_be_named),
        cmocka_unit_test(a_width_that_overflows),
        cmocka_unit_test(parts_that_an_older_file_does_not_name),
        cmocka_unit_test(parts_that_do_not_fit_each_other),
        cmocka_unit_test(heads_that_rotary_positions_cannot_turn),
        cmocka_unit_test(an_odd_width_without_a_config),
        cmocka_unit_test(heads_in_the_metadata),
    };
    return cmocka_run_group_tests(tests, set_up, drop_folder);
}
