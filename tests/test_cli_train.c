/* clearhead train: its log, its options, signals, and a run that is stopped and goes on. */
#include "child.h"
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TINY "reverse --d-model 8 --heads 2 --d-ff 16 --layers 1 --batch-size 4 --warmup 5"

static void test_train(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train " TINY " --steps 20 --log-every 10 --out \"$D/a\""), 0);
    const char *line = last.out;
    for (int expected = 1; expected <= 20; expected += expected == 1 ? 9 : 10) {
        int step;
        double loss, norm, lr;
        char shape[128];
        assert_int_equal(sscanf(line, "step %d loss %lf grad_norm %lf lr %lf\n", &step, &loss, &norm, &lr), 4);
        assert_int_equal(step, expected);
        snprintf(shape, sizeof shape, "step %5d  loss %.4f  grad_norm %.2f  lr %.2e\n", step, loss, norm, lr);
        assert_memory_equal(line, shape, strlen(shape));
        line += strlen(shape);
    }
    assert_string_equal(line, "");
    holds(last.out, "lr 4.00e-04\n"); /* after step 1 of 5 of warmup: 1e-3 * 2 / 5 */
    holds(last.out, "lr 1.00e-03\n");
    holds(last.err, "parameters");
    holds(last.err, "/a/model.safetensors");
    lacks(last.err, "\033");
    assert_int_equal(run("\"$C\" train " TINY " --steps 20 --quiet --out \"$D/b\""), 0);
    assert_string_equal(last.out, "");
    assert_string_equal(last.err, "");
    assert_same_file("a/model.safetensors", "b/model.safetensors");
    assert_int_equal(run("echo 3 1 | \"$C\" decode \"$D/a\" >/dev/null 2>&1 && \"$C\" eval \"$D/a\" --examples 5"), 0);
    assert_int_equal(run("\"$C\" train " TINY " --steps 20 --out \"$D/a\""), 1);
    holds(last.err, "/a");
    run("rm -r \"$D/a\" \"$D/b\"");
}

/* A model's vocabulary is its own: eval and check draw examples from as many symbols. */
static void test_symbols(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train " TINY " --symbols 20 --steps 2 --quiet --out \"$D/a\""), 0);
    assert_int_equal(run("\"$C\" eval \"$D/a\" --examples 5 && \"$C\" check --model \"$D/a\" data shapes"), 0);
    assert_int_equal(run("echo 19 3 | \"$C\" decode \"$D/a\""), 0);
    assert_int_equal(run("echo 20 3 | \"$C\" decode \"$D/a\""), 1);
    holds(last.err, "expected numbers from 0 to 19");
    assert_int_equal(run("\"$C\" check --model \"$D/a\" --symbols 10 shapes"), 2);
    holds(last.err, "--symbols and MODEL exclude each other");
    run("rm -r \"$D/a\"");
}

/* Two bands that every run is inside of or outside of, and one whose step only it has validated. */
#define BANDS                                                                                                          \
    "printf '{\"steps\": 6, \"save-every\": 2, \"lr\": 0.001, \"d-model\": 8, \"heads\": 2, \"bands\": ["              \
    "{\"step\": 2, \"low\": 0, \"high\": 0.5}, {\"step\": 3, \"low\": 0, \"high\": 0}, "                               \
    "{\"step\": 4, \"low\": 0, \"high\": 99}, {\"step\": 6, \"low\": 98, \"high\": 99}]}' >\"$D/r.json\" && "

/* At each step the word of its line of JSON, "-" for none. */
static void band_words(char *words) {
    *words = '\0';
    for (const char *line = last.out, *end; (end = strchr(line, '\n')); line = end + 1) {
        json_t *step = json_loadb(line, (size_t)(end - line), 0, NULL), *band = json_object_get(step, "band");
        if (json_object_get(step, "result"))
            strcat(words, "end");
        else
            snprintf(words + strlen(words), 32, "%d %s, ", (int)json_integer_value(json_object_get(step, "step")),
                     json_is_string(band) ? json_string_value(band) : "-");
        json_decref(step);
    }
}

static void test_bands(void **state) {
    (void)state;
    char words[512];
    assert_int_equal(run(BANDS "\"$C\" train --recipe \"$D/r.json\" --json --out \"$D/a\""), 0);
    band_words(words);
    assert_string_equal(words, "1 -, 2 above, 3 above, 4 inside, 6 below, end");
    holds(last.err, "step 2: the validation loss ");
    holds(last.err, " is above the recipe's band, 0 to 0.5: this run learns too slowly or not at all\n");
    holds(last.err, "step 3");
    lacks(last.err, "step 4");
    holds(last.err, "step 6: the validation loss ");
    holds(last.err, " is below the recipe's band, 98 to 99: better than any healthy run; check that held-out text");
    assert_int_equal(run("grep -c '\"low\"' \"$D/a/recipe.json\""), 0);
    assert_string_equal(last.out, "4\n");
    assert_int_equal(run("\"$C\" train --recipe \"$D/r.json\" --seed 5 --threads 1 --quiet --out \"$D/b\""), 0);
    assert_string_equal(last.err, "");
    assert_int_equal(run("\"$C\" train --recipe \"$D/r.json\" --lr 0.01 --out \"$D/c\""), 0);
    holds(last.err,
          "the recipe's bands of validation loss are left out: they were measured with another value of lr\n");
    lacks(last.err, "above");
    assert_int_equal(run("grep bands \"$D/c/recipe.json\""), 1);
    assert_int_equal(run("\"$C\" train --resume \"$D/a\" --steps 8"), 0);
    holds(last.err, "measured with another value of steps\n");
    run("rm -r \"$D/a\" \"$D/b\" \"$D/c\" \"$D/r.json\"");
}

/* A recipe of the repository whose own rate is spoilt, made small, on a text of its own: 26 letters in turn. */
#define SPOILT(file)                                                                                                   \
    "sed -E -e '/bands_text/d' -e 's/\"(lr|min-lr)\": [0-9.]+/\"\\1\": 1e-9/' -e 's/\"(d-model|d-ff)\": "              \
    "[0-9]+/\"\\1\": 8/' "                                                                                             \
    "-e 's/\"(layers|batch-size)\": [0-9]+/\"\\1\": 1/' '" CH_SOURCE "/recipes/" file "' >\"$D/r.json\" && "           \
    "for i in $(seq 60); do printf abcdefghijklmnopqrstuvwxyz; done >\"$D/text\" && "                                  \
    "\"$C\" train --recipe \"$D/r.json\" --text \"$D/text\" --out \"$D/a\" && rm -r \"$D/a\" \"$D/r.json\" "           \
    "\"$D/text\""

static void test_spoilt_recipes(void **state) {
    (void)state;
    static const char *const commands[] = {SPOILT("tinyshakespeare.json"), SPOILT("tinyshakespeare-modern.json")};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        assert_int_equal(run(commands[i]), 0);
        lacks(last.err, "left out");
        holds(last.err, "step 250: the validation loss 3.2"); /* ln 26 = 3.26 */
        holds(last.err, "is above the recipe's band");
        holds(last.err, "step 2000: the validation loss 3.2");
    }
}

/* Bands are of the text that they were measured on. */
static void test_bands_of_another_text(void **state) {
    (void)state;
    assert_int_equal(run("for i in $(seq 60); do printf abcdefghijklmnopqrstuvwxyz; done >\"$D/text\" && "
                         "sed -E 's/\"(d-model|d-ff|layers)\": [0-9]+/\"\\1\": 4/' '" CH_SOURCE
                         "/recipes/tinyshakespeare.json' >\"$D/r.json\" && "
                         "sed '/bands_text/s/: .*/: \"no mark\",/' \"$D/r.json\" >\"$D/bad.json\""),
                     0);
    assert_int_equal(run("\"$C\" train --recipe \"$D/r.json\" --text \"$D/text\" --threads 1 --out \"$D/a\""), 0);
    holds(last.err, "left out: they were measured with another value of text\n");
    lacks(last.err, "above the recipe's band");
    assert_int_equal(run("\"$C\" train --recipe \"$D/bad.json\" --text \"$D/text\" --out \"$D/b\""), 2);
    holds(last.err, "'bands_text': expected the 16 digits of a text's mark, found 'no mark'");
    run("rm -r \"$D/a\" \"$D/r.json\" \"$D/bad.json\" \"$D/text\"");
}

/* The profile is written at the end, with numbers in it however few the steps, and changes nothing. */
static void test_profile(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train " TINY " --steps 1 --out \"$D/a\""), 0);
    lacks(last.out, "matrix products");
    assert_int_equal(run("\"$C\" train " TINY " --steps 1 --profile --out \"$D/b\""), 0);
    holds(last.out, "\nmatrix products ");
    holds(last.out, "\nwaiting ");
    holds(last.out, "\nother ");
    holds(last.out, "100.0 %\noutside matrix products ");
    lacks(last.out, "nan");
    lacks(last.out, "inf");
    assert_same_file("a/model.safetensors", "b/model.safetensors");
    assert_int_equal(run("\"$C\" train --resume \"$D/b\" --profile"), 0); /* no step is left */
    assert_string_equal(last.out, "");
    assert_int_equal(run("\"$C\" train --resume \"$D/b\" --profile --json --quiet"), 0);
    json_t *line = parse(last.out), *profile = json_object_get(line, "profile");
    assert_int_equal(json_integer_value(json_object_get(profile, "steps")), 0);
    assert_true(json_is_null(json_object_get(profile, "seconds_per_step")));
    json_decref(line);
    assert_int_equal(run("\"$C\" train --resume \"$D/b\" --steps 3 --profile --quiet"), 0);
    assert_string_equal(last.out, "");
    assert_int_equal(run("\"$C\" train " TINY " --steps 2 --profile --json --quiet --out \"$D/c\" | tail -n 1"), 0);
    line = parse(last.out), profile = json_object_get(line, "profile");
    double sum = 0, share = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(profile, "operations"), i, row) {
        sum += json_real_value(json_object_get(row, "seconds_per_step"));
        share += json_real_value(json_object_get(row, "share"));
    }
    double step = json_real_value(json_object_get(profile, "seconds_per_step"));
    assert_true(i > 5 && 0 < sum && sum <= step * 1.000001 && 0 < share && share <= 1.000001);
    assert_int_equal(json_integer_value(json_object_get(profile, "steps")), 2);
    json_decref(line);
    run("rm -r \"$D/a\" \"$D/b\" \"$D/c\"");
}

static void test_train_json(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train " TINY " --steps 3 --log-every 1 --json --quiet --out \"$D/a\""), 0);
    assert_string_equal(last.err, "");
    char *rest = last.out;
    for (int i = 1; i <= 4; i++) {
        char *end = strchr(rest, '\n');
        assert_non_null(end);
        *end = '\0';
        json_t *line = parse(rest);
        assert_int_equal(json_integer_value(json_object_get(line, "schema")), 1);
        assert_int_equal(json_integer_value(json_object_get(line, "step")), i < 4 ? i : 3);
        assert_int_equal(json_is_string(json_object_get(line, "result")), i == 4);
        json_decref(line);
        rest = end + 1;
    }
    assert_string_equal(rest, "");
    run("rm -r \"$D/a\"");
}

static json_int_t resolved(const json_t *recipe, const char *name) {
    return json_integer_value(json_object_get(recipe, name));
}

/* Defaults, then the recipe file, then the command line, whatever the order of the words; the last of a repeated
 * option wins. */
static void test_precedence(void **state) {
    (void)state;
    assert_int_equal(run("printf '{\"task\": \"copy\", \"steps\": 7, \"seed\": 3, \"d-model\": 8, \"heads\": 2}' "
                         "> \"$D/r.json\"; \"$C\" train --steps 9 --out=\"$D/a\" --steps=2 --quiet --verbose "
                         "--recipe \"$D/r.json\""),
                     0);
    size_t size;
    char *text = slurp("a/recipe.json", &size);
    json_t *kept = parse(text), *recipe = parse(last.err);
    assert_int_equal(resolved(recipe, "steps"), 2);
    assert_int_equal(resolved(recipe, "seed"), 3);
    assert_int_equal(resolved(recipe, "d-model"), 8);
    assert_int_equal(resolved(recipe, "batch-size"), 64);
    assert_string_equal(json_string_value(json_object_get(recipe, "task")), "copy");
    const char *name;
    json_t *value;
    json_object_foreach(recipe, name, value) assert_true(json_equal(value, json_object_get(kept, name)));
    json_decref(kept);
    json_decref(recipe);
    free(text);
    assert_int_equal(run("rm -r \"$D/a\"; echo '{\"stepz\": 1}' > \"$D/r.json\"; \"$C\" train reverse --out \"$D/a\" "
                         "--recipe \"$D/r.json\""),
                     2);
    holds(last.err, "stepz");
    holds(last.err, "r.json");
    run("rm \"$D/r.json\"");
}

/* The child has no room to write its log: it cannot run to its end before the signal comes. */
static struct child start_long_run(const char *script) {
    struct child child = start(script);
    char line[256];
    read_line(child.out, line, sizeof line);
    holds(line, "step     1  loss ");
    return child;
}

static void test_stop_and_resume(void **state) {
    (void)state;
    struct child child = start_long_run("exec \"$C\" train " TINY " --steps 3000 --log-every 1 --out \"$D/a\"");
    kill(child.pid, SIGINT);
    finish(child);
    assert_int_equal(last.code, 130);
    holds(last.err, "clearhead train --resume ");
    assert_int_equal(run("test ! -e \"$D/a/model.safetensors\""), 0);
    assert_int_equal(run("\"$C\" train --resume \"$D/a\" --seed 5"), 2);
    holds(last.err, "seed");
    assert_int_equal(run("\"$C\" train --resume \"$D/a\" --log-every 1000 --quiet"), 0);
    assert_int_equal(run("\"$C\" train " TINY " --steps 3000 --log-every 1000 --quiet --out \"$D/b\""), 0);
    assert_same_file("a/model.safetensors", "b/model.safetensors");
    assert_int_equal(run("\"$C\" train --resume \"$D/a\" --json"), 0);
    holds(last.out, "\"step\":3000,\"steps\":3000,\"loss\":null");
    holds(last.err, "all 3000 steps were taken");
    run("rm -r \"$D/a\" \"$D/b\"");
}

static void test_sigterm(void **state) {
    (void)state;
    struct child child = start("exec \"$C\" train " TINY " --steps 3000 --log-every 1 --json --out \"$D/a\"");
    char line[512];
    read_line(child.out, line, sizeof line);
    kill(child.pid, SIGTERM);
    while (!strstr(line, "\"result\"") && *line) read_line(child.out, line, sizeof line);
    holds(line, "\"result\":\"stopped\"");
    finish(child);
    assert_int_equal(last.code, 143);
    run("rm -r \"$D/a\"");
}

/* At ten places of a step, most of which is products. */
static void test_signal_while_it_multiplies(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct child child = start_long_run("exec \"$C\" train reverse --threads 1 --out \"$D/a\"");
        usleep((unsigned)(10000 + 700 * i));
        kill(child.pid, SIGTERM);
        finish(child);
        assert_int_equal(last.code, 143);
        run("rm -r \"$D/a\"");
    }
}

/* R: running, S: sleeping, ... */
static char state_of(pid_t pid) {
    char path[64], letter = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &letter), 1);
    fclose(file);
    return letter;
}

/* On one thread and without checkpoints, it sleeps only where its log fits no more; there it cannot get on, so that
 * nothing but the second signal ends it. */
static void test_second_signal_kills(void **state) {
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it holds signals back from a program that waits in a write */
#endif
    struct child child = start_long_run("exec \"$C\" train " TINY
                                        " --steps 30000 --log-every 1 --save-every 100000 --threads 1 --out \"$D/a\"");
    int waiting = 0, status;
    while (waiting < 32768 || state_of(child.pid) != 'S') {
        usleep(1000);
        assert_int_equal(ioctl(child.out, FIONREAD, &waiting), 0);
    }
    do { /* two that come at once count as one */
        kill(child.pid, SIGINT);
        usleep(1000);
    } while (waitpid(child.pid, &status, WNOHANG) == 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    close(child.in);
    close(child.out);
    close(child.err);
    run("rm -r \"$D/a\"");
}

/* A log that cannot be written stops the run with a checkpoint: nothing is lost. */
static void test_train_without_reader(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train " TINY " --steps 9 --log-every 1 --out \"$D/a\" >/dev/full"), 1);
    holds(last.err, "cannot write to standard output");
    holds(last.err, "--resume");
    assert_int_equal(run("\"$C\" train --resume \"$D/a\" --quiet && test -e \"$D/a/model.safetensors\""), 0);
    /* Without a standard output, no file of the run may take its place. */
    assert_int_equal(run("\"$C\" train " TINY " --steps 9 --log-every 1 --out \"$D/b\" >&-"), 1);
    holds(last.err, "cannot write to standard output");
    assert_int_equal(run("! grep '^step' \"$D/b/log.jsonl\""), 0);
    run("rm -r \"$D/a\" \"$D/b\"");
}

static void test_progress(void **state) {
    (void)state;
    assert_int_equal(run_on_terminal("TERM=xterm \"$C\" train " TINY " --steps 300 --log-every 300 --out \"$D/a\""), 0);
    holds(last.out, "\rstep 1 of 300");
    holds(last.out, "left");
    holds(last.out, "\r\033[Kstep   300  loss ");
    assert_int_equal(run_on_terminal("TERM=xterm \"$C\" train " TINY " --steps 3 --quiet --out \"$D/b\""), 0);
    assert_string_equal(last.out, "");
    run("rm -r \"$D/a\" \"$D/b\"");
}

/* ---- logs that are lost or damaged ---- */

#define LOGGED TINY " --log-gradients --log-every 4 --save-every 10 --validation 5 --quiet"

/* What `script` does to a run of 30 steps in $D/d, a copy of $D/a. */
static void damage(const char *script) {
    char all[512];
    snprintf(all, sizeof all, "rm -rf \"$D/d\" && cp -r \"$D/a\" \"$D/d\" && cd \"$D/d\" && { %s; }", script);
    assert_int_equal(run(all), 0);
}

static void check_refused(const char *script, const char *says) {
    damage(script);
    assert_int_equal(run("cp -r \"$D/d\" \"$D/before\"; \"$C\" train --resume \"$D/d\" --steps 40 --quiet"), 1);
    holds(last.err, says);
    holds(last.err, "put the log right, or move it away to go on with a new one\n");
    assert_int_equal(run("diff -r \"$D/before\" \"$D/d\" && rm -r \"$D/before\""), 0); /* nothing is lost */
}

static void check_resumed(const char *script, const char *says) {
    damage(script);
    assert_int_equal(run("\"$C\" train --resume \"$D/d\" --steps 40 --quiet"), 0);
    if (*says)
        holds(last.err, says);
    else
        assert_string_equal(last.err, "");
    assert_same_file("d/model.safetensors", "whole/model.safetensors");
}

static void test_damaged_logs(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train " LOGGED " --steps 30 --out \"$D/a\" && \"$C\" train " LOGGED
                         " --steps 40 --out \"$D/whole\""),
                     0);
    check_refused(": > log.jsonl", "/log.jsonl: expected the lines of a run up to step 30, found none");
    check_refused("head -n 2 log.jsonl > x; mv x log.jsonl", "up to step 30, found the last at 4");
    check_refused("head -n 2 gradients.jsonl > x; mv x gradients.jsonl",
                  "/gradients.jsonl: expected the lines of a run");
    check_refused("sed -i 2s/.*/garbage/ log.jsonl",
                  "/log.jsonl, line 2: expected a JSON object, found something else");
    check_refused("sed -i '3s/\"step\":8/\"step\":-8/' log.jsonl", "line 3: 'step': expected more than 4, found -8");
    check_refused("sed -i '2s/\"loss\":[^,]*/\"loss\":1e999/' log.jsonl",
                  "'loss': expected a finite number, found 1e999");
    check_refused("sed -i '3s/\"loss\":[^,]*/\"loss\":\"x\"/' log.jsonl",
                  "line 3: 'loss': expected a number, found a string");
    check_refused("sed -i '3s/\"lr\":[^,]*,//' log.jsonl", "line 3: 'lr'");
    check_refused("tac log.jsonl > x; mv x log.jsonl", "line 2: 'step': expected more than 30, found 28");
    check_refused("sed -n 1p log.jsonl >> log.jsonl", "'step': expected more than 30, found 1");
    damage("rm log.jsonl; mkfifo log.jsonl");
    assert_int_equal(run("timeout 20 \"$C\" train --resume \"$D/d\" --steps 40 --quiet"), 1);
    holds(last.err, "/log.jsonl: expected a file, found a device or pipe");
    assert_int_equal(run("timeout 20 \"$C\" plot training \"$D/d\""), 1);
    holds(last.err, "/log.jsonl: expected a file, found a device or pipe");
    check_refused("rm gradients.jsonl; mkdir gradients.jsonl", "/gradients.jsonl");
    check_resumed("rm log.jsonl", "/log.jsonl is missing: training goes on from its checkpoint");
    lacks(last.err, "gradients.jsonl");
    check_resumed("rm gradients.jsonl", "/gradients.jsonl is missing: training goes on from its checkpoint");
    run("rm -r \"$D/a\" \"$D/d\" \"$D/whole\"");
}

/* What a kill leaves is repaired without a word, and the log is then the uninterrupted run's. */
static void test_half_written_line(void **state) {
    (void)state;
    static const char *const tails[] = {"{\"sche", "{\"schema\":1,\"step\":32,\"loss\":1}\n{\"sch", "garbage\n"};
    assert_int_equal(run("\"$C\" train " LOGGED " --steps 30 --out \"$D/a\""), 0);
    damage("true");
    assert_int_equal(run("\"$C\" train --resume \"$D/d\" --steps 40 --quiet && mv \"$D/d\" \"$D/whole\""), 0);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        char script[128];
        snprintf(script, sizeof script, "printf '%s' >> log.jsonl; printf '%s' >> gradients.jsonl", tails[i], tails[i]);
        check_resumed(script, "");
        assert_same_file("d/log.jsonl", "whole/log.jsonl");
        assert_same_file("d/gradients.jsonl", "whole/gradients.jsonl");
    }
    run("rm -r \"$D/a\" \"$D/d\" \"$D/whole\"");
}

/* A run whose log is lost, and which is stopped before its first line, has none still: not one that is damaged. */
static void test_lost_and_stopped(void **state) {
    (void)state;
    assert_int_equal(run("\"$C\" train " LOGGED " --steps 30 --out \"$D/a\""), 0);
    damage("rm log.jsonl");
    assert_int_equal(run("\"$C\" train --resume \"$D/d\" --steps 30 --quiet && test ! -e \"$D/d/log.jsonl\""), 0);
    assert_int_equal(run("\"$C\" train --resume \"$D/d\" --steps 40 --quiet"), 0);
    holds(last.err, "/log.jsonl is missing");
    assert_int_equal(run("\"$C\" train --resume \"$D/d\" --steps 50 --quiet"), 0);
    assert_string_equal(last.err, "");
    size_t size;
    char *log = slurp("d/log.jsonl", &size);
    assert_memory_equal(log, "{\"schema\":1,\"step\":32,", strlen("{\"schema\":1,\"step\":32,"));
    free(log);
    run("rm -r \"$D/a\" \"$D/d\"");
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
        cmocka_unit_test(test_train),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_bands),
        cmocka_unit_test(test_spoilt_recipes),
        cmocka_unit_test(test_bands_of_another_text),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_train_json),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_stop_and_resume),
        cmocka_unit_test(test_sigterm),
        cmocka_unit_test(test_signal_while_it_multiplies),
        cmocka_unit_test(test_second_signal_kills),
        cmocka_unit_test(test_train_without_reader),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_damaged_logs),
        cmocka_unit_test(test_half_written_line),
        cmocka_unit_test(test_lost_and_stopped),
    };
    return cmocka_run_group_tests_name("train", tests, set_up, tear_down);
}
