#include "models.h"

#include "base/memory.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- recipes, sentences ---- */

ch_recipe *recipe_of(const char *option, ...) {
    ch_recipe *recipe;
    ch_error error;
    check_ok(ch_recipe_new(&recipe, &error), &error);
    va_list rest;
    va_start(rest, option);
    for (; option; option = va_arg(rest, const char *)) set_option(recipe, option, va_arg(rest, const char *));
    va_end(rest);
    return recipe;
}

void set_option(ch_recipe *recipe, const char *option, const char *value) {
    ch_error error;
    check_ok(ch_recipe_set(recipe, option, value, &error), &error);
}

static const char *const part_families[] = {"norm", "norm-placement",  "position", "ffn",
                                            "bias", "embedding-scale", "tie",      "init"};
enum { PART_FAMILIES = sizeof part_families / sizeof *part_families };

/* Options that are numbers or switches, and several at once. */
static const char *const part_settings[] = {
    "kv-heads=1",
    "d-head=8",
    "qk-norm=on",
    "qk-norm=on norm=rmsnorm bias=none",
    "window=3",
    "soft-cap=1.5",
    "position=rope rope-base=50 rope-scaling=linear rope-factor=3",
    "position=rope-interleaved rope-base=50 rope-scaling=ntk rope-factor=3 qk-norm=on kv-heads=1",
    "position=alibi window=4 soft-cap=2 bias=no-attention",
    "position=relative-bias window=4 soft-cap=2 kv-heads=1 init=normal",
    "bias=none tie=target-output embedding-scale=one",
    ("norm=rmsnorm norm-placement=pre kv-heads=1 position=learned ffn=swiglu init=normal tie=target-output "
     "embedding-scale=one"),
    "arch=decoder-only max-positions=30",
    "arch=decoder-only max-positions=30 position=rope norm=rmsnorm norm-placement=pre ffn=swiglu bias=none d-head=6",
    "arch=encoder-only task=brackets",
    "arch=encoder-only task=brackets position=relative-bias norm-placement=pre kv-heads=1 window=5",
    "arch=decoder-only max-positions=30 tie=target-output embedding-scale=one position=learned",
};
enum { PART_SETTINGS = sizeof part_settings / sizeof *part_settings };

void set_options(ch_recipe *recipe, const char *settings) {
    char copy[512], *rest = copy;
    assert_true(strlen(settings) < sizeof copy);
    strcpy(copy, settings);
    for (char *setting; (setting = strsep(&rest, " "));) {
        char *value = strchr(setting, '=');
        assert_non_null(value);
        *value++ = '\0';
        set_option(recipe, setting, value);
    }
}

const char *set_part(ch_recipe *recipe, size_t i) {
    for (size_t f = 0; f < PART_FAMILIES; f++)
        for (size_t v = 0; ch_family_variant(part_families[f], v); v++, i--) {
            const ch_variant *variant = ch_family_variant(part_families[f], v);
            if (i > 0) continue;
            set_option(recipe, part_families[f], variant->name);
            return variant->name;
        }
    if (i >= PART_SETTINGS) return NULL;
    set_options(recipe, part_settings[i]);
    return part_settings[i];
}

void check_ok(ch_status status, const ch_error *error) {
    if (status != CH_OK) fail_msg("status %d: %s", (int)status, error->message);
}

void check_sentence(ch_status status, ch_status expected, const ch_error *error, ...) {
    if (status == CH_OK) fail_msg("expected a failure, and it went well");
    if (status != expected || error->status != status)
        fail_msg("expected status %d, found %d and %d in '%s'", (int)expected, (int)status, (int)error->status,
                 error->message);
    va_list parts;
    va_start(parts, error);
    for (const char *part; (part = va_arg(parts, const char *));)
        if (!strstr(error->message, part)) fail_msg("'%s' does not say '%s'", error->message, part);
    va_end(parts);
}

ch_model *model_of(const ch_recipe *recipe) {
    ch_model *model;
    ch_error error;
    check_ok(ch_model_new(recipe, &model, &error), &error);
    return model;
}

ch_model *masked_model_of(const ch_recipe *recipe) {
    struct config config;
    ch_model *model;
    ch_error error;
    struct vocab_plan vocab = vocab_lesson((int)recipe->symbols);
    vocab.specials |= VOCAB_MASK;
    check_ok(config_of_recipe(&config, recipe, &vocab, &error), &error);
    assert_true(config.head == &head_classification);
    config.head = &head_masked_token;
    config.classes = 0;
    config.task[0] = '\0';
    check_ok(model_build(&config, &model, &error), &error);
    check_ok(model_fill(model, recipe, NULL, &error), &error);
    return model;
}

ch_model *open_model(const char *path) {
    ch_model *model;
    ch_error error;
    check_ok(ch_model_open(path, 0, &model, &error), &error);
    return model;
}

ch_model *text_model(const char *settings, const char *text, unsigned specials) {
    ch_recipe *recipe = recipe_of("arch", "decoder-only", "d-model", "18", "heads", "3", "d-ff", "20", "max-positions",
                                  "24", "init", "normal", NULL);
    struct characters characters;
    struct vocab_plan plan = {.tokens = text ? &tokens_characters : &tokens_bytes, .specials = specials};
    struct config config;
    char *list = NULL;
    ch_model *model;
    ch_error error;
    if (*settings) set_options(recipe, settings);
    check_ok(characters_new(&characters, &error), &error);
    if (text) check_ok(characters_add(&characters, text, strlen(text), 0, "text", &error), &error);
    if (text) check_ok(characters_list(&characters, &list, &plan.symbols, &error), &error);
    plan.characters = list;
    check_ok(config_of_recipe(&config, recipe, &plan, &error), &error);
    config.task[0] = '\0';
    check_ok(model_build(&config, &model, &error), &error);
    check_ok(model_fill(model, recipe, NULL, &error), &error);
    mem_free(list);
    characters_free(&characters);
    ch_recipe_free(recipe);
    return model;
}

ch_trainer *trainer_of(const ch_recipe *recipe, const char *folder) {
    ch_trainer *trainer;
    ch_error error;
    check_ok(ch_trainer_new(recipe, folder, &trainer, &error), &error);
    return trainer;
}

ch_step take_steps(ch_trainer *trainer, int count) {
    ch_step step = {0};
    ch_error error;
    for (int i = 0; i < count; i++) check_ok(ch_trainer_step(trainer, &step, &error), &error);
    return step;
}

real *values_of(const struct ch_model *model, const char *name) {
    const struct param *row = params_find(&model->params, name);
    if (!row) fail_msg("there is no tensor %s", name);
    return model->params.value + row->offset;
}

/* ---- a batch and its pass ---- */

/* Of each source every third token is hidden and asked for. */
static void load_hidden(struct shard *shard, const struct ch_examples *examples, int mask) {
    int shown[64], label[64];
    frame_clear(&shard->frame);
    for (int b = 0; b < examples->count; b++) {
        ch_sequence source = ch_examples_source(examples, (size_t)b);
        assert_true(source.length <= sizeof label / sizeof *label);
        for (size_t t = 0; t < source.length; t++) {
            shown[t] = t % 3 ? source.tokens[t] : mask;
            label[t] = t % 3 ? -1 : source.tokens[t];
        }
        frame_add(&shard->frame, (ch_sequence){shown, source.length}, (ch_sequence){label, source.length}, (uint32_t)b);
    }
}

static void load_examples(struct shard *shard, const struct ch_model *model, const ch_recipe *recipe) {
    struct ch_examples examples;
    struct example_stream stream = example_stream(recipe, PHILOX_DATA, NULL);
    int count = (int)recipe->batch_size;
    ch_error error;
    check_ok(examples_init(&examples, count, stream.max_length, stream.symbols, &error), &error);
    examples_draw(&examples, &stream, 1, 0, count);
    if (model->net.head == &head_masked_token)
        load_hidden(shard, &examples, ch_vocab_mask(&model->vocab));
    else
        shard_load(shard, &examples, 0, count);
    examples_release(&examples);
}

struct lab lab_new(struct ch_model *model, const ch_recipe *recipe, const struct capture *capture) {
    struct lab lab = {.model = model, .block = model->params.trained};
    struct batch_limits limits = shard_limits(model, recipe, (int)recipe->batch_size);
    lab.pass = (struct pass){.core = recipe->attention,
                             .dropout = recipe->dropout == 0 ? DROPOUT_OFF : DROPOUT_PHILOX,
                             .dropout_rate = RC(recipe->dropout),
                             .dropout_key = philox_derive((uint64_t)recipe->seed, PHILOX_DROPOUT, 1),
                             .capture = capture};
    ch_error error;
    check_ok(shard_new(&lab.shard, model, &lab.pass, &limits, true, &error), &error);
    load_examples(&lab.shard, model, recipe);
    lab.grad = params_new_block(&model->params);
    assert_non_null(lab.grad);
    lab.pass.grad = lab.grad;
    return lab;
}

void lab_free(struct lab *lab) {
    shard_free(&lab->shard);
    mem_free_aligned(lab->grad);
}

double lab_step(struct lab *lab) {
    memset(lab->grad, 0, lab->block * sizeof *lab->grad);
    shard_run(&lab->shard, lab->model, lab->pass, RC(1.0 / lab->shard.frame.counted));
    return lab->shard.loss.sum / (double)lab->shard.loss.count;
}

real *lab_logits(struct lab *lab, size_t *count) {
    struct pass pass = lab->pass;
    struct shard *shard = &lab->shard;
    pass.params = &lab->model->params;
    pass.arena = &shard->workspace.arena;
    arena_reset(pass.arena, 0);
    struct assembly_input input = frame_input(&shard->frame);
    const real *logits = assembly_forward(&pass, &lab->model->net, &input, &shard->workspace.saved);
    int rows = assembly_logit_rows(&lab->model->net, frame_last(&shard->frame));
    *count = (size_t)rows * (size_t)lab->model->net.outputs;
    real *copy = new_reals(*count);
    memcpy(copy, logits, *count * sizeof *copy);
    return copy;
}

static int copy_sequence(struct batch_buffer *to, const struct batch_buffer *from, int b) {
    int *token = batch_add(to, from->length[b], from->view.position[from->offset[b]], from->example[b]);
    memcpy(token, from->token + from->offset[b], (size_t)from->length[b] * sizeof *token);
    return from->length[b];
}

void frame_take(struct frame *to, const struct frame *from, int first, int count) {
    const struct arch *arch = from->config->arch;
    const struct batch *last = frame_last(from);
    bool classes = from->config->head->classes;
    frame_clear(to);
    for (int b = first; b < first + count; b++) {
        if (arch->encoder) copy_sequence(&to->source, &from->source, b);
        if (arch->decoder) copy_sequence(&to->target, &from->target, b);
        const int *label = from->label + (classes ? b : last->offset[b]);
        for (int i = 0; i < (classes ? 1 : last->length[b]); i++) {
            to->label[to->labels++] = label[i];
            to->counted += label[i] >= 0;
        }
    }
}

/* ---- golden tensors ---- */

struct st_file *open_golden(const char *name) {
    struct st_file *file;
    ch_error error;
    check_ok(st_open(name, &file, &error), &error);
    return file;
}

real *golden(const struct st_file *file, const char *prefix, const char *name, const struct st_tensor **tensor) {
    char full[256];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct st_tensor *found = st_find(file, full);
    if (tensor) *tensor = found;
    if (!found) return NULL;
    real *numbers = new_reals(found->count);
    ch_error error;
    check_ok(st_read(file, found, numbers, &error), &error);
    return numbers;
}

/* ---- files ---- */

const char *path_in(const char *folder, const char *name) {
    enum { PATHS = 8 };
    static char ring[PATHS][1024];
    static int next;
    char *path = ring[next++ % PATHS];
    snprintf(path, sizeof ring[0], "%s/%s", folder, name);
    return path;
}

bool is_there(const char *folder, const char *name) {
    return access(path_in(folder, name), F_OK) == 0;
}

char *file_bytes(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("cannot open %s", path);
    size_t capacity = 1 << 16, used = 0, got;
    char *bytes = malloc(capacity);
    while ((got = fread(bytes + used, 1, capacity - used - 1, file)) > 0) {
        used += got;
        if (used + 1 == capacity) bytes = realloc(bytes, capacity *= 2);
    }
    fclose(file);
    bytes[used] = '\0';
    *size = used;
    return bytes;
}

void put_bytes(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file) fail_msg("cannot write %s", path);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void check_same_file(const char *folder_a, const char *folder_b, const char *name) {
    size_t size_a, size_b;
    char *a = file_bytes(path_in(folder_a, name), &size_a), *b = file_bytes(path_in(folder_b, name), &size_b);
    if (size_a != size_b || memcmp(a, b, size_a) != 0) fail_msg("%s differs: %zu and %zu bytes", name, size_a, size_b);
    free(a);
    free(b);
}
