/*
 * A small model of odd shapes against PyTorch (tools/make_goldens.py): every intermediate, the loss, every gradient and
 * ten optimiser steps (of AdamW, too), for both attention cores and for the packed and the padded layout of the same
 * batch. "Close" is |a - b| <= 1e-5 max(1, |b|); PyTorch's own numbers move by less than 2e-6 when they are computed in
 * double.
 */
#include "kernels/kernels.h"
#include "models.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-5;

enum { SEQUENCES = 3, SOURCE = 7, TARGET = 8, HEADS = 3, PAD = 10, MOST_SITES = 128 };

/* The golden files: one with the lesson's parts, one for each swap. */
static const struct {
    const char *name;
    const struct norm_placement *placement;
    int kv_heads, d_head;
    const struct tie *tie;
    const struct embedding_scale *scale;
} files[] = {
    {"lesson_small.safetensors", &norm_post, 3, 4, &tie_none, &embedding_scale_sqrt},
    {"lesson_small_pre.safetensors", &norm_pre, 3, 4, &tie_none, &embedding_scale_sqrt},
    {"lesson_small_heads.safetensors", &norm_post, 1, 6, &tie_none, &embedding_scale_sqrt},
    {"lesson_small_tied.safetensors", &norm_post, 3, 4, &tie_all, &embedding_scale_sqrt},
    {"lesson_small_output.safetensors", &norm_post, 3, 4, &tie_target_output, &embedding_scale_one},
};
enum { FILES = sizeof files / sizeof *files };

/* The file at hand and its number; and the one of ten steps, which may be another. */
static struct st_file *file, *steps;
static int number;

static struct st_file *open_named(const char *name) {
    char path[1024];
    snprintf(path, sizeof path, CH_TEST_DATA "/%s", name);
    return open_golden(path);
}

static int open_file(void **state) {
    (void)state;
    file = steps = open_named(files[number].name);
    return 0;
}

static int close_file(void **state) {
    (void)state;
    if (steps != file) st_close(steps);
    st_close(file);
    return 0;
}

static int open_adamw(void **state) {
    number = 0;
    open_file(state);
    steps = open_named("lesson_adamw.safetensors");
    return 0;
}

/* ---- the model and the batch of the file ---- */

static struct ch_model *empty_model(void) {
    struct config config = {.arch = &arch_encoder_decoder,
                            .head = &head_next_token,
                            .norm = &norm_layernorm,
                            .placement = files[number].placement,
                            .position = &position_sinusoidal,
                            .ffn = &ffn_relu,
                            .d_model = 12,
                            .d_ff = 20,
                            .layers = 2,
                            .max_positions = 16,
                            .symbols = 10};
    struct ch_model *model;
    ch_error error;
    config_fill_absent(&config);
    config.tie = files[number].tie;
    config.embedding_scale = files[number].scale;
    check_ok(config_shapes(&config, HEADS, files[number].kv_heads, files[number].d_head, &error), &error);
    check_ok(model_build(&config, &model, &error), &error);
    check_ok(model_allocate(model, &error), &error);
    return model;
}

static struct ch_model *small_model(void) {
    struct ch_model *model = empty_model();
    for (int i = 0; i < model->params.count; i++) {
        const struct param *row = &model->params.row[i];
        real *value = golden(file, "param.", row->name, NULL);
        if (!value) fail_msg("the file has no param.%s", row->name);
        memcpy(model->params.value + row->offset, value, row->count * sizeof *value);
        free(value);
    }
    return model;
}

static int64_t *integers(const char *name, size_t expected) {
    const struct st_tensor *tensor = st_find(file, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->count, expected);
    int64_t *values = malloc(expected * sizeof *values);
    assert_int_equal(st_read_bytes(file, tensor, values, NULL), CH_OK);
    return values;
}

static int length_of(const int64_t *row, int most) {
    int length = 0;
    while (length < most && row[length] != PAD) length++;
    return length;
}

/* The file's batch into a shard, as if the task had drawn it. */
static void load_batch(struct shard *shard) {
    struct ch_examples examples;
    assert_int_equal(examples_init(&examples, SEQUENCES, SOURCE, 10, NULL), CH_OK);
    int64_t *source = integers("batch.src", SEQUENCES * SOURCE);
    int64_t *target = integers("batch.tgt", SEQUENCES * (SOURCE + 2));
    examples.count = SEQUENCES;
    for (int b = 0; b < SEQUENCES; b++) {
        const int64_t *s = source + b * SOURCE, *t = target + b * (SOURCE + 2);
        examples.source_length[b] = length_of(s, SOURCE);
        examples.target_length[b] = length_of(t, SOURCE + 2);
        for (int i = 0; i < SOURCE; i++) examples.source[b * SOURCE + i] = (int)s[i];
        for (int i = 0; i < SOURCE + 2; i++) examples.target[b * (SOURCE + 2) + i] = (int)t[i];
    }
    shard_load(shard, &examples, 0, SEQUENCES);
    free(source);
    free(target);
    examples_release(&examples);
}

/* The same sequences as PyTorch lays them out: row b * longest + t, padding tokens behind, their labels ignored. */
static void pad_side(struct batch_buffer *buffer, int longest, int *label) {
    const struct batch *packed = &buffer->view;
    struct batch_buffer padded = padded_batch(packed->length, packed->sequences, longest, 0, 0);
    int *labels = malloc((size_t)padded.view.rows * sizeof *labels);
    for (int row = 0; row < padded.view.rows; row++) {
        padded.token[row] = PAD;
        labels[row] = -1;
    }
    for (int b = 0; b < packed->sequences; b++)
        for (int t = 0; t < packed->length[b]; t++) {
            padded.token[padded.offset[b] + t] = buffer->token[packed->offset[b] + t];
            if (label) labels[padded.offset[b] + t] = label[packed->offset[b] + t];
        }
    if (label) memcpy(label, labels, (size_t)padded.view.rows * sizeof *labels);
    free(labels);
    batch_buffer_free(buffer);
    *buffer = padded;
}

static struct lab small_lab(struct ch_model *model, const struct attention_core *core, bool padded, double dropout,
                            const struct capture *capture) {
    struct lab lab = {.model = model, .block = model->params.trained};
    struct batch_limits limits = {SEQUENCES, SOURCE, TARGET};
    lab.pass = (struct pass){.core = core,
                             .dropout = dropout == 0 ? DROPOUT_OFF : DROPOUT_PHILOX,
                             .dropout_rate = (real)dropout,
                             .dropout_key = philox_derive(5, PHILOX_DROPOUT, 1),
                             .capture = capture};
    ch_error error;
    check_ok(shard_new(&lab.shard, model, &lab.pass, &limits, true, &error), &error);
    load_batch(&lab.shard);
    if (padded) {
        pad_side(&lab.shard.frame.source, SOURCE, NULL);
        pad_side(&lab.shard.frame.target, TARGET, lab.shard.frame.label);
    }
    lab.pass.grad = lab.grad = params_new_block(&model->params);
    assert_non_null(lab.grad);
    return lab;
}

/* Each of the four ways to walk: two cores, two layouts. */
static void in_every_way(void (*check)(const struct attention_core *core, bool padded)) {
    const struct attention_core *cores[] = {&attention_explicit, &attention_fused};
    for (int way = 0; way < 4; way++) check(cores[way / 2], way % 2);
}

/* ---- sites ---- */

struct seen {
    char name[MOST_SITES][PARAM_NAME]; /* sites of the file, and how many elements of each were compared */
    size_t elements[MOST_SITES];
    int count;
};

static void list_sites(struct seen *seen) {
    *seen = (struct seen){0};
    for (size_t i = 0; i < st_count(file); i++) {
        const char *name = st_tensor(file, i)->name;
        if (strncmp(name, "site.", 5) == 0) snprintf(seen->name[seen->count++], PARAM_NAME, "%s", name + 5);
        assert_true(seen->count < MOST_SITES);
    }
    assert_true(seen->count > 60);
}

static bool wants_all(void *context, const char *layer, const char *site) {
    (void)context, (void)layer, (void)site;
    return true;
}

/* The file's numbers of a site, which is thereby seen. */
static real *site_numbers(struct seen *seen, const char *layer, const char *site, size_t elements,
                          const struct st_tensor **tensor, char *name) {
    snprintf(name, PARAM_NAME, "%s%s%s", layer, *layer ? "." : "", site);
    real *numbers = golden(file, "site.", name, tensor);
    if (!numbers) fail_msg("PyTorch's file has no site '%s'", name);
    for (int i = 0; i < seen->count; i++)
        if (strcmp(seen->name[i], name) == 0) seen->elements[i] += elements;
    return numbers;
}

/* Rows (N, C) of real tokens against (B, T, C). */
static void see_rows(void *context, const char *layer, const char *site, const real *x, int ld, int channels,
                     const struct batch *batch) {
    const struct st_tensor *tensor;
    char name[PARAM_NAME];
    real *expected = site_numbers(context, layer, site, (size_t)batch->longest * (size_t)channels, &tensor, name);
    assert_int_equal(tensor->rank, 3);
    assert_int_equal(tensor->shape[0], batch->sequences);
    assert_int_equal(tensor->shape[1], batch->longest);
    assert_int_equal(tensor->shape[2], channels);
    for (int b = 0; b < batch->sequences; b++)
        for (int t = 0; t < batch->length[b]; t++)
            check_close(name, x + (size_t)(batch->offset[b] + t) * (size_t)ld,
                        expected + ((size_t)b * (size_t)tensor->shape[1] + (size_t)t) * (size_t)channels,
                        (size_t)channels, tolerance);
    free(expected);
}

/* One head's (queries, keys) against the corner of (B, H, T, S). */
static void see_map(void *context, const char *layer, const char *site, int sequence, int head, const real *x,
                    int queries, int keys) {
    const struct st_tensor *tensor;
    char name[PARAM_NAME];
    real *expected = site_numbers(context, layer, site, (size_t)queries * (size_t)keys, &tensor, name);
    assert_int_equal(tensor->rank, 4);
    assert_int_equal(tensor->shape[1], HEADS);
    assert_true(queries <= tensor->shape[2] && keys <= tensor->shape[3]);
    size_t map = ((size_t)sequence * HEADS + (size_t)head) * (size_t)tensor->shape[2];
    for (int t = 0; t < queries; t++)
        check_close(name, x + (size_t)t * (size_t)keys, expected + (map + (size_t)t) * (size_t)tensor->shape[3],
                    (size_t)keys, tolerance);
    free(expected);
}

static void check_sites(const struct attention_core *core, bool padded) {
    struct seen seen;
    list_sites(&seen);
    struct capture capture = {.wants = wants_all, .rows = see_rows, .map = see_map, .context = &seen};
    struct ch_model *model = small_model();
    struct lab lab = small_lab(model, core, padded, 0, &capture);
    size_t count;
    free(lab_logits(&lab, &count));
    for (int i = 0; i < seen.count; i++)
        if (!seen.elements[i]) fail_msg("site '%s' was never shown", seen.name[i]);
    lab_free(&lab);
    ch_model_free(model);
}

static void every_site(void **state) {
    (void)state;
    in_every_way(check_sites);
}

/* ---- loss and gradients ---- */

static void check_gradients(const struct attention_core *core, bool padded) {
    struct ch_model *model = small_model();
    struct lab lab = small_lab(model, core, padded, 0, NULL);
    real *loss = golden(file, "", "loss", NULL), found = (real)lab_step(&lab);
    check_close("loss", &found, loss, 1, tolerance);
    free(loss);
    for (int i = 0; i < model->params.count; i++) {
        const struct param *row = &model->params.row[i];
        real *expected = golden(file, "grad.", row->name, NULL);
        assert_int_equal(expected != NULL, param_is_trained(row));
        if (!expected) continue;
        check_close(row->name, lab.grad + row->offset, expected, row->count, tolerance);
        free(expected);
    }
    lab_free(&lab);
    ch_model_free(model);
}

static void loss_and_every_gradient(void **state) {
    (void)state;
    in_every_way(check_gradients);
}

/* ---- initial weights ---- */

/* What PyTorch draws from the file's seed, bit for bit; the file's norms were moved afterwards. */
static void initial_weights(void **state) {
    (void)state;
    struct ch_model *model = empty_model();
    struct torch_rng torch;
    torch_rng_seed(&torch, 20);
    init_xavier.fill(&model->params, 0, &torch);
    for (int i = 0; i < model->params.count; i++) {
        const struct param *row = &model->params.row[i];
        if (row->role == ROLE_NORM_WEIGHT || row->role == ROLE_NORM_BIAS || !param_is_trained(row)) continue;
        real *expected = golden(file, "param.", row->name, NULL);
        check_same(row->name, model->params.value + row->offset, expected, row->count);
        free(expected);
    }
    ch_model_free(model);
}

/* ---- ten steps of the optimiser ---- */

static double metadata_number(const char *key) {
    const char *text = st_metadata(steps, key);
    assert_non_null(text);
    return atof(text);
}

static double clip_scale(double norm) {
    double scale = 1.0 / (norm + 1e-6);
    return scale < 1 ? scale : 1;
}

/*
 * The biases of the keys mean nothing after Adam: softmax does not change when all scores of a query move alike, so
 * their gradient is zero but for rounding, which Adam divides by its own size.
 */
static bool is_rounding(const char *name) {
    return strstr(name, "W_k.bias") != NULL;
}

static void check_after_ten(const struct ch_model *model) {
    for (int i = 0; i < model->params.count; i++) {
        const struct param *row = &model->params.row[i];
        if (!param_is_trained(row) || is_rounding(row->name)) continue;
        real *expected = golden(steps, "after10.", row->name, NULL);
        assert_non_null(expected);
        check_close(row->name, model->params.value + row->offset, expected, row->count, tolerance);
        free(expected);
    }
}

/* Adam as the lesson has it, or AdamW where the file has a decay. */
static void check_training(const struct attention_core *core, bool padded) {
    bool decays = st_metadata(steps, "decay");
    const struct optimizer *optimizer = decays ? &optimizer_adamw : &optimizer_adam;
    struct optimizer_constants constants = optimizer->own;
    if (decays)
        constants = (struct optimizer_constants){metadata_number("beta1"), metadata_number("beta2"),
                                                 metadata_number("epsilon")};
    struct ch_model *model = small_model();
    struct lab lab = small_lab(model, core, padded, 0, NULL);
    real *moment[] = {params_new_block(&model->params), params_new_block(&model->params)};
    real *loss = golden(steps, "steps.", "loss", NULL), *norm = golden(steps, "steps.", "grad_norm", NULL);
    real *rate = golden(steps, "steps.", "lr", NULL);
    struct rates rates = {.lr = metadata_number("lr"), .warmup = (int64_t)metadata_number("warmup"), .steps = 10};
    struct decay decay;
    assert_true(decay_new(&decay, &model->params));
    for (int step = 1; step <= 10; step++) {
        real found[3] = {(real)lab_step(&lab)};
        double length = sqrt(sum_of_squares(lab.grad, lab.block));
        double lr = schedule_warmup.rate(&rates, step);
        found[1] = (real)length;
        found[2] = (real)lr;
        real expected[3] = {loss[step - 1], norm[step - 1], rate[step - 1]};
        check_close("loss, gradient norm, learning rate", found, expected, 3, tolerance);
        if (decays) decay_apply(&decay, model->params.value, (real)(1 - lr * metadata_number("decay")), 0, lab.block);
        optimizer->update(&constants, model->params.value, moment, lab.grad, (real)clip_scale(length), lr, step, 0,
                          lab.block);
    }
    check_after_ten(model);
    decay_free(&decay);
    free(loss);
    free(norm);
    free(rate);
    mem_free_aligned(moment[0]);
    mem_free_aligned(moment[1]);
    lab_free(&lab);
    ch_model_free(model);
}

static void ten_steps(void **state) {
    (void)state;
    in_every_way(check_training);
}

/* ---- packed and padded, without PyTorch in between ---- */

/* With dropout, whose masks do not know the layout, and without. */
static void padded_equals_packed(void **state) {
    (void)state;
    const struct attention_core *cores[] = {&attention_explicit, &attention_fused};
    for (int way = 0; way < 4; way++) {
        double dropout = way / 2 ? 0.25 : 0;
        struct ch_model *model = small_model();
        struct lab packed = small_lab(model, cores[way % 2], false, dropout, NULL);
        struct lab padded = small_lab(model, cores[way % 2], true, dropout, NULL);
        real loss[] = {(real)lab_step(&packed), (real)lab_step(&padded)};
        check_close("loss", &loss[1], &loss[0], 1, tolerance);
        check_close("gradient", padded.grad, packed.grad, packed.block, tolerance);
        lab_free(&packed);
        lab_free(&padded);
        ch_model_free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_site), cmocka_unit_test(loss_and_every_gradient), cmocka_unit_test(initial_weights),
        cmocka_unit_test(ten_steps),  cmocka_unit_test(padded_equals_packed),
    };
    const struct CMUnitTest adamw[] = {cmocka_unit_test(ten_steps)};
    int failed = cmocka_run_group_tests_name("lesson_adamw.safetensors", adamw, open_adamw, close_file);
    for (number = 0; number < FILES; number++)
        failed += cmocka_run_group_tests_name(files[number].name, tests, open_file, close_file);
    return failed;
}
