/* Texts as examples: windows and lines, what is drawn, what is held out, and what is refused. */
#include "models.h"
#include "scarce.h"

#include "base/memory.h"
#include "data/corpus.h"

#include <stdlib.h>
#include <string.h>

/* ---- helpers ---- */

struct world {
    struct vocab_plan plan;
    char *characters;
    struct ch_vocab vocab;
    struct corpus corpus;
    struct ch_examples examples;
};

enum { CAPACITY = 20000 };

static ch_status open_text(struct world *w, const struct tokens *tokens, struct corpus_plan plan, const char *text,
                           size_t length, ch_error *error) {
    *w = (struct world){0};
    ch_status status = corpus_vocab(&w->plan, &w->characters, tokens, plan.framing, text, length, "a.txt", error);
    if (status == CH_OK) status = vocab_new(&w->vocab, &w->plan, error);
    if (status == CH_OK) status = corpus_new(&w->corpus, &plan, &w->vocab, text, length, "a.txt", error);
    if (status == CH_OK) status = examples_init_for(&w->examples, CAPACITY, corpus_limits(&w->corpus), &w->plan, error);
    return status;
}

static void world_free(struct world *w) {
    examples_release(&w->examples);
    corpus_free(&w->corpus);
    vocab_free(&w->vocab);
    mem_free(w->characters);
}

static struct world world_of(const struct tokens *tokens, struct corpus_plan plan, const char *text, size_t length) {
    struct world w;
    ch_error error;
    check_ok(open_text(&w, tokens, plan, text, length, &error), &error);
    return w;
}

/* A text of bytes that says where one is: byte i is i. */
static void count_up(char *text, int length) {
    for (int i = 0; i < length; i++) text[i] = (char)i;
}

static const struct example_stream stream = {.seed = 9, .use = PHILOX_DATA};

static double chi_square(const int *count, int kinds, int total) {
    double sum = 0, expected = (double)total / kinds;
    for (int k = 0; k < kinds; k++) sum += (count[k] - expected) * (count[k] - expected) / expected;
    return sum;
}

/* ---- windows ---- */

/* Each window is a stretch of the text, all offsets that nanoGPT draws come, and alike: chi-square stays 6 deviations
 * above its mean. */
static void windows_come_from_anywhere_in_the_training_part(void **state) {
    (void)state;
    enum { LENGTH = 100, CONTEXT = 8, OFFSETS = 90 - CONTEXT };
    char text[LENGTH];
    int count[OFFSETS] = {0};
    count_up(text, LENGTH);
    struct world w = world_of(&tokens_bytes, (struct corpus_plan){&framing_windows, CONTEXT, 0.1}, text, LENGTH);
    assert_int_equal(ch_vocab_size(&w.vocab), 256);
    assert_int_equal(w.corpus.split, 90);
    assert_int_equal(w.corpus.training, OFFSETS);
    corpus_draw(&w.corpus, &w.examples, &stream, 1, 0, CAPACITY);
    assert_int_equal(ch_examples_count(&w.examples), CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++) {
        ch_sequence target = ch_examples_target(&w.examples, i);
        assert_int_equal(ch_examples_source(&w.examples, i).length, 0);
        assert_int_equal(target.length, CONTEXT + 1);
        assert_in_range(target.tokens[0], 0, OFFSETS - 1);
        for (int t = 1; t <= CONTEXT; t++) assert_int_equal(target.tokens[t], target.tokens[0] + t);
        count[target.tokens[0]]++;
    }
    assert_null(ch_examples_class(&w.examples, 0));
    assert_true(chi_square(count, OFFSETS, CAPACITY) < OFFSETS - 1 + 6 * sqrt(2.0 * (OFFSETS - 1)));
    world_free(&w);
}

static void a_window_is_a_function_of_its_number(void **state) {
    (void)state;
    enum { LENGTH = 200, COUNT = 50 };
    char text[LENGTH];
    count_up(text, LENGTH);
    struct world w = world_of(&tokens_bytes, (struct corpus_plan){&framing_windows, 4, 0}, text, LENGTH);
    int first[COUNT], same = 0;
    corpus_draw(&w.corpus, &w.examples, &stream, 3, 0, COUNT);
    for (size_t i = 0; i < COUNT; i++) first[i] = ch_examples_target(&w.examples, i).tokens[0];
    corpus_draw(&w.corpus, &w.examples, &stream, 3, 20, 30);
    for (size_t i = 0; i < 30; i++) assert_int_equal(ch_examples_target(&w.examples, i).tokens[0], first[20 + i]);
    corpus_draw(&w.corpus, &w.examples, &stream, 4, 0, COUNT);
    for (size_t i = 0; i < COUNT; i++) same += ch_examples_target(&w.examples, i).tokens[0] == first[i];
    assert_true(same < 10);
    world_free(&w);
}

/* torch.manual_seed(5); torch.randint(82, (6,)), twice. */
static void windows_of_torch(void **state) {
    (void)state;
    static const int drawn[] = {51, 4, 65, 49, 40, 64, 32, 19, 28, 56, 69, 8};
    char text[100];
    struct torch_rng torch;
    struct example_stream of_torch = {.torch = &torch};
    count_up(text, 100);
    torch_rng_seed(&torch, 5);
    struct world w = world_of(&tokens_bytes, (struct corpus_plan){&framing_windows, 8, 0.1}, text, 100);
    for (int i = 0; i < 12; i++) {
        if (i % 6 == 0) corpus_draw(&w.corpus, &w.examples, &of_torch, 1, 0, 6);
        assert_int_equal(ch_examples_target(&w.examples, (size_t)(i % 6)).tokens[0], drawn[i]);
    }
    world_free(&w);
}

/* Side by side: each token but the first is predicted once, after the one before it. */
static void check_held_out(int length, int context, double share) {
    char text[256];
    count_up(text, length);
    struct world w =
        world_of(&tokens_bytes, (struct corpus_plan){&framing_windows, context, share}, text, (size_t)length);
    struct corpus *c = &w.corpus;
    int next = c->split + 1;
    corpus_hold_out(c, &w.examples, 0, c->held_out);
    for (int i = 0; i < c->held_out; i++) {
        ch_sequence target = ch_examples_target(&w.examples, (size_t)i);
        assert_in_range(target.length, 2, context + 1);
        if (i + 1 < c->held_out) assert_int_equal(target.length, context + 1);
        assert_int_equal(target.tokens[0], next - 1);
        for (size_t t = 1; t < target.length; t++) assert_int_equal(target.tokens[t], next++);
    }
    assert_int_equal(next, length);
    if (c->held_out > 1) { /* any of them */
        corpus_hold_out(c, &w.examples, 1, 1);
        assert_int_equal(ch_examples_target(&w.examples, 0).tokens[0], c->split + context);
    }
    world_free(&w);
}

static void every_token_held_out_is_predicted_once(void **state) {
    (void)state;
    for (int length = 60; length < 80; length++) check_held_out(length, 7, 0.4);
    check_held_out(200, 1, 0.1);
    check_held_out(250, 124, 0.5); /* one window, exactly */
}

/* nanoGPT: int(0.9 * 1115394) of tiny-Shakespeare's characters. */
static void the_share_is_cut_as_by_nanogpt(void **state) {
    (void)state;
    enum { LENGTH = 1115394 };
    char *text = malloc(LENGTH);
    memset(text, 'a', LENGTH);
    struct world w = world_of(&tokens_characters, (struct corpus_plan){&framing_windows, 64, 0.1}, text, LENGTH);
    assert_int_equal(w.corpus.split, 1003854);
    assert_int_equal(w.corpus.training, 1003854 - 64);
    assert_int_equal(w.corpus.held_out, (LENGTH - 1003854 - 1 + 63) / 64);
    assert_int_equal(ch_vocab_size(&w.vocab), 1);
    world_free(&w);
    w = world_of(&tokens_bytes, (struct corpus_plan){&framing_windows, 64, 0}, text, 65);
    assert_int_equal(w.corpus.training, 1);
    assert_int_equal(w.corpus.held_out, 0);
    world_free(&w);
    free(text);
}

/* ---- lines ---- */

static const char names[] = "emma\n\nada\r\nzo\xC3\xAB\n\r\nliv\neve";

/* The line of a target, without its ends, as text; false if the ends are wrong. */
static bool line_of(const struct world *w, ch_sequence target, char *text) {
    size_t used = 0, bytes, last = target.length - 1;
    for (size_t t = 1; t < last; t++) {
        const char *piece = ch_vocab_bytes(&w->vocab, target.tokens[t], &bytes);
        memcpy(text + used, piece, bytes);
        used += bytes;
    }
    text[used] = '\0';
    return target.tokens[0] == ch_vocab_sos(&w->vocab) && target.tokens[last] == ch_vocab_eos(&w->vocab);
}

static void lines_stand_alone(void **state) {
    (void)state;
    static const char *const line[] = {"emma", "ada", "zo\xC3\xAB", "liv", "eve"};
    int count[3] = {0};
    char text[16];
    struct world w =
        world_of(&tokens_characters, (struct corpus_plan){&framing_lines, 5, 0.4}, names, sizeof names - 1);
    assert_string_equal(w.characters, "adeilmovz\xC3\xAB"); /* no ends of lines */
    assert_int_equal(ch_vocab_size(&w.vocab), 12);
    assert_int_equal(w.corpus.training, 3);
    assert_int_equal(w.corpus.held_out, 2);
    corpus_hold_out(&w.corpus, &w.examples, 0, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(line_of(&w, ch_examples_target(&w.examples, i), text));
        assert_string_equal(text, line[3 + i]);
    }
    corpus_draw(&w.corpus, &w.examples, &stream, 1, 0, 3000);
    for (size_t i = 0; i < 3000; i++) {
        assert_true(line_of(&w, ch_examples_target(&w.examples, i), text));
        for (int l = 0; l < 3; l++) count[l] += strcmp(text, line[l]) == 0;
    }
    assert_int_equal(count[0] + count[1] + count[2], 3000);
    assert_true(chi_square(count, 3, 3000) < 2 + 6 * sqrt(4));
    world_free(&w);
}

/* ---- refusals ---- */

static void check_refused(const struct tokens *tokens, struct corpus_plan plan, const char *text, size_t length,
                          const char *says, const char *more) {
    struct world w;
    ch_error error;
    ch_status status = open_text(&w, tokens, plan, text, length, &error);
    check_sentence(status, tokens->of_text ? CH_FAILED : CH_USAGE, &error, says, more, NULL);
    world_free(&w);
}

static void texts_that_do_not_do(void **state) {
    (void)state;
    const struct corpus_plan windows = {&framing_windows, 8, 0.1}, lines = {&framing_lines, 8, 0.1};
    char text[100];
    memset(text, 'a', sizeof text);
    check_refused(&tokens_bytes, windows, "", 0, "a.txt is empty", "expected a text");
    check_refused(&tokens_characters, lines, "", 0, "a.txt is empty", "expected a text");
    check_refused(&tokens_bytes, lines, "\n\r\n\n", 4, "a.txt: expected lines of text", "only empty ones");
    check_refused(&tokens_bytes, windows, text, 9, "the training part has 8 of the text's 9 tokens",
                  "expected at least 9");
    check_refused(&tokens_bytes, windows, text, 80, "the validation part has 8 of the text's 80 tokens",
                  "expected at least 9");
    check_refused(&tokens_characters, windows, "good \xE2\x82 bad", 12, "a.txt: the byte at offset 5 is 0xe2", "UTF-8");
    check_refused(&tokens_characters, lines, "good\nb\xFF", 7, "a.txt: the byte at offset 6 is 0xff", "UTF-8");
    check_refused(&tokens_characters, windows, "a\0b", 3, "the byte at offset 1 is 0x00", "no zeros");
    check_refused(&tokens_bytes, lines, "one\n\n12345678\ntwo", 17, "a.txt: line 3 has 8 tokens", "expected at most 7");
    check_refused(&tokens_bytes, lines, "one\n", 4, "the training part has none of the text's 1 line", "at least one");
    check_refused(&tokens_bytes, (struct corpus_plan){&framing_lines, 8, 1e-17}, "one\ntwo\n", 8,
                  "the validation part has none of the text's 2 lines", "at least one");
    check_refused(&tokens_numbers, windows, text, 100, "bytes or characters", "found numbers");
}

/* A text that another model's vocabulary is to read. */
static void characters_that_a_vocabulary_lacks(void **state) {
    (void)state;
    struct vocab_plan plan = {
        .tokens = &tokens_characters, .symbols = 3, .specials = VOCAB_SOS | VOCAB_EOS, .characters = "abc"};
    struct ch_vocab vocab;
    struct corpus corpus;
    ch_error error;
    check_ok(vocab_new(&vocab, &plan, &error), &error);
    check_sentence(
        corpus_new(&corpus, &(struct corpus_plan){&framing_windows, 2, 0}, &vocab, "abcabd", 6, "b.txt", &error),
        CH_FAILED, &error, "b.txt: character 6, 'd' (U+0064)", "3 characters of the vocabulary", NULL);
    check_sentence(
        corpus_new(&corpus, &(struct corpus_plan){&framing_lines, 9, 0}, &vocab, "abc\nabd", 7, "b.txt", &error),
        CH_FAILED, &error, "b.txt: line 2: character 3, 'd'", NULL);
    vocab_free(&vocab);
}

static ch_status open_names(void *context, ch_error *error) {
    struct world w;
    (void)context;
    ch_status status =
        open_text(&w, &tokens_characters, (struct corpus_plan){&framing_lines, 5, 0.4}, names, sizeof names - 1, error);
    world_free(&w);
    return status;
}

static void memory_that_runs_out(void **state) {
    (void)state;
    assert_true(scarce_run("opening a text", 1, open_names, NULL, NULL) >= 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_come_from_anywhere_in_the_training_part),
        cmocka_unit_test(a_window_is_a_function_of_its_number),
        cmocka_unit_test(windows_of_torch),
        cmocka_unit_test(every_token_held_out_is_predicted_once),
        cmocka_unit_test(the_share_is_cut_as_by_nanogpt),
        cmocka_unit_test(lines_stand_alone),
        cmocka_unit_test(texts_that_do_not_do),
        cmocka_unit_test(characters_that_a_vocabulary_lacks),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
