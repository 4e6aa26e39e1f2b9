/*
 * The lesson itself against PyTorch: its run from seed 0 (first weights, first batch, losses), and a model that was
 * trained and saved by the lesson's own code, opened, decoded with and looked at.
 */
#include "models.h"

#include "base/json.h"
#include "base/memory.h"
#include "inspect/attention.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct js_value *read_json(const char *path) {
    char *text;
    size_t length;
    struct js_value *value;
    ch_error error;
    check_ok(file_read(path, 1 << 20, &text, &length, &error), &error);
    check_ok(js_parse(text, length, path, &value, &error), &error);
    mem_free(text);
    return value;
}

static double number(const struct js_value *object, const char *key) {
    double value;
    ch_error error;
    check_ok(js_double(js_find(object, key), "golden", key, &value, &error), &error);
    return value;
}

static double element(const struct js_value *array, size_t i) {
    double value;
    ch_error error;
    check_ok(js_double(js_at(array, i), "golden", "an element", &value, &error), &error);
    return value;
}

static int whole(const struct js_value *array, size_t i) {
    return (int)element(array, i);
}

static const char *text(const struct js_value *object, const char *key) {
    const char *value;
    assert_int_equal(js_text(js_find(object, key), "golden", key, &value, NULL), CH_OK);
    return value;
}

static void check_number(const char *what, double found, double expected, double tolerance) {
    double difference = fabs(found - expected) / fmax(1, fabs(expected));
    if (!(difference <= tolerance))
        fail_msg("%s: found %.9g, expected %.9g, allowed %.3g", what, found, expected, tolerance);
}

/* ---- the lesson's run from seed 0 ---- */

static ch_recipe *lesson_recipe(void) {
    return recipe_of("rng", "torch", "seed", "0", NULL);
}

/* The golden file has four values from each end of a parameter; they are floats, and must be met bit for bit. */
static void check_ends(const real *value, size_t count, const struct js_value *golden) {
    const struct js_value *first = js_find(golden, "first"), *last = js_find(golden, "last");
    size_t kept = js_count(first);
    assert_int_equal(kept, 4);
    for (size_t i = 0; i < kept; i++) {
        real ends[] = {value[i], value[count - kept + i]};
        real expected[] = {(real)element(first, i), (real)element(last, i)};
        check_same(text(golden, "name"), ends, expected, 2);
    }
}

static void first_weights_bit_for_bit(void **state) {
    (void)state;
    struct js_value *golden = read_json(CH_TEST_DATA "/lesson_step.json");
    const struct js_value *parameters = js_find(golden, "parameters");
    ch_recipe *recipe = lesson_recipe();
    ch_model *model = model_of(recipe);
    size_t seen = 0;
    for (int i = 0; i < model->params.count; i++) {
        const struct param *row = &model->params.row[i];
        if (!param_is_trained(row)) continue;
        const struct js_value *sample = js_at(parameters, seen++); /* in the same order, too */
        assert_string_equal(text(sample, "name"), row->name);
        check_ends(model->params.value + row->offset, row->count, sample);
        double sum = 0;
        for (size_t k = 0; k < row->count; k++) sum += (double)model->params.value[row->offset + k];
        check_number(row->name, sum, number(sample, "sum"), 1e-12 * (double)row->count);
    }
    assert_int_equal(seen, js_count(parameters));
    ch_model_free(model);
    ch_recipe_free(recipe);
    js_free(golden);
}

static void check_padded_row(ch_sequence found, const struct js_value *row, int pad) {
    size_t length = 0;
    while (length < js_count(row) && whole(row, length) != pad) length++;
    assert_int_equal(found.length, length);
    for (size_t t = 0; t < length; t++) assert_int_equal(found.tokens[t], whole(row, t));
}

static void first_batch(void **state) {
    (void)state;
    struct js_value *golden = read_json(CH_TEST_DATA "/lesson_step.json");
    ch_recipe *recipe = lesson_recipe();
    ch_examples *examples;
    ch_error error;
    const struct js_value *src = js_find(golden, "src"), *tgt = js_find(golden, "tgt");
    assert_int_equal(js_count(src), 64);
    check_ok(ch_examples_new(recipe, 64, &examples, &error), &error);
    int pad = ch_vocab_pad(ch_examples_vocab(examples));
    for (size_t i = 0; i < 64; i++) {
        check_padded_row(ch_examples_source(examples, i), js_at(src, i), pad);
        check_padded_row(ch_examples_target(examples, i), js_at(tgt, i), pad);
    }
    ch_examples_free(examples);
    ch_recipe_free(recipe);
    js_free(golden);
}

/*
 * Step 1 is one forward and one backward: 1e-5. Afterwards the runs drift apart where Adam divides a gradient that is
 * pure rounding (the keys' biases, which do not act) by its own size. What acts differs by rounding, and five steps of
 * lr <= 1.25e-5 move the weights by at most 4e-5 in all: far too little to enlarge it, so 1e-5 holds for all five.
 */
static void first_steps(void **state) {
    (void)state;
    struct js_value *golden = read_json(CH_TEST_DATA "/lesson_step.json");
    ch_recipe *recipe = lesson_recipe();
    ch_trainer *trainer = trainer_of(recipe, NULL);
    for (size_t i = 0; i < 5; i++) {
        const struct js_value *row = js_at(js_find(golden, "steps"), i);
        ch_step step = take_steps(trainer, 1);
        assert_int_equal(step.step, (int64_t)number(row, "step"));
        check_number("loss", step.loss, number(row, "loss"), 1e-5);
        check_number("gradient norm", step.grad_norm, number(row, "grad_norm"), 1e-5);
        check_number("learning rate", step.lr, number(row, "lr"), 1e-12);
        if (i > 0) continue;
        char line[64];
        snprintf(line, sizeof line, "%.4f %.2f", step.loss, step.grad_norm);
        assert_string_equal(line, "3.3463 5.53"); /* what the lesson prints */
    }
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    js_free(golden);
}

/* The lesson's own figure, to what its log shows of it. */
static void step_two_hundred(void **state) {
    (void)state;
    if (SANITIZED || IN_DOUBLE) {
        print_message("skipped: 200 steps of the lesson take long in a build in double or with sanitizers\n");
        skip();
    }
    ch_recipe *recipe = lesson_recipe();
    ch_trainer *trainer = trainer_of(recipe, NULL);
    ch_step step = take_steps(trainer, 200);
    print_message("             step 200: loss %.4f, the lesson's 1.575\n", step.loss);
    assert_true(fabs(step.loss - 1.575) <= 0.003);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
}

/* ---- a model that the lesson's code trained and saved ---- */

#define TINY CH_TEST_DATA "/lesson_tiny_model.safetensors"

static void take_source(const struct js_value *array, int *token, ch_sequence *source) {
    for (size_t t = 0; t < js_count(array); t++) token[t] = whole(array, t);
    *source = (ch_sequence){token, js_count(array)};
}

static void check_answer(ch_answer answer, const struct js_value *expected, int eos) {
    assert_true(answer.ended);
    assert_int_equal(answer.length + 1, js_count(expected));
    for (size_t t = 0; t < answer.length; t++) assert_int_equal(answer.tokens[t], whole(expected, t));
    assert_int_equal(whole(expected, answer.length), eos);
}

static void check_first_logits(const ch_decoder *decoder, size_t i, const struct js_value *expected, int vocab) {
    size_t steps;
    const float *logits = ch_decoder_logits(decoder, i, &steps);
    assert_int_equal(js_count(expected), vocab);
    if (!logits) return; /* a build in double has no floats to show */
    for (int v = 0; v < vocab; v++) check_number("a logit", (double)logits[v], element(expected, (size_t)v), 1e-5);
}

static void tiny_model_answers(void **state) {
    (void)state;
    struct js_value *golden = read_json(CH_TEST_DATA "/lesson_tiny_model.json");
    const struct js_value *cases = js_find(golden, "cases");
    enum { CASES = 5, LONGEST = 8 };
    assert_int_equal(js_count(cases), CASES);
    int token[CASES][LONGEST];
    ch_sequence source[CASES];
    ch_answer answer[CASES];
    for (size_t i = 0; i < CASES; i++) take_source(js_find(js_at(cases, i), "source"), token[i], &source[i]);
    ch_model *model = open_model(TINY); /* heads come from its metadata */
    ch_decode_options options = {.keep_logits = true};
    ch_decoder *decoder;
    ch_error error;
    check_ok(ch_decoder_new(model, &options, &decoder, &error), &error);
    check_ok(ch_decoder_run(decoder, source, CASES, answer, &error), &error);
    for (size_t i = 0; i < CASES; i++) {
        check_answer(answer[i], js_find(js_at(cases, i), "answer"), ch_vocab_eos(ch_model_vocab(model)));
        check_first_logits(decoder, i, js_find(js_at(cases, i), "first_logits"), ch_vocab_size(&model->vocab));
    }
    ch_decoder_free(decoder);
    ch_model_free(model);
    js_free(golden);
}

static void tiny_model_map(void **state) {
    (void)state;
    struct js_value *golden = read_json(CH_TEST_DATA "/lesson_tiny_model.json");
    const struct js_value *map = js_find(golden, "first_case_last_layer_map");
    int token[8];
    ch_sequence source;
    take_source(js_find(js_at(js_find(golden, "cases"), 0), "source"), token, &source);
    ch_model *model = open_model(TINY);
    ch_attention *attention;
    ch_error error;
    check_ok(ch_look(model, source, 0, &attention, &error), &error);
    int layer = ch_attention_layers(attention) - 1;
    size_t rows = ch_attention_generated(attention).length;
    assert_int_equal(ch_attention_heads(attention, layer), js_count(map));
    for (size_t h = 0; h < js_count(map); h++) {
        const float *found = ch_attention_map(attention, layer, (int)h);
        assert_int_equal(js_count(js_at(map, h)), rows);
        for (size_t t = 0; t < rows; t++)
            for (size_t s = 0; s < source.length; s++)
                check_number("a weight", (double)found[t * source.length + s], element(js_at(js_at(map, h), t), s),
                             1e-5);
    }
    ch_attention_free(attention);
    ch_model_free(model);
    js_free(golden);
}

/* Copies the tensors of a model's file, and no word about heads. */
static void save_without_metadata(const char *path) {
    struct st_file *file = open_golden(TINY);
    size_t count = st_count(file);
    struct st_item *items = calloc(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        const struct st_tensor *tensor = st_tensor(file, i);
        items[i] = (struct st_item){.name = tensor->name,
                                    .rank = tensor->rank,
                                    .shape = tensor->shape,
                                    .data = golden(file, "", tensor->name, NULL)};
    }
    ch_error error;
    check_ok(st_write(path, items, count, NULL, 0, &error), &error);
    for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)items[i].data);
    free(items);
    st_close(file);
}

static void heads_must_be_known(void **state) {
    (void)state;
    char *folder = make_temp_folder();
    const char *path = path_in(folder, "silent.safetensors");
    save_without_metadata(path);
    ch_model *model;
    ch_error error;
    check_sentence(ch_model_open(path, 0, &model, &error), CH_FAILED, &error, path, "--heads", NULL);
    assert_null(model);
    check_sentence(ch_model_open(path, 3, &model, &error), CH_USAGE, &error, "heads 3", "32", NULL);
    check_ok(ch_model_open(path, 2, &model, &error), &error);
    ch_model *original = open_model(TINY);
    assert_int_equal(ch_model_get_info(model).heads, 2);
    check_same("parameters", model->params.value, original->params.value, model->params.block);
    ch_model_free(original);
    ch_model_free(model);
    remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_weights_bit_for_bit),
        cmocka_unit_test(first_batch),
        cmocka_unit_test(first_steps),
        cmocka_unit_test(step_two_hundred),
        cmocka_unit_test(tiny_model_answers),
        cmocka_unit_test(tiny_model_map),
        cmocka_unit_test(heads_must_be_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
