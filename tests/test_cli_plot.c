/* The command `plot`, `look --width` and `train --log-gradients`, as a person uses them. */
#include "child.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL                                                                                                          \
    " --d-model 8 --heads 2 --d-ff 12 --layers 1 --steps 6 --log-every 2 --save-every 3 --validation 5 --quiet"

static int set_up(void **state) {
    (void)state;
    if (child_set_up(CH_COMMAND, CH_TEST_DATA)) return -1;
    if (run("\"$C\" train reverse --log-gradients --out \"$D/a\"" SMALL)) return -1;
    return run("\"$C\" train copy --seed 3 --out \"$D/b\"" SMALL);
}

static int tear_down(void **state) {
    (void)state;
    return child_tear_down();
}

static void check_starts(const char *name, const char *start) {
    size_t size;
    char *bytes = slurp(name, &size);
    assert_true(size > 500);
    assert_memory_equal(bytes, start, strlen(start));
    free(bytes);
}

static void pictures_are_said(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" plot positions --d-model 16 --max-positions 12 --out \"$D/p.png\""), 0);
    assert_string_equal(last.out, "");
    holds(last.err, "the picture is in ");
    holds(last.err, "/p.png\n");
    check_starts("p.png", "\x89PNG");
    assert_int_equal(run("\"$C\" plot training \"$D/a\" \"$D/b\" --out \"$D/t.pdf\" --width 500"), 0);
    check_starts("t.pdf", "%PDF-");
    assert_int_equal(run("\"$C\" plot weights \"$D/a\" --out=\"$D/w.svg\""), 0);
    check_starts("w.svg", "<?xml");
    assert_int_equal(run("\"$C\" look \"$D/a\" --source '1 2 3' --width 300 --out \"$D/l.png\""), 0);
    check_starts("l.png", "\x89PNG");
    holds(last.out, "alignment: ");
}

static void text_is_small(void **state) {
    (void)state;
    assert_int_equal(run("COLUMNS=70 \"$C\" plot positions"), 0);
    holds(last.out, "Sinusoidal positions: 64 of width 64\n");
    holds(last.out, "* dimension 0 ");
    lacks(last.out, "\x1b");
    assert_int_equal(run("\"$C\" plot training \"$D/a\" \"$D/b\""), 0);
    holds(last.out, "* ");
    holds(last.out, "validation loss, nats a token\n");
    holds(last.out, "healthy first loss: 2.5 to 3.5\n");
    lacks(last.out, "the lesson's printed run"); /* neither is the lesson's size */
    assert_int_equal(run("\"$C\" plot training --layers \"$D/a\""), 0);
    holds(last.out, "dec.0.cross_attn ");
    assert_int_equal(run("COLUMNS=40 \"$C\" plot training --layers \"$D/a\""), 0);
    holds(last.out, "\nnorm of the gradient, before clipping\n");
    holds(last.out, "dec.0.cross_attn ");
    holds(last.out, " +--"); /* the axis of steps */
    lacks(last.out, "~");
    assert_int_equal(run("\"$C\" plot weights \"$D/b\" --colour always"), 0);
    holds(last.out, "enc.0.attn.W_q.weight ");
}

/* Names tell tensors apart, whatever the width: they are whole, on a line of their own where they must be. */
static void weights_have_whole_names(void **state) {
    (void)state;
    static const char *const columns[] = {"30", "40", "60", "80", "200"};
    for (int i = 0; i < 5; i++) {
        char script[128];
        snprintf(script, sizeof script, "COLUMNS=%s \"$C\" plot weights \"$M\"", columns[i]);
        assert_int_equal(run(script), 0);
        holds(last.out, "\ndec.0.cross_attn.W_q.weight");
        holds(last.out, "\ndec.0.cross_attn.W_q.bias");
        lacks(last.out, "~");
        for (const char *line = last.out, *end; (end = strchr(line, '\n')); line = end + 1)
            assert_true(end - line <= atoi(columns[i]));
    }
    assert_int_equal(run("COLUMNS=20 \"$C\" plot weights \"$M\""), 0);
    holds(last.out, "\nsrc_emb.weight\n");
}

/* What no run can fill is no panel; what they all lack is a sentence. */
static void empty_charts_are_left_out(void **state) {
    (void)state;
    static const char line[] = "mkdir -p \"$D/%s\" && echo '{\"schema\":1,\"step\":1,\"loss\":%s,\"grad_norm\":0,"
                               "\"lr\":4e-6}' >\"$D/%s/log.jsonl\" && \"$C\" plot training \"$D/%s\"";
    char script[512];
    snprintf(script, sizeof script, line, "no_norm", "3.1", "no_norm", "no_norm");
    assert_int_equal(run(script), 0);
    holds(last.out, "\nloss, nats a token\n");
    lacks(last.out, "gradient norm");
    lacks(last.out, "validation loss");
    holds(last.out, "\n4e-6 +"); /* one learning rate has an axis of its own size */
    lacks(last.out, "-0.5");
    snprintf(script, sizeof script, line, "no_loss", "0", "no_loss", "no_loss");
    assert_int_equal(run(script), 0);
    lacks(last.out, "\nloss, nats a token\n");
    holds(last.out, "\nlearning rate\n");
}

/* The lesson's own sizes, whatever the length and the seed, and no others. */
static void the_lessons_run_is_beside_its_like(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train reverse --steps 1 --seed 5 --validation 0 --quiet --out \"$D/lesson\""), 0);
    assert_int_equal(run("\"$C\" plot training \"$D/lesson\" --json"), 0);
    json_t *figure = parse_output(), *key = json_array_get(json_object_get(figure, "panels"), 0);
    assert_int_equal(json_array_size(json_object_get(key, "names")), 2);
    json_t *loss = json_array_get(json_object_get(figure, "panels"), 1);
    json_t *printed = json_array_get(json_object_get(loss, "series"), 1);
    assert_true(json_number_value(json_array_get(json_object_get(printed, "y"), 0)) == 3.3463);
    json_decref(figure);
    assert_int_equal(run("\"$C\" plot training \"$D/a\" --json"), 0);
    lacks(last.out, "lesson");
}

static void json_is_the_numbers(void **state) {
    (void)state;
    static const char *const what[] = {"positions --d-model 8 --max-positions 9", "training \"$D/a\" \"$D/b\"",
                                       "training --layers \"$D/a\"", "weights \"$D/a\""};
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        char script[256];
        snprintf(script, sizeof script, "\"$C\" plot %s --json --out \"$D/both.png\"", what[i]);
        assert_int_equal(run(script), 0);
        json_t *figure = parse_output();
        assert_true(json_array_size(json_object_get(figure, "panels")) > 0);
        json_decref(figure);
    }
}

static void check_wrong(const char *arguments, int code, const char *says) {
    char script[256];
    snprintf(script, sizeof script, "\"$C\" %s", arguments);
    assert_int_equal(run(script), code);
    assert_string_equal(last.out, "");
    holds(last.err, says);
}

static void wrong_usage(void **state) {
    (void)state;
    check_wrong("plot", 2, "PLOT is missing");
    check_wrong("plot weigths x", 2, "did you mean 'weights'? the plots are positions, training, weights");
    check_wrong("plot training", 2, "plot training takes one RUN or more, found 0");
    check_wrong("plot weights a b", 2, "plot weights takes one MODEL, found 2");
    check_wrong("plot positions runs/a", 2, "plot positions takes no argument, found 1");
    check_wrong("plot weights \"$D/a\" --layers", 2, "--layers is not an option of `plot weights`");
    check_wrong("plot training \"$D/a\" --d-model 8", 2, "--d-model is not an option of `plot training`");
    check_wrong("plot positions --width 300", 2, "--width is that of a picture: it needs --out FILE");
    check_wrong("plot positions --width 9 --out \"$D/x.png\"", 2, "from 100 to 20000, not '9'");
    check_wrong("plot positions --out \"$D/x.gif\"", 2, "ending in .png, .pdf or .svg");
    check_wrong("plot positions --colour blue", 2, "--colour takes auto, always or never, not 'blue'");
    check_wrong("plot positions --d-model 7", 2, "d-model: expected an even number, found 7");
    check_wrong("plot training \"$D/none\"", 1, "none: expected the folder of a run, and it holds no log.jsonl");
    check_wrong("plot training --layers \"$D/b\"", 1, "gradients.jsonl (--log-gradients writes it");
    check_wrong("plot weights \"$D/none\"", 1, "none");
    check_wrong("look \"$D/a\" --source 1 --width 200", 2, "it needs --out FILE");
    check_wrong("train reverse --log-gradients=maybe --out \"$D/y\"", 2, "expected off or on, found 'maybe'");
}

/* A bare switch is on; a recipe may hold it, and "=off" takes it back. */
static void the_switch(void **state) {
    (void)state;
    size_t size;
    char *recipe = slurp("a/recipe.json", &size);
    holds(recipe, "\"log-gradients\": \"on\"");
    free(recipe);
    recipe = slurp("b/recipe.json", &size);
    holds(recipe, "\"log-gradients\": \"off\"");
    free(recipe);
    assert_int_equal(run("\"$C\" train --recipe \"$D/a/recipe.json\" --quiet --out \"$D/on\""), 0);
    assert_same_file("a/gradients.jsonl", "on/gradients.jsonl");
    assert_int_equal(run("\"$C\" train --recipe \"$D/a/recipe.json\" --log-gradients=off --quiet --out \"$D/off\""), 0);
    assert_int_equal(run("test ! -e \"$D/off/gradients.jsonl\""), 0);
    assert_same_file("a/model.safetensors", "off/model.safetensors");
}

static void help_has_examples(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" plot --help"), 0);
    holds(last.out, "Example:\n  clearhead plot positions");
    assert_int_equal(run("\"$C\" plot training --help"), 0);
    holds(last.out, "--layers ");
    holds(last.out, "--width PIXELS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_are_said),
        cmocka_unit_test(text_is_small),
        cmocka_unit_test(weights_have_whole_names),
        cmocka_unit_test(empty_charts_are_left_out),
        cmocka_unit_test(the_lessons_run_is_beside_its_like),
        cmocka_unit_test(json_is_the_numbers),
        cmocka_unit_test(wrong_usage),
        cmocka_unit_test(the_switch),
        cmocka_unit_test(help_has_examples),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
