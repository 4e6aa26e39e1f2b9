/* Examples: what a task asks, how they are distributed, and that each is a function of seed, step and number alone. */
#include "models.h"

#include <stdlib.h>
#include <string.h>

static ch_examples *examples_of(const ch_recipe *recipe, size_t count) {
    ch_examples *examples;
    ch_error error;
    check_ok(ch_examples_new(recipe, count, &examples, &error), &error);
    assert_int_equal(ch_examples_count(examples), count);
    return examples;
}

static void check_rule(const char *task, bool backwards) {
    ch_recipe *recipe = recipe_of("task", task, "seed", "4", NULL);
    ch_examples *examples = examples_of(recipe, 500);
    const ch_vocab *vocab = ch_examples_vocab(examples);
    assert_int_equal(ch_vocab_size(vocab), 13);
    for (size_t i = 0; i < 500; i++) {
        ch_sequence source = ch_examples_source(examples, i), target = ch_examples_target(examples, i);
        assert_int_equal(target.length, source.length + 2);
        assert_int_equal(target.tokens[0], ch_vocab_sos(vocab));
        assert_int_equal(target.tokens[target.length - 1], ch_vocab_eos(vocab));
        for (size_t t = 0; t < source.length; t++)
            assert_int_equal(target.tokens[1 + t], source.tokens[backwards ? source.length - 1 - t : t]);
    }
    ch_examples_free(examples);
    ch_recipe_free(recipe);
}

static void tasks_keep_their_rules(void **state) {
    (void)state;
    check_rule("reverse", true);
    check_rule("copy", false);
}

/* Lengths and digits of 20,000 examples from either generator. Chi-square with k - 1 degrees of freedom has mean
 * k - 1 and variance 2 (k - 1); fair draws exceed mean + 6 deviations less than once in 10^5. The seed is fixed, so
 * the test passes always or never. */
static double chi_square(const int *count, int kinds) {
    double total = 0, sum = 0;
    for (int k = 0; k < kinds; k++) total += count[k];
    for (int k = 0; k < kinds; k++) {
        double expected = total / kinds, off = count[k] - expected;
        sum += off * off / expected;
    }
    return sum;
}

static double most_chi_square(int kinds) {
    return kinds - 1 + 6 * sqrt(2.0 * (kinds - 1));
}

static void check_distribution(const char *rng) {
    enum { COUNT = 20000, SHORTEST = 4, LENGTHS = 7 };
    ch_recipe *recipe = recipe_of("rng", rng, "batch-size", "20000", NULL);
    ch_examples *examples = examples_of(recipe, COUNT);
    int length[LENGTHS] = {0}, digit[10] = {0}, first[10] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        ch_sequence source = ch_examples_source(examples, i);
        assert_in_range(source.length, SHORTEST, SHORTEST + LENGTHS - 1);
        length[source.length - SHORTEST]++;
        first[source.tokens[0]]++;
        for (size_t t = 0; t < source.length; t++) {
            assert_in_range(source.tokens[t], 0, 9);
            digit[source.tokens[t]]++;
        }
    }
    for (int l = 0; l < LENGTHS; l++) assert_true(length[l] > 0);
    assert_true(chi_square(length, LENGTHS) < most_chi_square(LENGTHS));
    assert_true(chi_square(digit, 10) < most_chi_square(10));
    assert_true(chi_square(first, 10) < most_chi_square(10));
    ch_examples_free(examples);
    ch_recipe_free(recipe);
}

static void lengths_and_digits_are_fair(void **state) {
    (void)state;
    check_distribution("philox");
    check_distribution("torch");
}

static void check_equal_examples(const struct ch_examples *a, size_t i, const struct ch_examples *b, size_t j) {
    ch_sequence x = ch_examples_source(a, i), y = ch_examples_source(b, j);
    assert_int_equal(x.length, y.length);
    assert_memory_equal(x.tokens, y.tokens, x.length * sizeof(int));
    x = ch_examples_target(a, i);
    y = ch_examples_target(b, j);
    assert_int_equal(x.length, y.length);
    assert_memory_equal(x.tokens, y.tokens, x.length * sizeof(int));
}

static int same_sources(const struct ch_examples *a, const struct ch_examples *b, size_t count) {
    int same = 0;
    for (size_t i = 0; i < count; i++) {
        ch_sequence x = ch_examples_source(a, i), y = ch_examples_source(b, i);
        same += x.length == y.length && memcmp(x.tokens, y.tokens, x.length * sizeof(int)) == 0;
    }
    return same;
}

/* However many are drawn at once, and from which one on. */
static void an_example_is_a_function_of_its_number(void **state) {
    (void)state;
    struct ch_examples all, part;
    struct example_stream stream = {
        .task = &task_reverse, .symbols = 10, .min_length = 1, .max_length = 30, .seed = 9, .use = PHILOX_DATA};
    assert_int_equal(examples_init(&all, 100, 30, 10, NULL), CH_OK);
    assert_int_equal(examples_init(&part, 100, 30, 10, NULL), CH_OK);
    examples_draw(&all, &stream, 5, 0, 100);
    examples_draw(&part, &stream, 5, 40, 17);
    for (size_t i = 0; i < 17; i++) check_equal_examples(&part, i, &all, 40 + i);
    /* Another step, seed or use is another stream. One in 10^4 short sequences may well agree; most may not. */
    examples_draw(&part, &stream, 6, 0, 100);
    assert_true(same_sources(&part, &all, 100) < 10);
    stream.seed = 10;
    examples_draw(&part, &stream, 5, 0, 100);
    assert_true(same_sources(&part, &all, 100) < 10);
    stream.seed = 9;
    stream.use = PHILOX_EVAL;
    examples_draw(&part, &stream, 5, 0, 100);
    assert_true(same_sources(&part, &all, 100) < 10);
    examples_release(&all);
    examples_release(&part);
}

static void check_first_batch(const char *rng) {
    ch_recipe *recipe = recipe_of("rng", rng, "seed", "2", "batch-size", "12", "d-model", "8", "d-ff", "8", NULL);
    ch_examples *few = examples_of(recipe, 5), *batch = examples_of(recipe, 12);
    for (size_t i = 0; i < 5; i++) check_equal_examples(few, i, batch, i);
    ch_trainer *trainer = trainer_of(recipe, NULL);
    take_steps(trainer, 1);
    for (size_t i = 0; i < 12; i++) check_equal_examples(&trainer->examples, i, batch, i);
    ch_trainer_free(trainer);
    ch_examples_free(few);
    ch_examples_free(batch);
    ch_recipe_free(recipe);
}

/* What ch_examples_new shows is what training sees at step 1. */
static void examples_are_those_of_training(void **state) {
    (void)state;
    check_first_batch("philox");
    check_first_batch("torch");
}

static void lengths_may_be_equal_or_extreme(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("min-len", "1", "max-len", "1", NULL);
    ch_examples *examples = examples_of(recipe, 50);
    for (size_t i = 0; i < 50; i++) assert_int_equal(ch_examples_source(examples, i).length, 1);
    ch_examples_free(examples);
    ch_recipe_free(recipe);
    recipe = recipe_of("min-len", "700", "max-len", "700", "max-positions", "701", NULL);
    examples = examples_of(recipe, 3);
    for (size_t i = 0; i < 3; i++) assert_int_equal(ch_examples_source(examples, i).length, 700);
    ch_examples_free(examples);
    ch_recipe_free(recipe);
}

/* Every symbol below the number that was asked for is drawn, and none from it on. */
static void symbols_are_as_many_as_asked_for(void **state) {
    (void)state;
    enum { SYMBOLS = 300, DRAWN = 1000 };
    bool seen[SYMBOLS] = {false};
    ch_recipe *recipe = recipe_of("symbols", "300", NULL);
    ch_examples *examples = examples_of(recipe, DRAWN);
    assert_int_equal(ch_vocab_size(ch_examples_vocab(examples)), SYMBOLS + 3);
    for (size_t i = 0; i < DRAWN; i++) {
        ch_sequence source = ch_examples_source(examples, i);
        for (size_t t = 0; t < source.length; t++) {
            assert_in_range(source.tokens[t], 0, SYMBOLS - 1);
            seen[source.tokens[t]] = true;
        }
    }
    for (int symbol = 0; symbol < SYMBOLS; symbol++) assert_true(seen[symbol]);
    ch_examples_free(examples);
    ch_recipe_free(recipe);
}

static void refused(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    ch_examples *examples = (ch_examples *)1;
    ch_error error;
    check_sentence(ch_examples_new(recipe, 0, &examples, &error), CH_USAGE, &error, "examples", "1000000", "found 0",
                   NULL);
    assert_null(examples);
    check_sentence(ch_examples_new(recipe, 1000001, &examples, &error), CH_USAGE, &error, "found 1000001", NULL);
    set_option(recipe, "min-len", "11");
    check_sentence(ch_examples_new(recipe, 5, &examples, &error), CH_USAGE, &error, "min-len 11", "max-len 10", NULL);
    assert_int_equal(ch_examples_new(recipe, 5, &examples, NULL), CH_USAGE);
    ch_recipe_free(recipe);
    ch_examples_free(NULL);
}

/* ---- brackets ---- */

/* Whether deleting "()" and its like again and again leaves nothing: what balanced means, without a stack. */
static bool vanishes(const int *symbol, size_t length) {
    int word[64];
    memcpy(word, symbol, length * sizeof *word);
    for (size_t t = 0; t + 1 < length;) {
        bool pair = word[t] % 2 == 0 && word[t + 1] == word[t] + 1;
        if (!pair) {
            t++;
            continue;
        }
        memmove(word + t, word + t + 2, (length - t - 2) * sizeof *word);
        length -= 2;
        t = 0;
    }
    return length == 0;
}

/* Whether one other symbol, or two that change places, would make the word balanced. */
static bool is_hard(const int *symbol, size_t length, int symbols) {
    int word[64];
    memcpy(word, symbol, length * sizeof *word);
    for (size_t a = 0; a < length; a++) {
        for (int other = 0; other < symbols; other++) {
            word[a] = other;
            if (vanishes(word, length)) return true;
        }
        word[a] = symbol[a];
        for (size_t b = 0; b < a; b++) {
            word[a] = symbol[b];
            word[b] = symbol[a];
            if (vanishes(word, length)) return true;
            word[a] = symbol[a];
            word[b] = symbol[b];
        }
    }
    return false;
}

static bool as_many_closings(const int *symbol, size_t length) {
    int height = 0;
    for (size_t t = 0; t < length; t++) height += symbol[t] % 2 ? -1 : 1;
    return height == 0;
}

/* Lengths, labels and hard negatives. Each side of a fair coin comes up within 6 deviations, sqrt(n) / 2, of n / 2. */
static void check_brackets(const char *symbols) {
    enum { COUNT = 4000 };
    int most = atoi(symbols), balanced = 0, level = 0, length[6] = {0};
    ch_recipe *recipe = recipe_of("task", "brackets", "symbols", symbols, "min-len", "3", "max-len", "13", NULL);
    ch_examples *examples = examples_of(recipe, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        ch_sequence source = ch_examples_source(examples, i), target = ch_examples_target(examples, i);
        assert_int_equal(target.length, 1);
        assert_int_equal(source.length % 2, 0);
        assert_in_range(source.length, 4, 12);
        length[source.length / 2 - 2]++;
        for (size_t t = 0; t < source.length; t++) assert_in_range(source.tokens[t], 0, most - 1);
        assert_int_equal(target.tokens[0], vanishes(source.tokens, source.length));
        assert_string_equal(ch_examples_class(examples, i), target.tokens[0] ? "balanced" : "not balanced");
        balanced += target.tokens[0];
        if (target.tokens[0]) continue;
        assert_true(is_hard(source.tokens, source.length, most));
        level += as_many_closings(source.tokens, source.length);
    }
    assert_true(abs(balanced - COUNT / 2) < 6 * sqrt(COUNT) / 2);
    assert_true(level > (COUNT - balanced) / 3); /* half of them, or two in three where there are several kinds */
    assert_true(chi_square(length, 5) < most_chi_square(5));
    ch_examples_free(examples);
    ch_recipe_free(recipe);
}

static void brackets_are_balanced_or_nearly(void **state) {
    (void)state;
    check_brackets("2");
    check_brackets("4");
    check_brackets("12");
}

/* Three pairs of one kind make 5 balanced words, two pairs of two kinds 8: each as likely as the others. A word is
 * known by its digits. */
static void check_uniform(const char *symbols, const char *length, const char *rng, int words) {
    enum { COUNT = 8000, MOST = 4096 };
    int count[MOST] = {0}, found[MOST], kinds = 0;
    ch_recipe *recipe = recipe_of("task", "brackets", "symbols", symbols, "min-len", length, "max-len", length, NULL);
    struct torch_rng torch;
    torch_rng_seed(&torch, 3);
    struct example_stream stream = example_stream(recipe, PHILOX_DATA, strcmp(rng, "torch") == 0 ? &torch : NULL);
    struct ch_examples examples;
    assert_int_equal(examples_init(&examples, COUNT, stream.max_length, stream.symbols, NULL), CH_OK);
    examples_draw(&examples, &stream, 1, 0, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        ch_sequence source = ch_examples_source(&examples, i);
        int number = 0;
        for (size_t t = 0; t < source.length; t++) number = number * stream.symbols + source.tokens[t];
        if (ch_examples_target(&examples, i).tokens[0]) count[number]++;
    }
    for (int i = 0; i < MOST; i++)
        if (count[i]) found[kinds++] = count[i];
    assert_int_equal(kinds, words);
    assert_true(chi_square(found, words) < most_chi_square(words));
    examples_release(&examples);
    ch_recipe_free(recipe);
}

static void balanced_words_are_uniform(void **state) {
    (void)state;
    check_uniform("2", "6", "philox", 5);
    check_uniform("2", "6", "torch", 5);
    check_uniform("4", "4", "philox", 8);
    check_uniform("2", "10", "philox", 42);
}

static void brackets_are_functions_of_their_number(void **state) {
    (void)state;
    struct ch_examples all, part;
    struct example_stream stream = {
        .task = &task_brackets, .symbols = 4, .min_length = 2, .max_length = 30, .seed = 9, .use = PHILOX_DATA};
    assert_int_equal(examples_init(&all, 100, 30, 4, NULL), CH_OK);
    assert_int_equal(examples_init(&part, 100, 30, 4, NULL), CH_OK);
    examples_draw(&all, &stream, 5, 0, 100);
    examples_draw(&part, &stream, 5, 40, 17);
    for (size_t i = 0; i < 17; i++) check_equal_examples(&part, i, &all, 40 + i);
    stream.use = PHILOX_EVAL;
    examples_draw(&part, &stream, 5, 0, 100);
    assert_true(same_sources(&part, &all, 100) < 10); /* 1 in 15 has length 2, and 1 in 16 such words are alike */
    examples_release(&all);
    examples_release(&part);
}

static void brackets_refused(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("task", "brackets", "symbols", "5", NULL);
    ch_examples *examples;
    ch_model *model;
    ch_error error;
    check_sentence(ch_examples_new(recipe, 5, &examples, &error), CH_USAGE, &error, "symbols: expected an even number",
                   "found 5", NULL);
    set_option(recipe, "symbols", "4");
    check_sentence(ch_model_new(recipe, &model, &error), CH_USAGE, &error, "task brackets asks for a class",
                   "--arch encoder-only", NULL);
    ch_recipe *plain = recipe_of("symbols", "4", NULL);
    model = model_of(plain);
    ch_evaluation evaluation;
    check_sentence(ch_evaluate(model, recipe, 5, &evaluation, &error), CH_USAGE, &error, "asks for a class", NULL);
    ch_check_result result;
    check_sentence(ch_check_run(recipe, model, "data", NULL, &result, &error), CH_USAGE, &error, "asks for a class",
                   NULL);
    ch_model_free(model);
    ch_recipe_free(plain);
    set_option(recipe, "min-len", "7");
    set_option(recipe, "max-len", "7");
    check_sentence(ch_examples_new(recipe, 5, &examples, &error), CH_USAGE, &error, "expected an even length",
                   "found only 7", NULL);
    ch_recipe_free(recipe);
}

/* ---- words ---- */

static void check_parse(const ch_vocab *vocab, const char *text, size_t capacity, const char *says) {
    int token[8];
    size_t count;
    ch_error error;
    check_sentence(ch_vocab_parse(vocab, text, token, capacity, &count, &error), CH_FAILED, &error, says, NULL);
    assert_int_equal(ch_vocab_parse(vocab, text, token, capacity, &count, NULL), CH_FAILED);
}

static void words_become_tokens(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    ch_examples *examples = examples_of(recipe, 1);
    const ch_vocab *vocab = ch_examples_vocab(examples);
    int token[8];
    size_t count;
    ch_error error;
    check_ok(ch_vocab_parse(vocab, " 3\t1 4\r\n", token, 8, &count, &error), &error);
    assert_int_equal(count, 3);
    static const int expected[] = {3, 1, 4};
    assert_memory_equal(token, expected, sizeof expected);
    check_ok(ch_vocab_parse(vocab, "  ", token, 0, &count, &error), &error);
    assert_int_equal(count, 0);
    check_parse(vocab, "3 x 4", 8, "word 2, 'x', is not in the vocabulary; expected numbers from 0 to 9");
    check_parse(vocab, "10", 8, "not in the vocabulary");
    check_parse(vocab, "-1", 8, "not in the vocabulary");
    check_parse(vocab, "03", 8, "not in the vocabulary");
    check_parse(vocab, "1 <eos>", 8, "word 2, '<eos>', is a special token");
    check_parse(vocab, "1 2 3", 2, "more than 2 tokens");
    char *huge = malloc(100001);
    memset(huge, '9', 100000);
    huge[100000] = '\0';
    check_parse(vocab, huge, 8, "not in the vocabulary");
    free(huge);
    for (int t = 0; t < 10; t++) assert_int_equal(ch_vocab_text(vocab, t)[0], '0' + t);
    ch_examples_free(examples);
    ch_recipe_free(recipe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_keep_their_rules),
        cmocka_unit_test(lengths_and_digits_are_fair),
        cmocka_unit_test(an_example_is_a_function_of_its_number),
        cmocka_unit_test(examples_are_those_of_training),
        cmocka_unit_test(lengths_may_be_equal_or_extreme),
        cmocka_unit_test(symbols_are_as_many_as_asked_for),
        cmocka_unit_test(refused),
        cmocka_unit_test(brackets_are_balanced_or_nearly),
        cmocka_unit_test(balanced_words_are_uniform),
        cmocka_unit_test(brackets_are_functions_of_their_number),
        cmocka_unit_test(brackets_refused),
        cmocka_unit_test(words_become_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
