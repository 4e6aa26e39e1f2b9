/* The commands check, dump and compare: what they print, to a person, to a terminal and as JSON, and how they fail. */
#include "child.h"
#include "support.h"

#include "clearhead.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static size_t count_of(const char *part) {
    size_t count = 0;
    for (const char *at = last.out; (at = strstr(at, part)); at++) count++;
    return count;
}

/* ---- check ---------------------------------------------------------------------------------------- */

#define SMALL "--d-model 32 --heads 2 --layers 1 --d-ff 64 "

static void check_of_a_recipe(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" check " SMALL "--steps 3 --threads 1"), 1); /* three steps teach nothing */
    assert_memory_equal(last.out, "clearhead 0.1.0, reverse, fresh weights (D 32, H 2, F 64, L 1, V 13, ", 69);
    holds(last.out, "22,637 parameters), seed 0, philox, fused attention, ");
    holds(last.out, ", 1 thread\noptions: --d-model 32 --heads 2 --d-ff 64 --layers 1 --steps 3 --threads 1\n");
    static const char *const passed[] = {"data", "shapes", "initial-loss", "masking", "overfit"};
    for (size_t i = 0; i < 5; i++) {
        char line[64];
        snprintf(line, sizeof line, "\nPASS  %-14s  ", passed[i]);
        holds(last.out, line);
    }
    holds(last.out, "\nFAIL  generalisation  exact ");
    holds(last.out, "\n      trained first: 3 steps, ");
    holds(last.out, "\n5 of 6 stages passed\n");
    assert_int_equal(count_of("\n      source "), 5);
    lacks(last.out, "\033");
    lacks(last.out, "enc.0.attn.query"); /* details are for --verbose */
    assert_string_equal(last.err, "");
}

static void check_of_named_stages(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" check masking shapes --verbose " SMALL), 0);
    holds(last.out, "\n2 of 2 stages passed\n");
    assert_true(strstr(last.out, "PASS  masking") < strstr(last.out, "PASS  shapes"));
    holds(last.out, "enc.0.attn.query");
    holds(last.out, "(2, 11, 10) (2, 6, 5)");
    holds(last.out, "\n      token 10 changed: logits before it move by 0, ");
    lacks(last.out, "overfit");
    assert_int_equal(run("\"$C\" check data shapes data --batch-size 1 " SMALL), 0); /* each once */
    assert_int_equal(count_of("\nPASS  "), 2);
    holds(last.out, "PASS  data            1 example: targets are ");
    holds(last.out, "\n2 of 2 stages passed\n");
    assert_int_equal(run("printf '{\"d-model\": 36, \"heads\": 3}' >\"$D/r.json\"; "
                         "\"$C\" check shapes --recipe \"$D/r.json\" --layers 1; rm \"$D/r.json\""),
                     0);
    holds(last.out, "(D 36, H 3, F 256, L 1, ");
}

static void check_of_a_model(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" check --model \"$M\" --task reverse --max-len 8"), 0);
    holds(last.out, "lesson_tiny_model.safetensors (D 32, H 2, ");
    holds(last.out, "this model is trained");
    holds(last.out, "PASS  generalisation  exact 500/500, expected 495 or more; cross-attention reversing");
    holds(last.out, "\n6 of 6 stages passed\n");
    assert_int_equal(run("\"$C\" check --model \"$M\" --task copy --max-len 8 generalisation"), 1);
    holds(last.out, "FAIL  generalisation");
    holds(last.out, "expected copying");
    /* Where the verdict does not depend on the task, nobody has to say it. */
    assert_int_equal(run("\"$C\" check --model \"$M\" --max-len 8 shapes masking overfit"), 0);
    holds(last.out, "clearhead 0.1.0, task unknown, ");
    holds(last.out, "\n3 of 3 stages passed\n");
    assert_int_equal(run("\"$C\" check --model \"$M\" shapes initial-loss"), 2);
    holds(last.err, "does not say what it was trained on: give --task");
    assert_string_equal(last.out, "");
    /* A model that says what it was trained on needs no task. */
    assert_int_equal(run("\"$C\" train copy --out \"$D/run\" --steps 2 --quiet " SMALL
                         "&& \"$C\" check --model \"$D/run\" data masking; rm -r \"$D/run\""),
                     0);
    holds(last.out, "clearhead 0.1.0, copy, ");
    holds(last.out, "the source as it is");
}

/* A model says what it is, and its run which lengths and which initialisation it had. */
static void check_of_a_run(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train reverse --d-model 12 --heads 3 --kv-heads 1 --d-ff 20 --layers 1 --norm rmsnorm "
                         "--norm-placement pre --ffn swiglu --init normal --min-len 2 --max-len 4 --max-positions 5 "
                         "--steps 2 --quiet --out \"$D/run\""),
                     0);
    assert_int_equal(run("\"$C\" check shapes initial-loss masking --model \"$D/run\""), 0);
    holds(last.out, "\noptions: --min-len 2 --max-len 4 --d-model 12 --heads 3 --kv-heads 1 --d-ff 20 --layers 1 "
                    "--max-positions 5 --norm rmsnorm --norm-placement pre --ffn swiglu --init normal\n");
    assert_int_equal(run("\"$C\" check shapes --json --model \"$D/run/checkpoints/2\""), 0);
    json_t *object = parse_output(), *recipe = json_object_get(object, "recipe");
    assert_true(number(recipe, "d-model") == 12 && number(recipe, "kv-heads") == 1 && number(recipe, "max-len") == 4);
    assert_string_equal(text(recipe, "norm-placement"), "pre");
    assert_string_equal(text(recipe, "ffn"), "swiglu");
    json_decref(object);
    assert_int_equal(run("\"$C\" eval \"$D/run\" --examples 3"), 0);
    assert_int_equal(run("\"$C\" eval \"$D/run\" --max-len 3 --examples 3"), 0); /* the command line wins */
    /* a model alone, below a recipe that is not its run's */
    assert_int_equal(run("mkdir -p \"$D/a/b\" && echo '{\"other\":1}' >\"$D/recipe.json\" && "
                         "cp \"$D/run/model.safetensors\" \"$D/a/b\" && "
                         "\"$C\" check shapes --max-len 4 --model \"$D/a/b\"; rm -r \"$D/a\" \"$D/recipe.json\""),
                     0);
    holds(last.out, "1 of 1 stages passed");
    assert_int_equal(run("\"$C\" eval \"$D/run\" --max-len 9"), 2);
    holds(last.err, "max-len 9 needs 10 positions");
    run("rm -r \"$D/run\"");
    assert_int_equal(run("\"$C\" check masking --symbols 1 " SMALL), 0); /* its one symbol has others beside it */
}

static void check_as_json(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" check --json data initial-loss " SMALL), 0);
    json_t *report = parse_output(), *stages = json_object_get(report, "stages");
    assert_int_equal(json_array_size(stages), 2);
    assert_string_equal(text(json_array_get(stages, 0), "stage"), "data");
    assert_true(json_is_true(json_object_get(json_array_get(stages, 1), "passed")));
    assert_int_equal(json_array_size(json_object_get(json_array_get(stages, 0), "lines")), 5);
    assert_true(json_is_true(json_object_get(report, "passed")));
    assert_true(json_is_null(json_object_get(report, "model")));
    assert_string_equal(text(report, "version"), "0.1.0");
    assert_int_equal(number(json_object_get(report, "recipe"), "d-model"), 32);
    json_decref(report);
    assert_int_equal(run("\"$C\" check --json --model \"$M\" --task copy initial-loss"), 1);
    report = parse_output();
    assert_true(json_is_false(json_object_get(report, "passed")));
    json_decref(report);
}

static void check_on_a_terminal(void **state) {
    (void)state;
    assert_int_equal(run_on_terminal("\"$C\" check data overfit " SMALL), 0);
    holds(last.out, "\033[32mPASS\033[0m  data");
    holds(last.out, "overfit: step ");
    assert_int_equal(run_on_terminal("NO_COLOR=1 \"$C\" check data " SMALL), 0);
    lacks(last.out, "\033");
    assert_int_equal(run("\"$C\" check generalisation --colour always --steps 2 " SMALL), 1);
    holds(last.out, "\033[31mFAIL\033[0m");
}

/* Help has every stage, in the library's words. */
static void check_helps(void **state) {
    (void)state;
    const ch_variant *row;
    assert_int_equal(run("\"$C\" help check"), 0);
    for (size_t i = 0; (row = ch_check_stage(i)); i++) {
        char line[256];
        snprintf(line, sizeof line, "\n  %-14s  %s\n", row->name, row->help);
        holds(last.out, line);
    }
}

/* ---- dump ----------------------------------------------------------------------------------------- */

static void dump_lists(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" dump \"$M\" --source '3 1 4'"), 0);
    assert_int_equal(count_of("  deviation "), 35);
    assert_memory_equal(last.out, "src.embedded              (3, 32)    mean ", 42);
    holds(last.out, "\ndec.0.cross_attn.weights  (2, 4, 3)  mean      0.3333  deviation ");
    holds(last.out, "\nlogits                    (4, 13)    mean ");
    assert_int_equal(run("\"$C\" dump \"$M\" --source '3 1 4' --backward --json"), 0);
    json_t *object = parse_output(), *list = json_object_get(object, "tensors");
    assert_int_equal(json_array_size(list), 115);
    assert_string_equal(text(json_array_get(list, 114), "name"), "grad.generator.bias");
    json_decref(object);
}

static void dump_shows(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" dump \"$M\" --source '3 1 4' --show dec.0.cross_attn.weights"), 0);
    assert_memory_equal(last.out, "dec.0.cross_attn.weights (2, 4, 3)  mean 0.333333  deviation ", 61);
    holds(last.out, "\nhead 0\n    0 0.00000 0.0002");
    holds(last.out, "\nhead 1\n    0 0.0000");
    assert_int_equal(count_of("\n"), 11);
    /* Long rows go on under their numbers; the width is the terminal's. */
    assert_int_equal(run("COLUMNS=60 \"$C\" dump \"$M\" --source '3 1 4' --show memory"), 0);
    for (const char *line = last.out; *line; line = strchr(line, '\n') + 1) assert_true(strcspn(line, "\n") <= 60);
    holds(last.out, "\n       0."); /* a row that goes on has no number */
    /* More than a thousand elements: the edges. */
    assert_int_equal(run("\"$C\" dump \"$M\" --source '3 1 4' --backward --show grad.enc.0.ff.net.0.weight"), 0);
    assert_int_equal(count_of(" ... "), 6);
    holds(last.out, "\n  ...\n   61 ");
    /* Small numbers keep their digits. */
    assert_int_equal(run("\"$C\" dump \"$M\" --source '3 1 4' --target '4 1 3' --backward --show grad.logits"), 0);
    holds(last.out, "e-0");
    assert_int_equal(run("\"$C\" dump \"$M\" --source '3 1 4' --show enc.0.attn.weights --json"), 0);
    json_t *object = parse_output(), *values = json_object_get(object, "values");
    assert_int_equal(json_array_size(values), 2);
    for (size_t h = 0; h < 2; h++)
        for (size_t row = 0; row < 3; row++) {
            json_t *numbers = json_array_get(json_array_get(values, h), row);
            double sum = 0;
            for (size_t i = 0; i < 3; i++) sum += json_number_value(json_array_get(numbers, i));
            assert_true(fabs(sum - 1) < 1e-6);
        }
    json_decref(object);
}

/* Without --target it is the model's own answer that is read. */
static void dump_decodes(void **state) {
    (void)state;
    assert_int_equal(
        run("cd \"$D\" && \"$C\" dump \"$M\" --source '3 1 4' --out a.safetensors && "
            "\"$C\" dump \"$M\" --source '3 1 4' --target '4 1 3' --out b.safetensors --attention explicit && "
            "\"$C\" compare a.safetensors b.safetensors"),
        0);
    holds(last.err, "35 tensors are in a.safetensors");
    holds(last.out, "35 of 35 tensors agree to 1e-05, ");
    holds(last.out, "; 0 differ, 0 have different shapes, 0 are missing\n");
    assert_int_equal(
        run("cd \"$D\" && \"$C\" dump \"$M\" --source '3 1 4' --json --out a.safetensors; rm *.safetensors"), 0);
    json_t *object = parse_output();
    assert_int_equal(number(object, "tensors"), 35);
    assert_string_equal(text(object, "file"), "a.safetensors");
    json_decref(object);
}

/* ---- compare -------------------------------------------------------------------------------------- */

static int two_dumps(const char *a, const char *b, const char *options) {
    char script[1024];
    snprintf(script, sizeof script,
             "cd \"$D\" && \"$C\" dump \"$M\" %s --out a.safetensors 2>&1 && \"$C\" dump \"$M\" %s --out b.safetensors "
             "2>&1 && "
             "echo && \"$C\" compare a.safetensors b.safetensors %s",
             a, b, options);
    run(script);
    const char *report = strstr(last.out, "\n\n");
    assert_non_null(report);
    memmove(last.out, report + 2, strlen(report + 2) + 1);
    return last.code;
}

static void compare_differences(void **state) {
    (void)state;
    assert_int_equal(two_dumps("--source '3 1 4' --target '4 1 3'", "--source '3 1 4' --target '4 2 3'", ""), 1);
    holds(last.out, "first difference: tgt.embedded (4, 32): worst at (2, ");
    holds(last.out, " in a.safetensors, ");
    holds(last.out, "15 of 35 tensors agree to 1e-05, 0 apart at worst (src.embedded); 20 differ, ");
    assert_int_equal(two_dumps("--source '3 1 4' --target '4 1 3'", "--source '3 1 4' --target '4 1'", ""), 1);
    holds(last.out, "first difference: tgt.embedded: shape (4, 32) in a.safetensors, (3, 32) in b.safetensors\n");
    holds(last.out, "shape      dec.0.cross_attn.weights: shape (2, 4, 3) in ");
    holds(last.out, ", 19 have different shapes, 0 are missing\n");
    assert_int_equal(two_dumps("--source '3 1 4'", "--source '3 1 4' --backward", ""), 1);
    holds(last.out, "only in b.safetensors: grad.logits\n");
    holds(last.out, "0 differ, 0 have different shapes, 80 are missing\n");
    lacks(last.out, "first difference");
    assert_int_equal(two_dumps("--source '3 1 4' --target '4 1 3'", "--source '3 1 4' --target '4 1 3'", ""), 0);
    lacks(last.out, "order");
    assert_int_equal(
        two_dumps("--source '3 1 4' --target '4 1 3'", "--source '3 1 4' --target '4 2 3'", "--tolerance 1e9"), 0);
    assert_int_equal(two_dumps("--source '3 1 4'", "--source '3 1 4'", "--all --tolerance 0"), 0);
    assert_int_equal(count_of("same       "), 35);
}

static void compare_as_json(void **state) {
    (void)state;
    assert_int_equal(two_dumps("--source '3 1 4' --target '4 1 3'", "--source '3 1 4' --target '4 2 3'", "--json"), 1);
    json_t *report = parse_output(), *first = json_object_get(report, "first_difference");
    assert_true(json_is_false(json_object_get(report, "same")));
    assert_string_equal(text(first, "name"), "tgt.embedded");
    assert_string_equal(text(first, "match"), "different");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(first, "element"), 0)), 2);
    double a = number(first, "a"), b = number(first, "b");
    assert_true(fabs(number(first, "worst") - fabs(a - b) / fmax(1, fabs(b))) < 1e-6);
    assert_int_equal(json_array_size(json_object_get(report, "rows")), 20);
    assert_int_equal(number(report, "agree"), 15);
    json_decref(report);
    assert_int_equal(two_dumps("--source '3 1 4'", "--source '3 1 4'", "--json --all"), 0);
    report = parse_output();
    assert_true(json_is_true(json_object_get(report, "same")));
    assert_true(json_is_null(json_object_get(report, "first_difference")));
    assert_int_equal(json_array_size(json_object_get(report, "rows")), 35);
    json_decref(report);
    assert_int_equal(run("rm \"$D\"/*.safetensors"), 0);
}

/* One of a kind is singular. The header below has 54 bytes, 066. */
static void compare_counts_one(void **state) {
    (void)state;
    run("cd \"$D\"; for x in a b; do printf '\\066\\0\\0\\0\\0\\0\\0\\0"
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}\\0\\0\\0'\"$x\" >$x.safetensors; done; "
        "\"$C\" compare a.safetensors b.safetensors; rm *.safetensors");
    holds(last.out, "; 1 differs, 0 have different shapes, 0 are missing\n");
}

/* Models state no order of computation, and the report says so. One that differs is singular. */
static void compare_without_order(void **state) {
    (void)state;
    static const char *const sides[] = {"\"$M\" \"$D/run/model.safetensors\"", "\"$D/run/model.safetensors\" \"$M\""};
    assert_int_equal(run("\"$C\" train reverse --out \"$D/run\" --steps 1 --quiet --max-positions 24 " SMALL), 0);
    for (size_t i = 0; i < 2; i++) {
        char script[256];
        snprintf(script, sizeof script, "\"$C\" compare %s", sides[i]);
        assert_int_equal(run(script), 1);
        holds(last.out, "neither file states its order of computation; in the order of /");
        holds(last.out, i ? "/run/model.safetensors:\nfirst difference: src_emb.weight (13, 32): worst at "
                          : "/lesson_tiny_model.safetensors:\nfirst difference: src_emb.weight (13, 32): worst at ");
    }
    assert_int_equal(run("\"$C\" compare \"$M\" \"$D/run/model.safetensors\" --json; rm -r \"$D/run\""), 0);
    json_t *report = parse_output();
    assert_true(json_is_false(json_object_get(report, "ordered")));
    json_decref(report);
    run("cd \"$D\" && \"$C\" dump \"$M\" --source 3 --target 3 --out a.safetensors && "
        "\"$C\" dump \"$M\" --source 3 --target 3 --attention explicit --out b.safetensors && "
        "\"$C\" compare a.safetensors b.safetensors --json; rm *.safetensors");
    report = parse_output();
    assert_true(json_is_true(json_object_get(report, "ordered")));
    json_decref(report);
}

/* What stands in a path or a file reaches no terminal as a control character, and JSON stays JSON. */
static void names_are_cleaned(void **state) {
    (void)state;
    static const struct {
        const char *name, *shown; /* for the shell's printf, and as it is printed */
        bool words;               /* it is UTF-8 */
    } paths[] = {
        {"x\\033[31m", "x?[31m", true},         {"x\\nfirst", "x?first", true},
        {"x\\302\\23331m", "x?\?31m", true},    {"x\\377\\342\\202", "x?\?\?", false},
        {"caf\\303\\251", "caf\303\251", true},
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char script[512], says[128];
        snprintf(
            script, sizeof script,
            "cd \"$D\" && f=\"$(printf '%s')\" && cp \"$M\" \"$f\" && \"$C\" dump \"$M\" --source 3 --out a.st 2>&1 && "
            "\"$C\" compare \"$f\" a.st; \"$C\" compare \"$f\" a.st --json >&2; rm \"$f\"; "
            "\"$C\" check masking --model \"$f\" --task reverse 2>&1; rm a.st",
            paths[i].name);
        run(script);
        snprintf(says, sizeof says, "only in %s: ", paths[i].shown);
        holds(last.out, says);
        snprintf(says, sizeof says, "%s: No such file", paths[i].shown);
        holds(last.out, says);
        for (const char *c = last.out; *c; c++)
            if (((unsigned char)*c < ' ' && *c != '\n') || *c == 0x7f) fail_msg("a control character in %s", last.out);
        json_t *report = json_loads(last.err, 0, NULL);
        assert_non_null(report);
        assert_int_equal(json_is_string(json_object_get(report, "a")), paths[i].words);
        json_decref(report);
    }
}

/* A NaN has no sign that would mean something. */
static void nan_is_nan(void **state) {
    (void)state;
    run("cd \"$D\"; for x in '300\\377' '200\\077'; do printf '\\066\\0\\0\\0\\0\\0\\0\\0"
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}\\0\\0\\'\"$x\" >\"${x%%\\\\*}.st\"; done; "
        "\"$C\" compare 300.st 200.st; \"$C\" compare 200.st 300.st; rm *.st");
    holds(last.out, "first difference: a (1): worst at (0): nan in 300.st, ");
    holds(last.out, ", nan in 300.st: inf apart");
    lacks(last.out, "-nan");
}

/* ---- wrong usage, and files that are none --------------------------------------------------------- */

static const struct {
    const char *words;
    int code;
    const char *key[3];
} wrongs[] = {
    {"check maskin", 2, {"unknown stage 'maskin'", "did you mean 'masking'", "data, shapes, initial-loss, masking"}},
    {"check data nonsense", 2, {"unknown stage 'nonsense'"}},
    {"check --model \"$M\" data", 2, {"does not say what it was trained on", "--task"}},
    {"check --model \"$M\" --task reverse --d-ff 3", 2, {"--d-ff and MODEL exclude each other"}},
    {"check --model \"$M\" --task reverse --kv-heads 1", 2, {"--kv-heads and MODEL exclude each other"}},
    {"check --model \"$M\" --task reverse --norm rmsnorm", 2, {"--norm and MODEL exclude each other"}},
    {"check --model \"$M\" --task reverse --arch decoder-only", 2, {"--arch and MODEL exclude each other"}},
    {"check --model \"$M\" --task reverse --preset gpt2", 2, {"--preset and MODEL exclude each other"}},
    {"check --model \"$D/none\"", 1, {"none"}},
    {"check --d-model 10 --heads 4", 2, {"d-model 10", "heads 4"}},
    {"check --colour red", 2, {"--colour takes auto, always or never"}},
    {"check --recipe \"$D/none.json\"", 1, {"none.json"}},
    {"dump", 2, {"MODEL is missing"}},
    {"dump \"$M\"", 2, {"--source is missing"}},
    {"dump \"$M\" --source ''", 2, {"--source is empty"}},
    {"dump \"$M\" --source '3 x'", 2, {"--source: word 2, 'x'"}},
    {"dump \"$M\" --source '3 12'", 2, {"--source: word 2, '12'", "0 to 9"}},
    {"dump \"$M\" --source 3 --target '3 <eos>'",
     2,
     {"--target: word 2, '<eos>'", "neither a source nor a target holds"}},
    {"dump \"$M\" --source 3 --target '0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0'",
     2,
     {"--target: expected 0 to 23 tokens, found 24"}},
    {"dump \"$M\" --source 3 --show grad.logits", 2, {"--show grad.logits: there are gradients only with --backward"}},
    {"dump \"$M\" --source 3 --show logit --out \"$D/none.safetensors\"", 2, {"no tensor 'logit'"}},
    {"dump \"$M\" --source 3 --backward --show grad.logit", 2, {"did you mean 'grad.logits'"}},
    {"dump \"$M\" --source 3 --attention fussed", 2, {"--attention takes fused or explicit, not 'fussed'"}},
    {"dump \"$M\" --source 3 --show logit", 2, {"no tensor 'logit'", "did you mean 'logits'"}},
    {"dump \"$M\" --source 3 --out /dev/null/x", 1, {"/dev/null"}},
    {"dump \"$M\" --source '0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0'",
     2,
     {"--source: expected 1 to 24 tokens, found 25"}},
    {"compare", 2, {"FILE is missing"}},
    {"compare \"$M\"", 2, {"compare takes two"}},
    {"compare \"$M\" \"$M\" \"$M\"", 2, {"compare takes at most 2 of FILE"}},
    {"compare \"$M\" \"$M\" --tolerance -1", 2, {"--tolerance", "'-1'"}},
    {"compare \"$M\" \"$M\" --tolerance nan", 2, {"--tolerance", "'nan'"}},
    {"compare \"$M\" \"$M\" --tolerance x", 2, {"--tolerance", "'x'"}},
    {"compare \"$M\" \"$D/none.safetensors\"", 1, {"none.safetensors"}},
    {"compare \"$C\" \"$M\"", 1, {"clearhead"}},
};

static void wrong_usage(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        char script[512];
        snprintf(script, sizeof script, "\"$C\" %s </dev/null", wrongs[i].words);
        run(script);
        if (last.code != wrongs[i].code) fail_msg("%s: exit code %d\n%s", wrongs[i].words, last.code, last.err);
        assert_string_equal(last.out, "");
        for (size_t k = 0; k < 3 && wrongs[i].key[k]; k++) holds(last.err, wrongs[i].key[k]);
    }
    assert_int_equal(run("ls -A \"$D\""), 0);
    assert_string_equal(last.out, "");
    assert_int_equal(run("\"$C\" check --model \"$M\" --task reverse --max-len 30"), 2);
    holds(last.err, "data: max-len 30 needs 31 positions, and the model has 24");
    assert_string_equal(last.out, "");
}

/* A full disk or a reader that left is no success. */
static void output_fails(void **state) {
    (void)state;
    static const char *const words[] = {"check data", "check data --json", "dump \"$M\" --source 3",
                                        "dump \"$M\" --source 3 --show logits", "compare \"$M\" \"$M\""};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char script[256];
        snprintf(script, sizeof script, "\"$C\" %s >/dev/full", words[i]);
        assert_int_equal(run(script), 1);
        holds(last.err, "standard output");
    }
}

static int set_up(void **state) {
    (void)state;
    return child_set_up(CH_COMMAND, CH_TEST_DATA);
}

static int tear_down(void **state) {
    (void)state;
    return child_tear_down();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_of_a_recipe),
        cmocka_unit_test(check_of_named_stages),
        cmocka_unit_test(check_of_a_model),
        cmocka_unit_test(check_as_json),
        cmocka_unit_test(check_of_a_run),
        cmocka_unit_test(check_on_a_terminal),
        cmocka_unit_test(check_helps),
        cmocka_unit_test(dump_lists),
        cmocka_unit_test(dump_shows),
        cmocka_unit_test(dump_decodes),
        cmocka_unit_test(compare_differences),
        cmocka_unit_test(compare_as_json),
        cmocka_unit_test(wrong_usage),
        cmocka_unit_test(output_fails),
        cmocka_unit_test(compare_without_order),
        cmocka_unit_test(compare_counts_one),
        cmocka_unit_test(names_are_cleaned),
        cmocka_unit_test(nan_is_nan),
    };
    return cmocka_run_group_tests_name("check, dump and compare", tests, set_up, tear_down);
}
