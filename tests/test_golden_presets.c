/*
 * A small model of every preset against PyTorch (tools/presets_golden.py): which parameters there are, what buffers
 * hold, the frame of the examples, logits, loss and every gradient, for both attention cores. "Close" is |a - b| <=
 * 1e-5 max(1, |b|); PyTorch computed in double, and float moves these numbers by about 1e-6.
 */
#include "models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-5;

/* Two presets leave something to others; masked: the head that no task asks for yet. */
static const struct golden_case {
    const char *name, *settings;
    bool masked;
} cases[] = {
    {"lesson", "preset=lesson", false},
    {"modern.encoder-decoder", "preset=modern", false},
    {"modern.decoder-only", "preset=modern arch=decoder-only", false},
    {"gpt2", "preset=gpt2", false},
    {"llama", "preset=llama", false},
    {"bert.classification", "preset=bert task=brackets", false},
    {"bert.masked-token", "preset=bert task=brackets", true},
};
enum { CASES = sizeof cases / sizeof *cases };

static struct st_file *file;
static struct figure worst = {.what = "logits", .tolerance = 1e-5};

static int open_file(void **state) {
    (void)state;
    file = open_golden(CH_TEST_DATA "/presets.safetensors");
    return 0;
}

static int close_file(void **state) {
    (void)state;
    st_close(file);
    return 0;
}

static real *numbers(const struct golden_case *c, const char *kind, const char *name, size_t expected) {
    char prefix[64];
    const struct st_tensor *tensor;
    snprintf(prefix, sizeof prefix, "%s.%s", c->name, kind);
    real *found = golden(file, prefix, name, &tensor);
    if (!found) fail_msg("the file has no %s%s", prefix, name);
    assert_int_equal(tensor->count, expected);
    return found;
}

static int64_t *integers(const struct golden_case *c, const char *name, size_t *count) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", c->name, name);
    const struct st_tensor *tensor = st_find(file, full);
    assert_non_null(tensor);
    *count = tensor->count;
    int64_t *values = malloc(tensor->count * sizeof *values);
    assert_int_equal(st_read_bytes(file, tensor, values, NULL), CH_OK);
    return values;
}

static ch_recipe *recipe_for(const struct golden_case *c) {
    ch_recipe *recipe = recipe_of("d-model", "16", "d-ff", "12", "max-positions", "24", "batch-size", "3", "dropout",
                                  "0", "min-len", "1", "max-len", "5", NULL);
    set_options(recipe, c->settings);
    return recipe;
}

/* ---- parameters ---- */

static size_t names_with(const char *prefix) {
    size_t count = 0;
    for (size_t i = 0; i < st_count(file); i++) count += strncmp(st_tensor(file, i)->name, prefix, strlen(prefix)) == 0;
    return count;
}

/* All names and no others. Buffers are the model's own, and must be PyTorch's. */
static void load_parameters(const struct golden_case *c, struct ch_model *model) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s.param.", c->name);
    assert_int_equal(names_with(prefix), model->params.count);
    for (int i = 0; i < model->params.count; i++) {
        const struct param *row = &model->params.row[i];
        real *value = numbers(c, "param.", row->name, row->count);
        if (param_is_trained(row))
            memcpy(model->params.value + row->offset, value, row->count * sizeof *value);
        else
            check_close(row->name, model->params.value + row->offset, value, row->count, tolerance);
        free(value);
    }
}

/* ---- examples ---- */

static void load_examples(const struct golden_case *c, struct shard *shard) {
    size_t sequences, total;
    int64_t *source = integers(c, "source", &total), *target = integers(c, "target", &total);
    int64_t *sources = integers(c, "source_lengths", &sequences), *targets = integers(c, "target_lengths", &sequences);
    const int64_t *s = source, *t = target;
    frame_clear(&shard->frame);
    for (size_t b = 0; b < sequences; b++) {
        int from[8], to[8];
        assert_true(sources[b] <= 8 && targets[b] <= 8);
        for (int64_t i = 0; i < sources[b]; i++) from[i] = (int)*s++;
        for (int64_t i = 0; i < targets[b]; i++) to[i] = (int)*t++;
        frame_add(&shard->frame, (ch_sequence){from, (size_t)sources[b]}, (ch_sequence){to, (size_t)targets[b]},
                  (uint32_t)b);
    }
    free(source), free(target), free(sources), free(targets);
}

/* ---- the pass ---- */

static void check_logits(const struct golden_case *c, struct lab *lab) {
    size_t count;
    real *found = lab_logits(lab, &count), *expected = numbers(c, "", "logits", count);
    figure_check(&worst, found, expected, count);
    free(found);
    free(expected);
}

static void check_gradients(const struct golden_case *c, struct lab *lab) {
    const struct params *params = &lab->model->params;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s.grad.", c->name);
    real *loss = numbers(c, "", "loss", 1), found = (real)lab_step(lab);
    figure_check(&worst, &found, loss, 1);
    free(loss);
    size_t trained = 0;
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (!param_is_trained(row)) continue;
        real *expected = numbers(c, "grad.", row->name, row->count);
        worst.what = row->name;
        figure_check(&worst, lab->grad + row->offset, expected, row->count);
        free(expected);
        trained++;
    }
    assert_int_equal(names_with(prefix), trained);
}

static void check_case(const struct golden_case *c, const struct attention_core *core) {
    ch_recipe *recipe = recipe_for(c);
    recipe->attention = core;
    ch_model *model = c->masked ? masked_model_of(recipe) : model_of(recipe);
    load_parameters(c, model);
    struct lab lab = lab_new(model, recipe, NULL);
    load_examples(c, &lab.shard);
    check_logits(c, &lab);
    check_gradients(c, &lab);
    lab_free(&lab);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

static void presets_are_pytorchs(void **state) {
    (void)state;
    for (int i = 0; i < 2 * CASES; i++) {
        print_message("             %s\n", cases[i / 2].name);
        check_case(&cases[i / 2], i % 2 ? &attention_fused : &attention_explicit);
    }
    worst.what = "logits, loss, gradients";
    figure_show(&worst);
}

/* A preset without a model of PyTorch's would be nobody's. */
static void every_preset_has_one(void **state) {
    (void)state;
    for (size_t p = 0; preset_row(p); p++) {
        bool known = false;
        for (int i = 0; i < CASES; i++) {
            ch_recipe *recipe = recipe_for(&cases[i]);
            known = known || &recipe->preset->variant == preset_row(p);
            ch_recipe_free(recipe);
        }
        if (!known) fail_msg("preset %s has no golden model", preset_row(p)->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_are_pytorchs),
        cmocka_unit_test(every_preset_has_one),
    };
    return cmocka_run_group_tests(tests, open_file, close_file);
}
