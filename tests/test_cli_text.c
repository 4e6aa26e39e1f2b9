/* Models of texts, and encoders alone, at the command line: predict, look, dump, data, check and eval on them, and
 * every text that does not do. */
#include "child.h"
#include "models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL " --d-model 16 --heads 2 --d-ff 16 --layers 1 --steps 3 --quiet"
#define TRAIN "cd \"$D\" && \"$C\" train --max-positions 16" SMALL

/* Runs "lm", "lines", "bert", "brackets" and "reverse" in $D, and the text that the first three learned from. */
static int set_up(void **state) {
    (void)state;
    static const char *const scripts[] = {
        "i=0; while [ $i -lt 150 ]; do echo \"line $i: $((i * 7919 % 1000)) cats\"; i=$((i + 1)); done >\"$D/text\"",
        TRAIN " --text text --arch decoder-only --out lm",
        TRAIN " --text text --arch decoder-only --framing lines --max-positions 40 --out lines",
        TRAIN " --text text --arch encoder-only --out bert",
        TRAIN " brackets --arch encoder-only --out brackets",
        TRAIN " reverse --arch decoder-only --max-positions 32 --out reverse",
        "cd \"$D\"; : >empty; printf 'line 1 cats' >short; printf '\\n\\n' >blank; mkdir folder; printf 'cat ~' >tilde",
        "cd \"$D\"; yes abc | head -c 400 >latin; printf '\\377' >>latin",
    };
    if (child_set_up(CH_COMMAND, CH_TEST_DATA)) return 1;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (run(scripts[i])) {
            fprintf(stderr, "%s", last.err);
            return 1;
        }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return child_tear_down();
}

/* ---- what does not do: one sentence, the right code, nothing on standard output ---- */

struct wrong {
    const char *words;
    int code;
    const char *says;
};

static void check_wrongs(const struct wrong *wrongs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char script[512];
        snprintf(script, sizeof script, "cd \"$D\"; echo '1 0' | \"$C\" %s", wrongs[i].words);
        if (run(script) != wrongs[i].code) fail_msg("%s: code %d, '%s'", script, last.code, last.err);
        holds(last.err, wrongs[i].says);
        const char *end = strchr(last.err, '\n');
        if (!end || end[1]) fail_msg("%s: expected one line, found '%s'", script, last.err);
        assert_string_equal(last.out, "");
    }
}

#define LM "--arch decoder-only --out x --text "

static void texts_that_do_not_do(void **state) {
    (void)state;
    static const struct wrong wrongs[] = {
        {"train " LM "empty", 1, "empty is empty"},
        {"train " LM "none", 1, "cannot open none: No such file"},
        {"train " LM "folder", 1, "folder: expected a file, found a folder"},
        {"train " LM "short", 1, "short: the training part has 9 of the text's 11 tokens; expected at least 65"},
        {"train " LM "text --held-out 0.001", 1, "text: the validation part has 3 of the text's"},
        {"train " LM "latin --max-positions 8", 1, "latin: the byte at offset 400 is 0xff: expected UTF-8"},
        {"train " LM "blank --framing lines", 1, "blank: expected lines of text, found only empty ones"},
        {"train " LM "text --framing lines --max-positions 8", 1, "text: line 1 has 14 tokens; expected at most 7"},
        {"data --text empty", 1, "empty is empty"},
        {"data --text folder", 1, "folder: expected a file, found a folder"},
        {"data --text latin --max-positions 8", 1, "latin: the byte at offset 400 is 0xff"},
        {"data --text short", 1, "short: the training part has 9"},
        {"summary --arch decoder-only --text none", 1, "cannot open none"},
        {"check --arch decoder-only --text none", 1, "cannot open none"},
        {"check data --arch encoder-only --text short", 1, "short: the training part has 9"},
        {"eval lm --text empty", 1, "empty is empty"},
        {"eval lm --text none", 1, "cannot open none"},
        {"eval lm --text folder", 1, "folder: expected a file, found a folder"},
        {"eval lm --text short", 1, "short: the training part has 9 of the text's 11 tokens; expected at least 17"},
        {"eval lm --text tilde", 1, "tilde: character 5, '~' (U+007E), is not among the"},
        {"eval bert --text latin", 1, "latin: "},
        {"eval lm --held-out 0", 2, "held-out: expected a share of text to measure the model on, found 0"},
        {"check data --model lm --text tilde", 1, "tilde: character 5, '~'"},
    };
    check_wrongs(wrongs, sizeof wrongs / sizeof *wrongs);
    assert_int_equal(run("cd \"$D\" && \"$C\" train --tokens bytes --max-positions 8" SMALL " " LM "latin"), 0);
    assert_int_equal(run("rm -r \"$D/x\""), 0);
}

/* Each command names the one that can. */
static void models_that_do_not_fit(void **state) {
    (void)state;
    static const struct wrong wrongs[] = {
        {"decode brackets", 1, "this model is encoder-only: expected one with a decoder"},
        {"decode bert", 1, "`predict` says what this one finds"},
        {"decode lm", 1, "this model's tokens are characters: expected one of a task"},
        {"decode lines", 1, "`generate` goes on with a text"},
        {"generate bert", 1, "this model is encoder-only: expected a decoder-only one"},
        {"generate brackets", 1, "`predict` says what this one finds"},
        {"predict lm", 1, "this model is decoder-only: expected an encoder-only one"},
        {"predict reverse", 1, "`decode` answers sources"},
        {"predict \"$M\"", 1, "this model is encoder-decoder: expected an encoder-only one"},
        {"predict none", 1, "cannot open none"},
        {"eval brackets --text text", 2, "text text: expected a model of texts"},
        {"eval brackets --task reverse", 2, "task reverse asks for a sequence"},
        {"eval lm --task reverse", 2, "--task and MODEL exclude each other: lm learned from a text"},
        {"eval lm/model.safetensors", 2, "this model learned from a text, in tokens that are characters"},
        {"check shapes --model lm/model.safetensors", 2, "this model learned from a text"},
        {"check data --model lm --framing lines", 2, "framing lines: expected a model with <sos> and <eos>"},
        {"check data --model lm --tokens bytes", 2, "--tokens and MODEL exclude each other"},
        {"eval reverse --max-len 16", 2, "max-len 16 needs 33 positions, and the model has 32"},
        {"check masking --model reverse --max-len 16", 2, "max-len 16 needs 33 positions, and the model has 32"},
        {"eval brackets --max-len 16", 2, "max-len 16 needs 17 positions, and the model has 16"},
        {"look lm --source 'cat ~'", 2, "--source: character 5, '~'"},
        {"look lm --source ''", 2, "--source is empty"},
        {"look lm --source cats --max-new 13", 2, "max-new: expected 0 to 12 behind 4 tokens"},
        {"look brackets --source '( ( ( ( ( ( ( ( ) ) ) ) ) ) ) )'", 1,
         "the source has 16 tokens: expected at most 15"},
        {"look brackets --source '( x'", 2, "--source: word 2, 'x'"},
        {"dump lm --source c", 1, "source: expected at least 2 tokens of a text"},
        {"dump lm --source cats --target ' dogs'", 2, "--target: character 2, 'd'"},
        {"dump lm --source cats --target 'cats cats cats'", 1, "source and target: expected at most 15 tokens"},
        {"dump bert --source cats", 2, "--target is missing: the tokens of the source without <mask>"},
        {"dump bert --source c --target cats", 1, "target: expected a token for each of the source's 1, found 4"},
        {"dump bert --source cats --target 'ca<mask>s'", 1, "target: token 3 is"},
    };
    check_wrongs(wrongs, sizeof wrongs / sizeof *wrongs);
}

/* Files of another build: what is named is a variant that this one lacks. */
static void variants_that_this_build_lacks(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } changes[] = {
        {"layernorm", "layerxorm", "unknown norm 'layerxorm'"},
        {"sinusoidal", "sinusoidxl", "unknown position 'sinusoidxl'"},
        {"decoder-only", "decoder-0nly", "unknown architecture 'decoder-0nly'"},
        {"relu", "rexu", "unknown ffn 'rexu'"},
        {"characters\\\\\"", "cheracters\\\\\"", "cheracters"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char script[256];
        snprintf(script, sizeof script,
                 "cd \"$D\" && LC_ALL=C sed 's/%s/%s/' lm/model.safetensors >other && "
                 "\"$C\" generate other --prompt cat",
                 changes[i].from, changes[i].to);
        assert_int_equal(run(script), 1);
        holds(last.err, "other: ");
        holds(last.err, changes[i].says);
        assert_string_equal(last.out, "");
    }
}

/* ---- predict ---- */

static void predict_tells_classes(void **state) {
    (void)state;
    double first, second;
    assert_int_equal(run("printf '( [ ] )\\n( ]\\n' | \"$C\" predict \"$D/brackets\""), 0);
    char class[32], other[32];
    assert_int_equal(sscanf(last.out, "%31[a-z ] %lf\n%31[a-z ] %lf", class, &first, other, &second), 4);
    assert_true(strncmp(class, "balanced ", 9) == 0 || strncmp(class, "not balanced ", 13) == 0);
    assert_true(first >= 0.5 && first <= 1 && second >= 0.5);
    assert_int_equal(run("echo '( )' | \"$C\" predict \"$D/brackets\" --top 5 --json"), 0);
    json_t *object = parse_output(), *guesses = json_object_get(object, "guesses");
    assert_int_equal(json_array_size(guesses), 2);
    double sum = 0;
    for (size_t i = 0; i < 2; i++) sum += json_number_value(json_object_get(json_array_get(guesses, i), "probability"));
    assert_true(fabs(sum - 1) < 1e-9);
    json_decref(object);
}

static void predict_fills_in(void **state) {
    (void)state;
    assert_int_equal(run("printf 'ca<mask>s 1<mask>\\nline' | \"$C\" predict \"$D/bert\" --top 2"), 1);
    holds(last.err, "line 2: the source has no <mask>");
    const char *tab = strchr(last.out, '\t');
    assert_non_null(tab);
    assert_true(strncmp(last.out, "ca", 2) == 0 && !strstr(last.out, "<mask>"));
    assert_non_null(strchr(tab + 1, '\t')); /* a column for each */
    assert_int_equal(run("echo 'ca<mask>s' | \"$C\" predict \"$D/bert\" --json"), 0);
    json_t *object = parse_output(), *places = json_object_get(object, "places");
    const json_t *source = json_object_get(object, "source"), *filled = json_object_get(object, "filled");
    assert_int_equal(json_array_size(places), 1);
    const json_t *place = json_array_get(places, 0);
    assert_int_equal(json_integer_value(json_object_get(place, "place")), 2);
    const json_t *guess = json_array_get(json_object_get(place, "guesses"), 0);
    assert_int_equal(json_integer_value(json_array_get(filled, 2)),
                     json_integer_value(json_object_get(guess, "token")));
    assert_int_equal(json_array_size(source), 4);
    assert_int_equal(json_integer_value(json_array_get(filled, 0)), json_integer_value(json_array_get(source, 0)));
    json_decref(object);
}

/* Answers come as soon as the input pauses; a bad line ends it, behind the answers to those before. */
static void predict_converses(void **state) {
    (void)state;
    char line[128];
    struct child child = start("exec \"$C\" predict \"$D/brackets\"");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(write(child.in, "( )\n", 4), 4);
        read_line(child.out, line, sizeof line);
        holds(line, "balanced 0.");
    }
    finish(child);
    assert_int_equal(last.code, 0);
    assert_int_equal(run("printf '( )\\n\\n( )\\n' | \"$C\" predict \"$D/brackets\""), 1);
    holds(last.out, "balanced");
    holds(last.err, "line 2 is empty");
    assert_int_equal(run("printf '( )\\n( 9\\n' | \"$C\" predict \"$D/brackets\""), 1);
    holds(last.err, "line 2: word 2, '9'");
    assert_int_equal(run("printf '( \\0)\\n' | \"$C\" predict \"$D/brackets\""), 1);
    holds(last.err, "line 1 holds a zero byte");
    assert_int_equal(run("printf '' | \"$C\" predict \"$D/brackets\""), 0);
    assert_string_equal(last.out, "");
}

/* ---- look ---- */

static void check_look(const char *words, const char *kind, size_t rows, bool aligned) {
    char script[256];
    snprintf(script, sizeof script, "\"$C\" look \"$D\"/%s --json", words);
    assert_int_equal(run(script), 0);
    json_t *object = parse_output(), *map = json_array_get(json_object_get(object, "maps"), 1);
    assert_string_equal(json_string_value(json_object_get(object, "kind")), kind);
    assert_int_equal(json_array_size(json_object_get(object, "rows")), rows);
    assert_int_equal(json_array_size(json_object_get(object, "columns")), rows);
    assert_int_equal(json_array_size(json_object_get(map, "weights")), rows);
    const json_t *alignment = json_object_get(object, "alignment");
    assert_int_equal(json_is_number(json_object_get(alignment, "diagonal")), aligned);
    json_decref(object);
    snprintf(script, sizeof script, "cd \"$D\" && \"$C\" look %s --layer 0 --out map.svg && rm map.svg", words);
    assert_int_equal(run(script), 0);
    holds(last.out, "Self-attention, layer 0");
    holds(last.out, aligned ? "\nalignment: " : "\nsharpest: ");
    snprintf(script, sizeof script, "cd \"$D\" && \"$C\" look %s --head 1 --numbers", words);
    assert_int_equal(run(script), 0);
    holds(last.out, "key:");
    holds(last.out, "query ");
}

static void look_at_single_stacks(void **state) {
    (void)state;
    check_look("reverse --source '3 1 4' --max-new 2", "self-attention", 5, true);
    check_look("lm --source cats --max-new 3", "self-attention", 7, false);
    check_look("lm --source cats", "self-attention", 4, false);
    check_look("lines --source cats", "self-attention", 5, false);
    check_look("bert --source 'ca<mask>s'", "self-attention", 4, false);
    check_look("brackets --source '( )'", "self-attention", 3, false);
}

/* ---- dump, data, eval, summary, plot ---- */

static void dump_of_texts(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int rows;
    } dumps[] = {
        {"lm --source cats", 3},
        {"lm --source cats --target ' cat' --backward", 7},
        {"lines --source cats", 5}, /* <sos> before, <eos> predicted */
        {"bert --source 'ca<mask>s' --target cats", 4},
    };
    for (size_t i = 0; i < sizeof dumps / sizeof *dumps; i++) {
        char script[256];
        int rows = 0;
        snprintf(script, sizeof script, "\"$C\" dump \"$D\"/%s", dumps[i].words);
        assert_int_equal(run(script), 0);
        const char *logits = strstr(last.out, "\nlogits ");
        assert_int_equal(sscanf(logits ? logits : "", " logits (%d", &rows), 1);
        assert_int_equal(rows, dumps[i].rows);
    }
    /* with a target its own tokens alone are predicted: the loss of " " is that of the last of "cats " */
    assert_int_equal(run("\"$C\" dump \"$D/lm\" --source cats --target ' ' --show loss --json"), 0);
    json_t *object = parse_output();
    double loss = json_number_value(json_array_get(json_object_get(object, "values"), 0));
    json_decref(object);
    double sum[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(i ? "\"$C\" dump \"$D/lm\" --source 'cats ' --show loss --json"
                               : "\"$C\" dump \"$D/lm\" --source cats --show loss --json"),
                         0);
        object = parse_output();
        sum[i] = (3 + i) * json_number_value(json_array_get(json_object_get(object, "values"), 0));
        json_decref(object);
    }
    assert_true(fabs(sum[1] - sum[0] - loss) < 1e-5 * 8);
}

static void data_of_texts(void **state) {
    (void)state;
    assert_int_equal(run("cd \"$D\" && \"$C\" data --text text --max-positions 12 --show 3"), 0);
    holds(last.out, "text ");
    holds(last.out, "\ntarget (3, 13)\n");
    holds(last.out, "\ndecoder input (3, 12) ");
    lacks(last.out, "source");
    assert_int_equal(run("cd \"$D\" && \"$C\" data --text text --max-positions 40 --framing lines --show 3"), 0);
    holds(last.out, "text <sos>line ");
    holds(last.out, " cats<eos>\n");
    assert_int_equal(run("cd \"$D\" && \"$C\" data --text text --max-positions 12 --arch encoder-only --show 3"), 0);
    holds(last.out, "reads ");
    holds(last.out, "<mask>");
    holds(last.out, "   hidden ");
    holds(last.out, "\nsource (3, 12)\n");
    holds(last.out, " -1");
    assert_int_equal(run("cd \"$D\" && \"$C\" data --text text --tokens bytes --max-positions 12 --show 3 --json"), 0);
    json_t *object = parse_output();
    const json_t *target = json_array_get(json_object_get(object, "target"), 2);
    assert_int_equal(json_array_size(target), 13);
    for (size_t t = 0; t < 12; t++) {
        json_int_t read =
            json_integer_value(json_array_get(json_array_get(json_object_get(object, "decoder_input"), 2), t));
        json_int_t next = json_integer_value(json_array_get(json_array_get(json_object_get(object, "label"), 2), t));
        assert_int_equal(read, json_integer_value(json_array_get(target, t)));
        assert_int_equal(next, json_integer_value(json_array_get(target, t + 1)));
    }
    json_decref(object);
}

static void measures_and_pictures(void **state) {
    (void)state;
    assert_int_equal(run("cd \"$D\" && \"$C\" eval lm"), 0);
    holds(last.out, "bits per character ");
    assert_int_equal(run("cd \"$D\" && \"$C\" eval bert --text text --json"), 0);
    json_t *object = parse_output();
    assert_true(json_is_null(json_object_get(object, "bits_per_character")));
    json_decref(object);
    assert_int_equal(run("cd \"$D\" && \"$C\" eval brackets --examples 20"), 0);
    holds(last.out, "/20");
    static const char *const scripts[] = {
        "summary lm",
        "summary bert",
        "summary brackets",
        "summary --text text --arch encoder-only --max-positions 16",
        "plot weights lm",
        "plot weights bert",
        "plot training lm bert brackets --out t.svg",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        char script[256];
        snprintf(script, sizeof script, "cd \"$D\" && \"$C\" %s", scripts[i]);
        if (run(script)) fail_msg("%s: %s", script, last.err);
    }
}

/* ---- check ---- */

static void check_of_texts(void **state) {
    (void)state;
    static const char *const ways[] = {"--arch decoder-only", "--arch encoder-only",
                                       "--arch decoder-only --framing lines --max-positions 24"};
    for (size_t i = 0; i < 3; i++) {
        char script[256];
        snprintf(script, sizeof script, "cd \"$D\" && \"$C\" check --text text --max-positions 16 --steps 150 %s",
                 ways[i]);
        if (run(script)) fail_msg("%s: %s%s", script, last.out, last.err);
        holds(last.out, "6 of 6 stages passed");
        holds(last.out, ", text, fresh weights");
        holds(last.out, i == 2 ? "64 lines stand in the text" : "64 windows stand in the text");
        holds(last.out, i == 1 ? "of their tokens are asked for" : "every token but the first is predicted");
        holds(last.out, i == 1 ? "there is no future to hide" : "decoder tokens changed");
        holds(last.out, "what guesses without knowledge pay");
    }
    holds(last.out, "of the loss is what no model can know");
    static const char *const models[] = {"lm", "lines", "bert"};
    for (size_t i = 0; i < 3; i++) {
        char script[256];
        snprintf(script, sizeof script, "cd \"$D\" && \"$C\" check data shapes initial-loss masking --model %s",
                 models[i]);
        if (run(script)) fail_msg("%s: %s%s", script, last.out, last.err);
        holds(last.out, "4 of 4 stages passed");
    }
    assert_int_equal(run("cd \"$D\" && \"$C\" check data shapes masking generalisation --model brackets"), 1);
    holds(last.out, "FAIL  generalisation  exact ");
}

static double number_behind(const char *text, const char *words) {
    const char *at = strstr(text, words);
    if (!at) fail_msg("expected '%s' in '%s'", words, text);
    return atof(at + strlen(words));
}

/* Of "ab" and "ac" nobody knows which it is when the second token is asked for; three are asked for in each. */
static void like_beginnings_are_allowed_for(void **state) {
    (void)state;
    assert_int_equal(run("cd \"$D\" && yes \"$(printf 'ab\\nac')\" | head -n 400 >twins && \"$C\" data --text twins "
                         "--framing lines --show 8 --json"),
                     0);
    json_t *object = parse_output();
    double b = 0;
    for (size_t i = 0; i < 8; i++)
        b += json_integer_value(json_array_get(json_array_get(json_object_get(object, "target"), i), 2)) == 1;
    json_decref(object);
    assert_true(b > 0 && b < 8);
    double share = b / 8, open = -(share * log(share) + (1 - share) * log(1 - share)) / 3;
    assert_int_equal(run("cd \"$D\" && \"$C\" check overfit --text twins --framing lines --arch decoder-only"), 0);
    assert_true(fabs(number_behind(last.out, "expected below ") - open - 0.01) <= 5e-5 + 1e-9); /* four digits */
}

/* A model that learned nothing is no better than the frequencies of tokens, and those are as the file has them. */
static void frequencies_are_the_files(void **state) {
    (void)state;
    double count[256] = {0}, symbols = 0, loss = 0;
    assert_int_equal(run("cd \"$D\" && \"$C\" check generalisation --text text --arch decoder-only --max-positions 16 "
                         "--steps 1 --lr 1e-9"),
                     1);
    holds(last.out, "it makes nothing of what it reads");
    size_t size;
    char *text = slurp("text", &size);
    size_t split = (size_t)((1 - 0.1) * (double)size); /* characters are bytes here */
    for (size_t i = 0; i < size; i++) symbols += strchr(text + i + 1, text[i]) == NULL;
    for (size_t i = 0; i < split; i++) count[(unsigned char)text[i]]++;
    for (size_t i = split + 1; i < size; i++)
        loss -= log((count[(unsigned char)text[i]] + 1) / ((double)split + symbols)) / (double)(size - split - 1);
    free(text);
    assert_true(fabs(number_behind(last.out, "predictions, expected at most ") - loss) <= 5e-5 + 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_do_not_do),
        cmocka_unit_test(models_that_do_not_fit),
        cmocka_unit_test(variants_that_this_build_lacks),
        cmocka_unit_test(predict_tells_classes),
        cmocka_unit_test(predict_fills_in),
        cmocka_unit_test(predict_converses),
        cmocka_unit_test(look_at_single_stacks),
        cmocka_unit_test(dump_of_texts),
        cmocka_unit_test(data_of_texts),
        cmocka_unit_test(measures_and_pictures),
        cmocka_unit_test(check_of_texts),
        cmocka_unit_test(like_beginnings_are_allowed_for),
        cmocka_unit_test(frequencies_are_the_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
