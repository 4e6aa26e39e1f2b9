/* Sampling: what may be drawn, and how often, against a definition by plain sorting; greedy, ties, and logits that are
 * no numbers. */
#include "models.h"

#include "decode/sampler.h"

#include <stdlib.h>
#include <string.h>

/* ---- the definition: a probability for each token ---- */

struct ranked {
    double weight;
    int token;
};

static int by_rank(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return x->weight != y->weight ? (x->weight > y->weight ? -1 : 1) : x->token - y->token;
}

static void define(const ch_sampling *o, const real *logits, int vocab, const int *history, size_t length,
                   double *probability) {
    struct ranked *rank = malloc((size_t)vocab * sizeof *rank);
    for (int v = 0; v < vocab; v++) {
        bool came = false;
        for (size_t i = 0; i < length; i++)
            came = came || (history[i] == v && (!o->repetition_window || i + (size_t)o->repetition_window >= length));
        double x = isnan(logits[v]) ? -(double)INFINITY : (double)logits[v];
        if (came) x = x > 0 ? x / o->repetition_penalty : x * o->repetition_penalty;
        rank[v] = (struct ranked){x, v};
        probability[v] = 0;
    }
    qsort(rank, (size_t)vocab, sizeof *rank, by_rank);
    int left = 0;
    while (left < vocab && rank[left].weight > -(double)INFINITY) left++;
    if (o->top_k && o->top_k < left) {
        int k = o->top_k;
        while (k < left && rank[k].weight == rank[o->top_k - 1].weight) k++;
        left = k;
    }
    double most = rank[0].weight, sum = 0, passed = 0;
    for (int i = 0; i < left; i++) sum += rank[i].weight = exp((rank[i].weight - most) / o->temperature);
    int kept = 0;
    while (kept < left && (kept == 0 || passed < o->top_p * sum)) passed += rank[kept++].weight;
    while (kept > 1 && rank[kept - 1].weight < o->min_p) passed -= rank[--kept].weight;
    for (int i = 0; i < kept; i++) probability[rank[i].token] = rank[i].weight / passed;
    free(rank);
}

/* ---- helpers ---- */

static struct sampler sampler_of(const ch_sampling *options, int vocab) {
    struct sampler sampler;
    ch_error error;
    check_ok(sampler_new(&sampler, options, vocab, &error), &error);
    return sampler;
}

static int one_choice(const ch_sampling *options, const real *logits, int vocab) {
    struct sampler sampler = sampler_of(options, vocab);
    int token = sampler_next(&sampler, logits, NULL, 0, 0);
    sampler_free(&sampler);
    return token;
}

/* How often each token comes at so many positions. */
static void count_choices(const ch_sampling *options, const real *logits, int vocab, const int *history, size_t length,
                          int draws, int *count) {
    struct sampler sampler = sampler_of(options, vocab);
    memset(count, 0, (size_t)vocab * sizeof *count);
    for (int position = 0; position < draws; position++) {
        int token = sampler_next(&sampler, logits, history, length, (uint64_t)position);
        assert_in_range(token, 0, vocab - 1);
        count[token]++;
    }
    sampler_free(&sampler);
}

/* ---- the distribution ---- */

enum { VOCAB = 12, DRAWS = 100000 };

/* Chi-square with k - 1 degrees of freedom has mean k - 1 and variance 2 (k - 1): fair draws stay 6 deviations below.
 * Every token that may come is expected at least 5 times, as the test of Pearson wants it. */
static void check_distribution(ch_sampling options, const int *history, size_t length) {
    real logits[VOCAB];
    double probability[VOCAB], sum = 0;
    int count[VOCAB], kinds = 0;
    options.seed = 11;
    fill_random(logits, VOCAB, 5, 1.5);
    define(&options, logits, VOCAB, history, length, probability);
    count_choices(&options, logits, VOCAB, history, length, DRAWS, count);
    for (int v = 0; v < VOCAB; v++) {
        double expected = probability[v] * DRAWS, off = count[v] - expected;
        if (expected == 0) {
            assert_int_equal(count[v], 0);
            continue;
        }
        assert_true(expected >= 5);
        sum += off * off / expected;
        kinds++;
    }
    assert_true(sum <= kinds - 1 + 6 * sqrt(2.0 * (kinds - 1)));
}

static void draws_have_their_distribution(void **state) {
    (void)state;
    static const int history[] = {3, 7, 3, 3, 9, 1};
    ch_sampling plain = ch_sampling_default(), o;
    plain.temperature = 1;
    check_distribution(plain, NULL, 0);
    o = plain;
    o.temperature = 0.5;
    check_distribution(o, NULL, 0);
    o = plain;
    o.temperature = 3;
    check_distribution(o, NULL, 0);
    o = plain;
    o.top_k = 4;
    check_distribution(o, NULL, 0);
    o = plain;
    o.top_p = 0.8;
    check_distribution(o, NULL, 0);
    o = plain;
    o.min_p = 0.1;
    check_distribution(o, NULL, 0);
    o = plain;
    o.repetition_penalty = 1.7;
    check_distribution(o, history, 6);
    o.repetition_window = 2;
    check_distribution(o, history, 6);
    o = (ch_sampling){.temperature = 1.4, .top_k = 8, .top_p = 0.9, .min_p = 0.05, .repetition_penalty = 0.8};
    check_distribution(o, history, 6);
}

/* Any options, on logits of few values, so that there are ties everywhere, with some that are no numbers: nothing comes
 * that must not, and what is likelier than 1 in 20 comes in 400 draws (it would not once in 10^8). */
static void what_may_come_is_as_defined(void **state) {
    (void)state;
    for (uint64_t round = 0; round < 400; round++) {
        real logits[VOCAB];
        double probability[VOCAB], share[3];
        int count[VOCAB], history[5], vocab = random_int(round, 0, 1, VOCAB);
        real unit[3];
        for (int v = 0; v < vocab; v++) {
            int value = random_int(round, 1 + (uint64_t)v, -4, 3);
            logits[v] = value == -4 ? RC(-INFINITY) : value == -3 ? RC(NAN) : RC(0.75) * (real)value;
        }
        logits[random_int(round, 20, 0, vocab - 1)] = RC(0.5);
        fill_random(unit, 3, round, 0.5);
        for (int i = 0; i < 3; i++) share[i] = (double)unit[i] + 0.5;
        for (int i = 0; i < 5; i++) history[i] = random_int(round, 30 + (uint64_t)i, 0, vocab - 1);
        ch_sampling o = {.temperature = 0.3 + 2 * share[0],
                         .top_p = round % 3 ? 0.01 + 0.98 * share[1] : 1,
                         .min_p = round % 4 ? 0 : share[2],
                         .top_k = random_int(round, 40, 0, vocab + 1),
                         .repetition_penalty = round % 2 ? 1 : 1.3,
                         .repetition_window = random_int(round, 41, 0, 6),
                         .seed = round};
        define(&o, logits, vocab, history, 5, probability);
        count_choices(&o, logits, vocab, history, 5, 400, count);
        for (int v = 0; v < vocab; v++) {
            if (probability[v] == 0) assert_int_equal(count[v], 0);
            if (probability[v] > 0.05) assert_true(count[v] > 0);
        }
    }
}

/* GPT-2's vocabulary. */
static void a_large_vocabulary(void **state) {
    (void)state;
    enum { LARGE = 50257 };
    real *logits = new_reals(LARGE);
    double *probability = malloc(LARGE * sizeof *probability);
    int *count = malloc(LARGE * sizeof *count);
    static const ch_sampling cases[] = {{.temperature = 0.8, .top_k = 40, .top_p = 1, .repetition_penalty = 1},
                                        {.temperature = 0.6, .top_p = 0.3, .repetition_penalty = 1},
                                        {.temperature = 0.8, .top_k = 200, .top_p = 0.9, .repetition_penalty = 1},
                                        {.temperature = 0.5, .min_p = 0.5, .top_p = 1, .repetition_penalty = 1}};
    fill_random(logits, LARGE, 2, 9);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        define(&cases[i], logits, LARGE, NULL, 0, probability);
        count_choices(&cases[i], logits, LARGE, NULL, 0, 50, count);
        for (int v = 0; v < LARGE; v++)
            if (probability[v] == 0) assert_int_equal(count[v], 0);
    }
    free(count);
    free(probability);
    free(logits);
}

/* ---- single choices ---- */

static void greedy_is_the_largest(void **state) {
    (void)state;
    ch_sampling greedy = ch_sampling_default();
    real logits[VOCAB];
    for (uint64_t round = 0; round < 200; round++) {
        int best = 0;
        for (int v = 0; v < VOCAB; v++) {
            logits[v] = (real)random_int(round, (uint64_t)v, -3, 3); /* ties: the lowest token */
            if (logits[v] > logits[best]) best = v;
        }
        assert_int_equal(one_choice(&greedy, logits, VOCAB), best);
    }
    struct sampler sampler;
    greedy.repetition_penalty = 2;
    sampler = sampler_of(&greedy, 3);
    static const int history[] = {1, 1, 1};
    const real penalised[] = {RC(2.0), RC(3.0), RC(-1.0)}; /* 3 / 2, once, however often it came */
    assert_int_equal(sampler_next(&sampler, penalised, history, 3, 0), 0);
    assert_int_equal(sampler_next(&sampler, penalised, NULL, 0, 0), 1); /* nothing is remembered */
    const real close[] = {RC(1.0), RC(3.0), RC(-1.0)};
    assert_int_equal(sampler_next(&sampler, close, history, 3, 0), 1);
    sampler_free(&sampler);
}

static void logits_that_are_no_numbers(void **state) {
    (void)state;
    const real none[] = {RC(NAN), RC(-INFINITY), RC(NAN)}, one[] = {RC(NAN), RC(-7.0), RC(-INFINITY)},
               large[] = {RC(5.0), RC(INFINITY), RC(NAN), RC(INFINITY)};
    ch_sampling o = ch_sampling_default();
    for (int warm = 0; warm < 2; warm++) {
        o.temperature = warm;
        assert_int_equal(one_choice(&o, none, 3), -1);
        assert_int_equal(one_choice(&o, one, 3), 1);
        assert_int_equal(one_choice(&o, one + 1, 1), 0);
        int token = one_choice(&o, large, 4);
        assert_true(token == 1 || token == 3);
    }
}

static void ties_at_the_edge(void **state) {
    (void)state;
    const real same[] = {RC(1.0), RC(2.0), RC(2.0), RC(2.0), RC(2.0), RC(0.0)};
    int count[6];
    ch_sampling o = ch_sampling_default();
    o.temperature = 1;
    o.top_k = 2; /* what equals the second stays */
    count_choices(&o, same, 6, NULL, 0, 400, count);
    for (int v = 0; v < 6; v++) assert_int_equal(count[v] > 0, v >= 1 && v <= 4);
    o.top_p = 0.5; /* of the four equal ones the two that come first */
    count_choices(&o, same, 6, NULL, 0, 400, count);
    for (int v = 0; v < 6; v++) assert_int_equal(count[v] > 0, v == 1 || v == 2);
    o.top_p = 1e-300; /* one stays at least */
    count_choices(&o, same, 6, NULL, 0, 50, count);
    assert_int_equal(count[1], 50);
    o = ch_sampling_default();
    o.temperature = 1;
    o.min_p = 1; /* the likeliest, and what equals it */
    count_choices(&o, same, 6, NULL, 0, 400, count);
    for (int v = 0; v < 6; v++) assert_int_equal(count[v] > 0, v >= 1 && v <= 4);
    o.min_p = 0;
    o.temperature = 1e-310; /* as good as greedy, and nothing overflows */
    count_choices(&o, same, 6, NULL, 0, 400, count);
    for (int v = 0; v < 6; v++) assert_int_equal(count[v] > 0, v >= 1 && v <= 4);
}

static void a_seed_is_a_text(void **state) {
    (void)state;
    enum { LENGTH = 100 };
    real logits[VOCAB];
    int text[3][LENGTH], same = 0;
    fill_random(logits, VOCAB, 1, 1);
    for (int run = 0; run < 3; run++) {
        ch_sampling o = ch_sampling_default();
        o.temperature = 1;
        o.seed = run < 2 ? 1 : 2;
        struct sampler sampler = sampler_of(&o, VOCAB);
        for (int i = 0; i < LENGTH; i++) { /* in any order */
            int position = run == 1 ? LENGTH - 1 - i : i;
            text[run][position] = sampler_next(&sampler, logits, NULL, 0, (uint64_t)position);
        }
        sampler_free(&sampler);
    }
    assert_memory_equal(text[0], text[1], sizeof text[0]);
    for (int i = 0; i < LENGTH; i++) same += text[0][i] == text[2][i];
    assert_true(same < LENGTH / 2);
}

static void refused(void **state) {
    (void)state;
    static const double bad[] = {-0.1, (double)NAN, (double)INFINITY, -(double)INFINITY};
    ch_sampling good = ch_sampling_default(), o;
    ch_error error;
    check_ok(sampling_check(&good, &error), &error);
    for (size_t i = 0; i < 4; i++) {
        o = good;
        o.temperature = bad[i];
        check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "temperature: expected a number from 0", NULL);
        o = good;
        o.top_p = bad[i];
        check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "top-p: expected a share above 0", NULL);
        o = good;
        o.min_p = bad[i];
        check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "min-p: expected a share from 0 to 1", NULL);
        o = good;
        o.repetition_penalty = bad[i];
        check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "repetition-penalty: expected a number above 0",
                       NULL);
    }
    o = good;
    o.top_p = 0;
    check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "top-p", "found 0", NULL);
    o = good;
    o.top_p = 1.5;
    check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "top-p", "found 1.5", NULL);
    o = good;
    o.min_p = 1.5;
    check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "min-p", "found 1.5", NULL);
    o = good;
    o.repetition_penalty = 0;
    check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "repetition-penalty", "found 0", NULL);
    o = good;
    o.top_k = -1;
    check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "top-k", "found -1", NULL);
    o = good;
    o.repetition_window = -2;
    check_sentence(sampling_check(&o, &error), CH_USAGE, &error, "repetition-window", "found -2", NULL);
    struct sampler sampler;
    assert_int_equal(sampler_new(&sampler, &o, 5, NULL), CH_USAGE);
    sampler_free(&sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_have_their_distribution),
        cmocka_unit_test(what_may_come_is_as_defined),
        cmocka_unit_test(a_large_vocabulary),
        cmocka_unit_test(greedy_is_the_largest),
        cmocka_unit_test(logits_that_are_no_numbers),
        cmocka_unit_test(ties_at_the_edge),
        cmocka_unit_test(a_seed_is_a_text),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
