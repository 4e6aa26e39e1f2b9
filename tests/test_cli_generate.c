/* generate: what comes on which stream, prompts, endings, refusals. The models are fresh: what they write is theirs. */
#include "child.h"
#include "models.h"

#include "base/utf8.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "lm": characters; "learned": its positions are; "lines": the same with <sos> and <eos>; "bytes"; "window": has one.
 */
static void save(const char *name, ch_model *model) {
    char path[1024];
    ch_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    check_ok(ch_model_save(model, path, &error), &error);
    ch_model_free(model);
}

static int set_up(void **state) {
    (void)state;
    static const char alphabet[] = "abcdefghij \n\xC3\xA9";
    if (child_set_up(CH_COMMAND, CH_TEST_DATA)) return 1;
    save("lm", text_model("position=rope", alphabet, 0));
    save("lines", text_model("", alphabet, VOCAB_SOS | VOCAB_EOS));
    save("bytes", text_model("", NULL, 0));
    save("learned", text_model("position=learned", alphabet, 0));
    save("window", text_model("position=alibi window=5", alphabet, 0));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return child_tear_down();
}

static void wrong_usage(void **state) {
    (void)state;
    static const struct {
        const char *words, *says;
        int code;
    } wrongs[] = {
        {"", "MODEL is missing", 2},
        {"\"$D/none\"", "none", 1},
        {"\"$M\" --prompt 3", "this model is encoder-decoder: expected a decoder-only one", 1},
        {"\"$D/lm\"", "the prompt is empty: expected at least one token", 2},
        {"\"$D/lm\" --prompt xyz", "the prompt: character 1, 'x' (U+0078), is not among the 13 characters", 2},
        {"\"$D/lines\" --prompt abcabcabcabcabcabcabcabc", "25 tokens, <sos> included: expected at most 24", 2},
        {"\"$D/lm\" --context 3 --prompt abcd", "the prompt has 4 tokens: expected at most 3, the context", 2},
        {"\"$D/learned\" --prompt abcabcabcabcabcabcabcabca",
         "the prompt has 25 tokens: expected at most 24, the model's positions", 2},
        {"\"$D/lines\" --context 25", "context: expected 1 to 24", 2},
        {"\"$D/window\" --context 5 --prompt a", "window of 5 tokens needs none", 2},
        {"\"$D/lm\" --prompt a --temperature -1", "temperature: expected a number from 0", 2},
        {"\"$D/lm\" --prompt a --temperature nan", "temperature: expected a number from 0", 2},
        {"\"$D/lm\" --prompt a --temperature warm", "--temperature takes a number, not 'warm'", 2},
        {"\"$D/lm\" --prompt a --top-p 0", "top-p: expected a share above 0", 2},
        {"\"$D/lm\" --prompt a --top-p 1.1", "top-p: expected a share above 0, up to 1, found 1.1", 2},
        {"\"$D/lm\" --prompt a --min-p 2", "min-p: expected a share from 0 to 1, found 2", 2},
        {"\"$D/lm\" --prompt a --top-k -1", "--top-k takes a whole number from 0", 2},
        {"\"$D/lm\" --prompt a --repetition-penalty 0", "repetition-penalty: expected a number above 0", 2},
        {"\"$D/lm\" --prompt a --repetition-window x", "--repetition-window takes a whole number", 2},
        {"\"$D/lm\" --prompt a --tokens -1", "--tokens takes a whole number from 0", 2},
        {"\"$D/lm\" --prompt a --seed x", "--seed takes a whole number from 0", 2},
        {"\"$D/lm\" --prompt a --stop b --stop ''", "stop: expected a text, found an empty one at place 2", 2},
        {"\"$D/lm\" --prompt a --attention fussed", "unknown attention 'fussed'", 2},
        {"\"$D/lm\" --prompt a --prompt-file b", "--prompt and --prompt-file exclude each other", 2},
        {"\"$D/lm\" --prompt-file \"$D/nothing\"", "cannot open", 1},
        {"\"$D/lm\" --prompt-file \"$D\"", "cannot read", 1},
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        char script[512];
        snprintf(script, sizeof script, "\"$C\" generate %s", wrongs[i].words);
        if (run(script) != wrongs[i].code) fail_msg("%s: code %d, '%s'", script, last.code, last.err);
        holds(last.err, wrongs[i].says);
        assert_string_equal(last.out, "");
    }
    assert_int_equal(run("printf 'axb' | \"$C\" generate \"$D/lm\" --prompt-file -"), 1);
    holds(last.err, "the prompt: character 2, 'x'");
}

static void same_seed_same_text(void **state) {
    (void)state;
    char text[sizeof last.out];
    assert_int_equal(run("\"$C\" generate \"$D/lm\" --prompt 'abc d' --seed 3"), 0);
    holds(last.err, "there may be more (see --tokens): 200 tokens, ");
    snprintf(text, sizeof text, "%s", last.out);
    size_t characters = 0, bytes;
    for (const char *at = text; *at; at += bytes, characters++) {
        uint32_t point;
        bytes = utf8_decode(at, strlen(at), &point);
        assert_true(bytes > 0);
    }
    assert_true(characters == 200 || characters == 201); /* a newline behind the last, if there is none */
    static const char *const same[] = {"--no-cache", "--attention explicit", "--temperature 0.8 --tokens=200",
                                       "--context 24", "--stop zz"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char script[256];
        snprintf(script, sizeof script, "printf 'abc d' | \"$C\" generate \"$D/lm\" --prompt-file - --seed 3 %s",
                 same[i]);
        assert_int_equal(run(script), 0);
        assert_string_equal(last.out, text);
    }
    assert_int_equal(run("\"$C\" generate \"$D/lm\" --prompt 'abc d' --seed 4"), 0);
    assert_string_not_equal(last.out, text);
}

static void one_object_as_json(void **state) {
    (void)state;
    char text[sizeof last.out];
    assert_int_equal(run("\"$C\" generate \"$D/lines\" --tokens 30 --top-k 1"), 0);
    snprintf(text, sizeof text, "%s", last.out);
    assert_int_equal(run("\"$C\" generate \"$D/lines\" --tokens 30 --temperature 0 --json"), 0);
    json_t *object = parse_output();
    const char *its = json_string_value(json_object_get(object, "text"));
    assert_string_equal(json_string_value(json_object_get(object, "prompt")), "");
    assert_memory_equal(text, its, strlen(its));
    assert_true(json_array_size(json_object_get(object, "tokens")) <= 30);
    assert_non_null(json_object_get(object, "ended"));
    json_decref(object);
    /* bytes that are no text: each that begins no character becomes U+FFFD, and the tokens say which it was */
    assert_int_equal(run("\"$C\" generate \"$D/bytes\" --prompt \"$(printf 'a\\303')\" --tokens 300 --json"), 0);
    object = parse_output();
    assert_string_equal(json_string_value(json_object_get(object, "prompt")), "a\xEF\xBF\xBD");
    assert_non_null(strstr(json_string_value(json_object_get(object, "text")), "\xEF\xBF\xBD"));
    assert_int_equal(json_array_size(json_object_get(object, "tokens")), 300);
    assert_string_equal(json_string_value(json_object_get(object, "ended")), "tokens");
    json_decref(object);
}

/* The first of several stop strings ends it, and is not written. */
static void stop_strings_end_it(void **state) {
    (void)state;
    char text[512], script[512];
    assert_int_equal(run("\"$C\" generate \"$D/lm\" --prompt a --temperature 1 --seed 5 --json"), 0);
    json_t *object = parse_output();
    snprintf(text, sizeof text, "%s", json_string_value(json_object_get(object, "text")));
    json_decref(object);
    const char *b = strchr(text, 'b'), *c = strchr(text, 'c'), *stop = b < c ? b : c;
    snprintf(script, sizeof script, "\"$C\" generate \"$D/lm\" --prompt a --temperature 1 --seed 5 --stop %s --json",
             b < c ? "b --stop c" : "c --stop b");
    assert_true(b && c);
    assert_int_equal(run(script), 0);
    holds(last.err, "a stop string came");
    object = parse_output();
    assert_string_equal(json_string_value(json_object_get(object, "ended")), "stop");
    assert_int_equal(json_string_length(json_object_get(object, "text")), stop - text);
    json_decref(object);
}

/* It writes as it goes, for as long as it is let; a signal ends it with what there is. */
static void signals_end_it(void **state) {
    (void)state;
    char first[256];
    struct child child = start("exec \"$C\" generate \"$D/window\" --prompt 'ab' --tokens 0 --temperature 1");
    read_line(child.out, first, sizeof first);
    assert_true(strlen(first) > 0);
    kill(child.pid, SIGINT);
    finish(child);
    assert_int_equal(last.code, 130);
    holds(last.err, "stopped: ");
    size_t length = strlen(last.out);
    assert_true(length == 0 || last.out[length - 1] == '\n');
    child = start("exec \"$C\" generate \"$D/window\" --prompt 'ab' --tokens 0 | head -c 5");
    finish(child);
    assert_int_equal(strlen(last.out), 5); /* nobody reads on: it ends, too */
}

/* On a terminal bytes that would steer it are question marks. */
static void a_terminal_is_not_steered(void **state) {
    (void)state;
    assert_int_equal(
        run("\"$C\" generate \"$D/bytes\" --prompt a --tokens 1000 --temperature 1 2>/dev/null | tr -dc '\\033'"), 0);
    assert_true(strlen(last.out) > 0);
    run_on_terminal("\"$C\" generate \"$D/bytes\" --prompt a --tokens 1000 --temperature 1 2>/dev/null");
    holds(last.out, "?");
    for (const char *c = last.out; *c; c++)
        assert_true((unsigned char)*c >= ' ' || *c == '\n' || *c == '\r' || *c == '\t');
}

static void numbers_of_a_task(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train reverse --arch decoder-only --d-model 16 --heads 2 --d-ff 16 --layers 1 "
                         "--steps 1 --quiet --out \"$D/task\""),
                     0);
    assert_int_equal(run("echo 3 1 4 | \"$C\" decode \"$D/task\" --max-new 9"), 0);
    char answer[sizeof last.out];
    snprintf(answer, sizeof answer, "%s", last.out);
    assert_int_equal(run("\"$C\" generate \"$D/task\" --prompt '3 1 4' --temperature 0 --tokens 9"), 0);
    assert_string_equal(last.out, answer);
    assert_int_equal(run("\"$C\" generate \"$D/task\" --prompt '3 1 x'"), 2);
    holds(last.err, "the prompt: word 3, 'x'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_usage),        cmocka_unit_test(same_seed_same_text),
        cmocka_unit_test(one_object_as_json), cmocka_unit_test(stop_strings_end_it),
        cmocka_unit_test(signals_end_it),     cmocka_unit_test(a_terminal_is_not_steered),
        cmocka_unit_test(numbers_of_a_task),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
