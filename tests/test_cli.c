/* The command: exit codes, sentences, streams, conversations, and what each command prints. */
#include "child.h"
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- wrong usage: exit code 2 and a sentence ------------------------------------------------------ */

struct wrong {
    const char *words;
    const char *key[4]; /* what the sentence must hold */
};

static const struct wrong wrongs[] = {
    {"", {"usage: clearhead COMMAND"}},
    {"trian",
     {"unknown command 'trian'", "did you mean 'train'",
      "train, decode, generate, predict, eval, look, check, dump, compare, plot, summary, data, list, help"}},
    {"--jsn", {"unknown command '--jsn'"}},
    {"\"$(printf 'a\\033[2J')\"", {"unknown command 'a?[2J'"}}, /* it does not steer the terminal */
    {"help trian", {"unknown command 'trian'", "'train'"}},
    {"train reverse --out \"$D/x\" --stpes 5", {"unknown option '--stpes'", "--steps", "--d-model", "--resume"}},
    {"train -x", {"unknown option '-x'", "--out"}},
    {"train", {"TASK is missing"}},
    {"train reverse", {"--out is missing"}},
    {"train reverse --out", {"--out needs a value", "DIR"}},
    {"train reverse --out --quiet", {"--out needs a value"}},
    {"train reverse copy --out \"$D/x\"", {"unexpected 'copy'", "'reverse'"}},
    {"train reverse --task copy --out \"$D/x\"", {"given twice", "'reverse'", "'copy'"}},
    {"train revrse --out \"$D/x\"", {"unknown task 'revrse'", "reverse", "copy"}},
    {"train reverse --out \"$D/x\" --json=yes", {"--json takes no value", "'yes'"}},
    {"train reverse --out \"$D/x\" --steps many", {"steps", "'many'"}},
    {"train reverse --out \"$D/x\" --steps=", {"steps", "''"}},
    {"train reverse --out \"$D/x\" --layers 0", {"layers", "'0'"}},
    {"train reverse --out \"$D/x\" --d-ff -3", {"d-ff", "'-3'"}},
    {"train reverse --out \"$D/x\" --d-model 10 --heads 4", {"d-model 10", "heads 4"}},
    {"train reverse --out \"$D/x\" --d-model 9 --heads 3", {"d-model", "even", "9"}},
    {"train reverse --out \"$D/x\" --attention fussed", {"fussed", "fused", "explicit"}},
    {"train reverse --out \"$D/x\" --max-len 64", {"max-len 64", "max-positions"}},
    {"train reverse --out \"$D/x\" --heads 4 --kv-heads 3", {"kv-heads", "divides heads 4", "found 3"}},
    {"train reverse --out \"$D/x\" --kv-heads 8", {"kv-heads", "divides heads 4", "found 8"}},
    {"train reverse --out \"$D/x\" --position rope --d-head 5", {"d-head", "even number, found 5"}},
    {"train reverse --out \"$D/x\" --position rope --d-model 12", {"d-head", "even number, found 3"}},
    {"train reverse --out \"$D/x\" --rope-base 500", {"rope-base", "found sinusoidal"}},
    {"train reverse --out \"$D/x\" --position alibi --rope-scaling ntk", {"rope-scaling", "found alibi"}},
    {"train reverse --out \"$D/x\" --position rope --rope-factor 2", {"rope-factor", "rope-scaling", "found 2"}},
    {"train reverse --out \"$D/x\" --soft-cap 0.00001", {"soft-cap", "at least 0.001", "found 1e-05"}},
    {"train reverse --out \"$D/x\" --bias some", {"unknown bias 'some'", "all, no-attention, no-output, none"}},
    {"check shapes --model \"$M\" --qk-norm", {"--qk-norm and MODEL exclude each other"}},
    {"train reverse --out \"$D/x\" -- --quiet", {"unexpected '--quiet'"}},
    {"train --resume \"$D/x\" --out \"$D/y\"", {"--resume and --out exclude each other"}},
    {"train reverse --resume \"$D/x\"", {"--resume takes no TASK", "'reverse'"}},
    {"decode", {"MODEL is missing", "decode MODEL"}},
    {"decode \"$M\" \"$M\"", {"unexpected", "one MODEL"}},
    {"decode \"$M\" --max-new many", {"--max-new", "whole number", "'many'"}},
    {"decode \"$M\" --batch-size 0", {"--batch-size", "from 1", "'0'"}},
    {"decode \"$M\" --threads x", {"threads", "'x'"}},
    {"decode \"$M\" --heads 3", {"heads", "3"}},
    {"look \"$M\" --source 7 --heads 3", {"lesson_tiny_model.safetensors", "divides its width 32", "found heads 3"}},
    {"eval \"$M\"", {"lesson_tiny_model.safetensors", "--task"}},
    {"eval \"$M\" --task reverse --examples 0", {"--examples", "'0'"}},
    {"look \"$M\"", {"--source is missing"}},
    {"look \"$M\" --source ''", {"--source is empty"}},
    {"look \"$M\" --source '7 x'", {"--source: word 2, 'x'", "0 to 9"}},
    {"look \"$M\" --source '7 12'", {"--source: word 2, '12'", "0 to 9"}},
    {"look \"$M\" --source '0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0'",
     {"--source: expected 1 to 24 tokens, found 25"}},
    {"look \"$M\" --source 7 --layer 2", {"--layer", "takes 0 and nothing else", "'2'"}},
    {"look \"$M\" --source 7 --head 2", {"--head", "from 0 to 1", "'2'"}},
    {"look \"$M\" --source 7 --colour red", {"--colour", "auto, always or never", "'red'"}},
    {"summary --d-model 10 --heads 4", {"d-model 10", "heads 4"}},
    {"summary \"$M\" --d-model 64", {"--d-model and MODEL exclude each other"}},
    {"data", {"TASK is missing"}},
    {"data reverse --text x", {"TASK and --text exclude each other"}},
    {"train reverse --text x --out \"$D/x\"", {"a task ('reverse') and a text ('x')", "one of them"}},
    {"train brackets --out \"$D/x\"", {"task brackets asks for a class", "--arch encoder-only"}},
    {"train brackets --arch decoder-only --out \"$D/x\"", {"task brackets asks for a class", "arch decoder-only"}},
    {"train reverse --arch encoder-only --out \"$D/x\"", {"task reverse asks for a sequence", "arch encoder-only"}},
    {"train --text x --out \"$D/x\"", {"text x has no sources with targets", "take --arch decoder-only"}},
    {"check --text x --preset modern", {"text x has no sources with targets", "arch encoder-decoder"}},
    {"train reverse --arch decoder-only --tie source-target --out \"$D/x\"", {"tie source-target", "one embedding"}},
    {"train --text x --arch decoder-only --tie source-target --out \"$D/x\"", {"tie source-target", "with text x"}},
    {"train brackets --arch encoder-only --symbols 9 --out \"$D/x\"", {"symbols", "even number", "found 9"}},
    {"train reverse --arch decoder-only --max-len 40 --out \"$D/x\"",
     {"max-len 40 needs 81 positions", "max-positions is 64"}},
    {"train --text x --arch decoder-only --tokens numbers --out \"$D/x\"", {"unknown tokens 'numbers'", "bytes"}},
    {"train --text x --arch decoder-only --framing words --out \"$D/x\"", {"unknown framing 'words'", "lines"}},
    {"train --text x --arch decoder-only --held-out 1 --out \"$D/x\"", {"held-out", "below 1, found '1'"}},
    {"predict", {"MODEL is missing", "predict MODEL"}},
    {"predict \"$M\" --top 0", {"--top", "from 1", "'0'"}},
    {"data reverse --show none", {"--show", "'none'"}},
    {"data reverse --min-len 9 --max-len 5", {"min-len 9", "max-len 5"}},
    {"list all", {"unexpected 'all'"}},
};

static void test_wrong_usage(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        char script[512];
        snprintf(script, sizeof script, "\"$C\" %s </dev/null", wrongs[i].words);
        run(script);
        if (last.code != 2) fail_msg("%s: exit code %d\n%s", wrongs[i].words, last.code, last.err);
        assert_string_equal(last.out, "");
        for (size_t k = 0; k < 4 && wrongs[i].key[k]; k++) holds(last.err, wrongs[i].key[k]);
    }
    assert_int_equal(run("ls -A \"$D\""), 0);
    assert_string_equal(last.out, ""); /* nothing was written for any of them */
}

static void test_failures(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" decode \"$D/none\" </dev/null"), 1);
    holds(last.err, "none");
    assert_int_equal(run("\"$C\" train --out \"$D/x\" --recipe \"$D/none.json\""), 1);
    holds(last.err, "none.json");
    assert_int_equal(run("\"$C\" look \"$M\" --source 7 --out \"$D/map.gif\""), 2);
    holds(last.err, ".gif");
    assert_int_equal(run("\"$C\" train reverse --out /dev/null/x --steps 1"), 1);
    holds(last.err, "/dev/null");
}

/* ---- help ----------------------------------------------------------------------------------------- */

static void test_help(void **state) {
    (void)state;
    static const char *const command[] = {"train", "decode",  "generate", "predict", "eval", "look", "check",
                                          "dump",  "compare", "summary",  "data",    "list", "help"};
    assert_int_equal(run("\"$C\" --help"), 0);
    for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
        char script[256], same[65536], example[64];
        holds(last.out, command[i]);
        snprintf(script, sizeof script, "\"$C\" help %s", command[i]);
        assert_int_equal(run(script), 0);
        snprintf(same, sizeof same, "%s", last.out);
        snprintf(example, sizeof example, "clearhead %s", command[i]);
        holds(strstr(same, "Example:") ? strstr(same, "Example:") : "", example);
        holds(same, "--json");
        holds(same, "Exit codes:");
        snprintf(script, sizeof script, "\"$C\" %s whatever --nonsense --help", command[i]);
        assert_int_equal(run(script), 0);
        assert_string_equal(last.out, same);
        run("\"$C\" --help");
    }
    assert_int_equal(run("\"$C\" --version"), 0);
    assert_string_equal(last.out, "clearhead 0.1.0\n");
}

/* The options of recipes reach help, errors and JSON through one table. */
static void test_help_has_every_option(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" help train"), 0);
    static const char *const named[] = {"--d-model N",
                                        "--heads",
                                        "--d-ff",
                                        "--layers",
                                        "--dropout RATE",
                                        "--max-positions",
                                        "--batch-size",
                                        "--steps",
                                        "--lr",
                                        "--warmup",
                                        "--clip",
                                        "--seed",
                                        "--threads",
                                        "--log-every",
                                        "--save-every",
                                        "--log-gradients  ",
                                        "--out DIR",
                                        "--resume DIR",
                                        "--recipe FILE",
                                        "--rng {philox,torch}",
                                        "--attention {fused,explicit}",
                                        "--json",
                                        "--quiet",
                                        "(default 3000)"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) holds(last.out, named[i]);
    assert_int_equal(run("\"$C\" help --json"), 0);
    json_t *help = parse_output();
    assert_int_equal(json_array_size(json_object_get(help, "commands")), 14);
    json_decref(help);
}

static void test_list(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" list"), 0);
    holds(last.out, "task\n  reverse ");
    holds(last.out, "  copy ");
    holds(last.out, "attention\n");
    assert_int_equal(run("\"$C\" list --json"), 0);
    json_t *list = parse_output();
    json_t *tasks = json_object_get(json_object_get(list, "families"), "task");
    assert_string_equal(json_string_value(json_object_get(json_array_get(tasks, 0), "name")), "reverse");
    json_decref(list);
}

/* ---- data and summary ------------------------------------------------------------------------------ */

static void test_data(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" data reverse --show 5"), 0);
    holds(last.out, "   target <sos> ");
    holds(last.out, " <eos>\n");
    holds(last.out, "\nsource (5, ");
    holds(last.out, "\ndecoder input (5, ");
    holds(last.out, "    label (5, ");
    holds(last.out, "\nposition ");
    holds(last.out, "\nlabel to predict ");
    char first[sizeof last.out];
    strcpy(first, last.out);
    assert_int_equal(run("\"$C\" data --seed=0 --show=5 reverse"), 0);
    assert_string_equal(last.out, first);
    assert_int_equal(run("\"$C\" data reverse --seed 1"), 0);
    assert_string_not_equal(last.out, first);
}

static int at(const json_t *tensor, size_t row, size_t column) {
    return (int)json_integer_value(json_array_get(json_array_get(tensor, row), column));
}

/* Reversal, brackets, padding and shift, element by element. */
static void test_data_tensors(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" data reverse --show 40 --min-len 2 --max-len 6 --json"), 0);
    json_t *data = parse_output();
    const json_t *pairs = json_object_get(data, "examples"), *source = json_object_get(data, "source"),
                 *target = json_object_get(data, "target"), *input = json_object_get(data, "decoder_input"),
                 *label = json_object_get(data, "label");
    assert_int_equal(json_array_size(pairs), 40);
    size_t wide = json_array_size(json_array_get(source, 0)), seen[7] = {0};
    assert_int_equal(wide, 6);
    for (size_t i = 0; i < 40; i++) {
        size_t length = json_array_size(json_object_get(json_array_get(pairs, i), "source"));
        assert_in_range(length, 2, 6);
        seen[length]++;
        assert_int_equal(json_array_size(json_array_get(target, i)), wide + 2);
        assert_int_equal(json_array_size(json_array_get(label, i)), wide + 1);
        for (size_t c = 0; c < wide + 2; c++) {
            int expected = c == 0 ? 11 : c <= length ? at(source, i, length - c) : c == length + 1 ? 12 : 10;
            assert_int_equal(at(target, i, c), expected);
            if (c <= wide) assert_int_equal(at(input, i, c), expected);
            if (c > 0) assert_int_equal(at(label, i, c - 1), expected);
            if (c < wide && c >= length) assert_int_equal(at(source, i, c), 10);
        }
    }
    for (size_t length = 2; length <= 6; length++) assert_true(seen[length] > 0);
    json_decref(data);
}

/* A task that asks for a class: brackets to read, a number for each example. */
static void test_data_classes(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" data brackets --symbols 4 --show 20"), 0);
    holds(last.out, "source ( ");
    holds(last.out, " -> balanced\n");
    holds(last.out, " -> not balanced\n");
    holds(last.out, "\nsource (20, ");
    holds(last.out, "\nclass (20)\n");
    lacks(last.out, "label");
    assert_int_equal(run("\"$C\" data brackets --symbols 4 --show 20 --json"), 0);
    json_t *data = parse_output();
    const json_t *pairs = json_object_get(data, "examples"), *class = json_object_get(data, "class");
    assert_int_equal(json_array_size(class), 20);
    for (size_t i = 0; i < 20; i++) {
        const json_t *pair = json_array_get(pairs, i);
        int which = (int)json_integer_value(json_array_get(class, i));
        assert_int_equal(json_integer_value(json_object_get(pair, "class")), which);
        assert_string_equal(json_string_value(json_object_get(pair, "name")), which ? "balanced" : "not balanced");
    }
    json_decref(data);
    assert_int_equal(run("\"$C\" train --task brackets --steps 1 --out \"$D/none\""), 2);
    holds(last.err, "task brackets asks for a class");
}

/* What tells classes is asked for the gradients of one. */
static void test_dump_of_a_classifier(void **state) {
    (void)state;
    assert_int_equal(
        run("\"$C\" train brackets --preset bert --symbols 4 --steps 1 --validation 0 --d-model 8 --d-ff 8 "
            "--out \"$D/classes\" --quiet"),
        0);
    assert_int_equal(run("\"$C\" dump \"$D/classes\" --source \"( ) [ ]\""), 2);
    holds(last.err, "--target is missing: the class of the source, from 0 to 1");
    assert_int_equal(run("\"$C\" dump \"$D/classes\" --source \"( ) [ ]\" --target 2"), 2);
    holds(last.err, "--target takes a whole number from 0 to 1, not '2'");
    assert_int_equal(run("\"$C\" dump \"$D/classes\" --source \"( ) [ ]\" --target 1 --backward"), 0);
    holds(last.out, "grad.classifier.weight ");
    holds(last.out, "\nlogits ");
}

static void test_summary(void **state) {
    (void)state;
    static const char *const numbers[] = {" 235,981\n",         " 1,664\n",   " 16,640\n", " 33,088\n",
                                          " 99,968\n",          " 133,504\n", " 845\n",    "Memory for training",
                                          "Memory for decoding"};
    assert_int_equal(run("\"$C\" summary"), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) holds(last.out, numbers[i]);
    assert_int_equal(run("\"$C\" summary --json"), 0);
    json_t *summary = parse_output();
    assert_int_equal(json_integer_value(json_object_get(summary, "total")), 235981);
    json_int_t counted = 0;
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(summary, "parts"), i, part) {
        if (json_is_true(json_object_get(part, "counted")))
            counted += json_integer_value(json_object_get(part, "parameters"));
    }
    assert_int_equal(counted, 235981);
    json_decref(summary);
    /* The tiny model: D 32, F 64, one layer each, V 13: 832 + 4224 + 4192 + 128 + 2 * 4224 + 4192 + 192 + 429. */
    assert_int_equal(run("\"$C\" summary \"$M\""), 0);
    holds(last.out, " 22,637\n");
}

/* ---- streams ---------------------------------------------------------------------------------------- */

static void test_output_fails(void **state) {
    (void)state;
    static const char *const words[] = {"list",         "--help",        "summary --json",
                                        "data reverse", "decode \"$M\"", "look \"$M\" --source 7"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char script[256];
        snprintf(script, sizeof script, "echo 3 1 4 1 5 | \"$C\" %s >/dev/full", words[i]);
        assert_int_equal(run(script), 1);
        assert_string_equal(last.err, "clearhead: cannot write to standard output: No space left on device\n");
        snprintf(script, sizeof script, "echo 3 1 4 1 5 | \"$C\" %s >&-", words[i]);
        assert_int_equal(run(script), 1);
        holds(last.err, "cannot write to standard output");
    }
    assert_int_equal(run("\"$C\" decode \"$M\" <&-"), 1);
    holds(last.err, "cannot read standard input");
}

/* A reader that goes away ends the command: quietly, and not by a signal. */
static void test_reader_goes_away(void **state) {
    (void)state;
    struct child child = start("exec \"$C\" decode \"$M\"");
    char line[64];
    assert_int_equal(write(child.in, "3 1 4\n", 6), 6);
    read_line(child.out, line, sizeof line);
    assert_string_equal(line, "4 1 3\n");
    close(child.out);
    child.out = open("/dev/null", O_RDONLY);
    assert_int_equal(write(child.in, "3 1 4\n", 6), 6);
    finish(child);
    assert_int_equal(last.code, 1);
    assert_string_equal(last.err, "");
}

/* ---- decode ------------------------------------------------------------------------------------------ */

static void test_decode(void **state) {
    (void)state;
    assert_int_equal(run("printf '3 1 4 1 5\\n7 2 9 0 4 6\\r\\n0 0 1 0' | \"$C\" decode \"$M\""), 0);
    assert_string_equal(last.out, "5 1 4 1 3\n6 4 0 9 2 7\n0 1 0 0\n");
    assert_string_equal(last.err, "");
    assert_int_equal(run("echo 3 1 4 1 5 | \"$C\" decode --no-cache --batch-size=1 -- \"$M\""), 0);
    assert_string_equal(last.out, "5 1 4 1 3\n");
    assert_int_equal(run("\"$C\" decode \"$M\" </dev/null"), 0);
    assert_string_equal(last.out, "");
    assert_int_equal(run("echo 3 1 4 1 5 | \"$C\" decode \"$M\" --json"), 0);
    json_t *answer = parse_output();
    char *tokens = json_dumps(json_object_get(answer, "answer"), JSON_COMPACT);
    assert_string_equal(tokens, "[5,1,4,1,3]");
    assert_true(json_is_true(json_object_get(answer, "ended")));
    free(tokens);
    json_decref(answer);
}

/* What stands before a bad line is answered; the line is named. */
static void test_bad_lines(void **state) {
    (void)state;
    static const struct {
        const char *line, *key[2];
    } bad[] = {
        {"\\n", {"line 2 is empty"}},
        {"  \\n", {"line 2 is empty"}},
        {"3 x 4\\n", {"line 2: word 2, 'x'"}},
        {"3 10\\n", {"line 2: word 2, '10'"}},
        {"<eos>\\n", {"line 2: word 1, '<eos>'"}},
        {"3 -1\\n", {"line 2: word 2, '-1'"}},
        {"3 \\0001\\n", {"line 2 holds a zero byte"}},
        {"3 \\033[2J\\n", {"line 2: word 2, '?[2J'"}},
        {"1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\\n", {"line 2 has 25 tokens", "24 positions"}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char script[512];
        snprintf(script, sizeof script, "printf '3 1 4 1 5\\n%s7 7 8\\n' | \"$C\" decode \"$M\"", bad[i].line);
        assert_int_equal(run(script), 1);
        assert_string_equal(last.out, "5 1 4 1 3\n");
        for (size_t k = 0; k < 2 && bad[i].key[k]; k++) holds(last.err, bad[i].key[k]);
    }
}

static void test_answer_cut_off(void **state) {
    (void)state;
    assert_int_equal(run("printf '3 1 4 1 5\\n' | \"$C\" decode --max-new=1 \"$M\" --max-new 3"), 0);
    assert_string_equal(last.out, "5 1 4\n");
    holds(last.err, "line 1");
    holds(last.err, "--max-new");
}

/* Two pipes: each answer is there before the next line is written, whatever stands half written behind it. */
static void test_conversation(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } turn[] = {
        {"3 1 4 1 5\n7 2", "5 1 4 1 3\n"},
        {" 9 0 4 6\n", "6 4 0 9 2 7\n"},
        {"0 0 1 0\n", "0 1 0 0\n"},
    };
    struct child child = start("exec \"$C\" decode \"$M\"");
    for (size_t i = 0; i < 3; i++) {
        char line[64];
        size_t length = strlen(turn[i].in);
        assert_int_equal(write(child.in, turn[i].in, length), length);
        read_line(child.out, line, sizeof line);
        assert_string_equal(line, turn[i].out);
    }
    finish(child);
    assert_int_equal(last.code, 0);
    assert_string_equal(last.out, "");
}

static void test_many_lines(void **state) {
    (void)state;
    assert_int_equal(run("cd \"$D\" && i=0; while [ $i -lt 1000 ]; do echo 9 8 7 6 5 4 3 2; echo 3 1 4 1 5; "
                         "i=$((i+1)); done > many && \"$C\" decode \"$M\" < many > answers && "
                         "sort answers | uniq -c | tr -s ' ' && sed -n '1999p;2000p' answers; rm many answers"),
                     0);
    assert_string_equal(last.out, " 1000 2 3 4 5 6 7 8 9\n 1000 5 1 4 1 3\n2 3 4 5 6 7 8 9\n5 1 4 1 3\n");
    /* A line of a million bytes that is answered: mostly blanks. */
    assert_int_equal(run("{ printf '3 1 %1000000s4 1 5\\n' ''; echo 7 2 9 0 4 6; } | \"$C\" decode \"$M\""), 0);
    assert_string_equal(last.out, "5 1 4 1 3\n6 4 0 9 2 7\n");
}

/* ---- eval and look ------------------------------------------------------------------------------------ */

static void test_eval(void **state) {
    (void)state;
    double loss, accuracy;
    int exact, total, end = 0;
    assert_int_equal(run("\"$C\" eval \"$M\" --task reverse --examples 50"), 0);
    assert_int_equal(
        sscanf(last.out, "loss %lf\ntoken accuracy %lf %%\nexact %d/%d\n%n", &loss, &accuracy, &exact, &total, &end),
        4);
    assert_int_equal(last.out[end], '\0');
    assert_int_equal(total, 50);
    assert_int_equal(run("\"$C\" eval \"$M\" --task copy --examples 50 --json"), 0);
    json_t *copy = parse_output();
    assert_int_equal(json_integer_value(json_object_get(copy, "total")), 50);
    assert_true(json_integer_value(json_object_get(copy, "exact")) < exact); /* it has learned to reverse */
    assert_true(json_real_value(json_object_get(copy, "loss")) > loss);
    json_decref(copy);
}

static void test_look(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" look \"$M\" --source '7 2 9 0 4 6' --out \"$D/map.png\""), 0);
    assert_true(strncmp(last.out, "source      7 2 9 0 4 6\nprediction  6 4 0 9 2 7\n", 48) == 0);
    holds(last.out, "\nlayer 0, head 1: ");
    holds(last.out, "\nalignment: reversing: layer 0, head ");
    lacks(last.out, "\033");
    holds(last.err, "map.png");
    size_t size;
    char *picture = slurp("map.png", &size);
    assert_memory_equal(picture, "\211PNG", 4);
    free(picture);
    assert_int_equal(run("rm \"$D/map.png\"; \"$C\" look \"$M\" --source '7 2 9 0 4 6' --numbers --head 0"), 0);
    holds(last.out, "src:  7");
    holds(last.out, "\ngenerated 6 ");
    holds(last.out, "\nlayer 0, head 0: reversing (anti-diagonal 0.");
    lacks(last.out, "alignment:");
    assert_int_equal(run("\"$C\" look \"$M\" --source '7 2 9' --colour always"), 0);
    holds(last.out, "\033[");
}

/* The maps are those of PyTorch, to 1e-5. */
static void test_look_equals_pytorch(void **state) {
    (void)state;
    json_error_t error;
    json_t *golden = json_load_file(CH_TEST_DATA "/lesson_tiny_model.json", 0, &error);
    assert_non_null(golden);
    json_t *expected = json_object_get(golden, "first_case_last_layer_map");
    assert_int_equal(run("\"$C\" look \"$M\" --source '3 1 4 1 5' --json"), 0);
    json_t *seen = parse_output(), *maps = json_object_get(seen, "maps");
    assert_int_equal(json_array_size(maps), json_array_size(expected));
    for (size_t h = 0; h < json_array_size(expected); h++) {
        json_t *a = json_array_get(expected, h), *b = json_object_get(json_array_get(maps, h), "weights");
        assert_int_equal(json_array_size(a), json_array_size(b));
        for (size_t r = 0; r < json_array_size(a); r++)
            for (size_t c = 0; c < 5; c++) {
                double x = json_number_value(json_array_get(json_array_get(a, r), c));
                double y = json_number_value(json_array_get(json_array_get(b, r), c));
                assert_true(x - y <= 1e-5 && y - x <= 1e-5);
            }
    }
    json_decref(golden);
    json_decref(seen);
}

static void test_terminal(void **state) {
    (void)state;
    assert_int_equal(run_on_terminal("TERM=xterm-256color \"$C\" look \"$M\" --source '7 2 9'"), 0);
    holds(last.out, "\033[");
    assert_int_equal(run_on_terminal("NO_COLOR=1 TERM=xterm-256color \"$C\" look \"$M\" --source '7 2 9'"), 0);
    lacks(last.out, "\033");
    assert_int_equal(run_on_terminal("TERM=dumb \"$C\" look \"$M\" --source '7 2 9'"), 0);
    lacks(last.out, "\033");
}

/* ---- all of them ---- */

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
        cmocka_unit_test(test_wrong_usage),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_help_has_every_option),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_data_classes),
        cmocka_unit_test(test_data_tensors),
        cmocka_unit_test(test_dump_of_a_classifier),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_output_fails),
        cmocka_unit_test(test_reader_goes_away),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_answer_cut_off),
        cmocka_unit_test(test_conversation),
        cmocka_unit_test(test_many_lines),
        cmocka_unit_test(test_eval),
        cmocka_unit_test(test_look),
        cmocka_unit_test(test_look_equals_pytorch),
        cmocka_unit_test(test_terminal),
    };
    return cmocka_run_group_tests_name("command", tests, set_up, tear_down);
}
