/*
 * Generation: a text without end in a session that slides, cached and not, is what recomputing all of it gives; its
 * memory does not grow; and the public generator: prompts, endings, what is written when, seeds, refusals.
 */
#include "models.h"
#include "scarce.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "decode/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "abcdefghij \n";

/* ---- sessions --------------------------------------------------------------------------------------- */

static struct session session_of(const struct ch_model *model, int room, int prompt, bool cached) {
    struct session_limits limits = {.sequences = 1, .prompt = prompt, .target = room};
    struct session session;
    ch_error error;
    check_ok(session_new(&session, model, &attention_fused, &limits, cached, &error), &error);
    session_begin(&session, NULL, 1);
    return session;
}

static void append(struct session *session, int token) {
    if (session->length[0] == session->limits.target) session_slide(session, 0);
    session_append(session, 0, token);
}

static const real *logits_of(struct session *session) {
    static const int first = 0;
    return session_logits(session, &first, 1);
}

/* Each is a sum of terms of about the size of the largest, so that is what its rounding goes by. */
static void check_logits(const char *what, int at, const real *a, const real *b, int vocab) {
    real most = 1;
    for (int i = 0; i < vocab; i++) most = R(fmax)(most, R(fabs)(b[i]));
    for (int i = 0; i < vocab; i++)
        if (!(R(fabs)(a[i] - b[i]) <= RC(1e-5) * most))
            fail_msg("%s, token %d, logit %d: %.9g and %.9g", what, at, i, (double)a[i], (double)b[i]);
}

/* More than 10 windows of tokens in a session that keeps a few, with a cache and without one, beside one that keeps and
 * recomputes all. The first ones are a prompt longer than the room. */
static void check_window(const char *settings, int window) {
    char all[256];
    snprintf(all, sizeof all, "%s window=%d", settings, window);
    ch_model *model = text_model(all, alphabet, 0);
    int tokens = 10 * window + 45, prompt = 35, vocab = ch_vocab_size(ch_model_vocab(model));
    struct session cached = session_of(model, 2 * window + 5, 5, true), full = session_of(model, tokens, 1, false),
                   slow = session_of(model, 2 * session_looks_back(model, false) + 3, 1, false);
    for (int t = 0; t < tokens; t++) {
        int token = random_int(3, (uint64_t)t, 0, vocab - 1);
        append(&cached, token), append(&slow, token), append(&full, token);
        if (t + 1 < prompt) continue;
        const real *expected = logits_of(&full);
        check_logits(all, t, logits_of(&cached), expected, vocab);
        check_logits(all, t, logits_of(&slow), expected, vocab);
    }
    assert_int_equal(cached.first[0] + cached.length[0], tokens);
    assert_true(cached.first[0] > 8 * window && slow.length[0] < tokens);
    session_free(&cached), session_free(&slow), session_free(&full);
    ch_model_free(model);
}

static void a_window_forgets_nothing_that_is_seen(void **state) {
    (void)state;
    static const char *const settings[] = {
        "position=rope",
        "position=rope-interleaved norm=rmsnorm norm-placement=pre ffn=swiglu kv-heads=1 bias=none qk-norm=on",
        "position=alibi",
        "position=none layers=3",
        "position=relative-bias soft-cap=2",
        "position=relative-bias-per-layer",
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        for (int window = 1; window <= 11; window += 5) check_window(settings[i], window);
}

/* <pad> is hidden from others wherever it stands, and stays so when it is moved. */
static void padding_is_hidden_behind_a_slide(void **state) {
    (void)state;
    ch_model *model = text_model("position=alibi window=6", alphabet, VOCAB_PAD);
    int pad = ch_vocab_pad(ch_model_vocab(model)), vocab = pad + 1;
    struct session cached = session_of(model, 16, 4, true), full = session_of(model, 80, 1, false);
    for (int t = 0; t < 80; t++) {
        int token = t % 3 ? random_int(3, (uint64_t)t, 0, pad - 1) : pad;
        append(&cached, token), append(&full, token);
        check_logits("padding", t, logits_of(&cached), logits_of(&full), vocab);
    }
    session_free(&cached), session_free(&full);
    ch_model_free(model);
}

/* What slides by half of its context is at every token what a session gives that begins with the tokens left. */
static void check_context(const char *settings, int room) {
    ch_model *model = text_model(settings, alphabet, 0);
    enum { TOKENS = 100 };
    int vocab = ch_vocab_size(ch_model_vocab(model)), text[TOKENS], from = 0;
    struct session cached = session_of(model, room, 5 < room ? 5 : room, true),
                   slow = session_of(model, room, 1, false);
    for (int t = 0; t < TOKENS; t++) {
        text[t] = random_int(3, (uint64_t)t, 0, vocab - 1);
        if (t - from == room) from = t - room / 2;
        append(&cached, text[t]), append(&slow, text[t]);
        struct session fresh = session_of(model, room, room, true);
        for (int i = from; i <= t; i++) append(&fresh, text[i]);
        const real *expected = logits_of(&fresh);
        check_logits(settings, t, logits_of(&cached), expected, vocab);
        check_logits(settings, t, logits_of(&slow), expected, vocab);
        session_free(&fresh);
    }
    assert_true(from > TOKENS - 1 - room);
    session_free(&cached), session_free(&slow);
    ch_model_free(model);
}

static void a_context_that_slides_is_read_anew(void **state) {
    (void)state;
    static const char *const settings[] = {"position=learned norm-placement=pre", "position=sinusoidal",
                                           "position=learned window=4", "position=rope", "position=alibi kv-heads=1"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        for (int room = 1; room <= 24; room = 2 * room + 3) check_context(settings[i], room);
}

/* ---- generators ------------------------------------------------------------------------------------- */

static ch_sampling sampling_of(double temperature, uint64_t seed) {
    ch_sampling sampling = ch_sampling_default();
    sampling.temperature = temperature;
    sampling.seed = seed;
    return sampling;
}

static ch_generator *generator_of(const ch_model *model, ch_generate_options options) {
    ch_generator *generator;
    ch_error error;
    check_ok(ch_generator_new(model, &options, &generator, &error), &error);
    return generator;
}

enum { MOST = 2048 };

struct text {
    char bytes[MOST];
    int token[MOST];
    size_t length, tokens;
    ch_ending ended;
};

/* No piece ends within a character of the text; what is none may be cut anywhere. */
static void check_whole(const struct text *text, const bool *ends) {
    for (size_t at = 0, bytes; at < text->length; at += bytes ? bytes : 1) {
        uint32_t point;
        bytes = utf8_decode(text->bytes + at, text->length - at, &point);
        for (size_t i = 1; i < bytes; i++) assert_false(ends[at + i]);
    }
}

/* All of it. */
static struct text rest_of(ch_generator *generator) {
    struct text text = {.length = 0};
    bool ends[MOST] = {false};
    ch_generated piece = {0};
    ch_error error;
    while (piece.ended == CH_GOES_ON) {
        check_ok(ch_generator_next(generator, &piece, &error), &error);
        assert_true(text.length + piece.length < MOST && text.tokens < MOST);
        if (piece.length) memcpy(text.bytes + text.length, piece.bytes, piece.length);
        text.length += piece.length;
        if (piece.token >= 0) text.token[text.tokens++] = piece.token;
        ends[text.length] = true;
    }
    check_whole(&text, ends);
    text.ended = piece.ended;
    for (int again = 0; again < 2; again++) { /* and then there is no more */
        check_ok(ch_generator_next(generator, &piece, &error), &error);
        assert_true(piece.token == -1 && piece.length == 0 && piece.ended == text.ended);
    }
    return text;
}

static struct text text_of(ch_generator *generator, const char *prompt) {
    ch_error error;
    check_ok(ch_generator_prompt(generator, prompt, strlen(prompt), &error), &error);
    return rest_of(generator);
}

static struct text generate(const ch_model *model, ch_generate_options options, const char *prompt) {
    ch_generator *generator = generator_of(model, options);
    struct text text = text_of(generator, prompt);
    ch_generator_free(generator);
    return text;
}

static void check_same_text(const struct text *a, const struct text *b) {
    assert_int_equal(a->tokens, b->tokens);
    assert_memory_equal(a->token, b->token, a->tokens * sizeof *a->token);
    assert_int_equal(a->length, b->length);
    assert_memory_equal(a->bytes, b->bytes, a->length);
    assert_int_equal(a->ended, b->ended);
}

static void a_text_says_what_its_tokens_say(void **state) {
    (void)state;
    ch_model *model = text_model("", alphabet, 0);
    ch_sampling sampling = sampling_of(1, 1);
    struct text text = generate(model, (ch_generate_options){.sampling = &sampling, .tokens = 200}, "abc");
    assert_int_equal(text.tokens, 200);
    assert_int_equal(text.ended, CH_ENDED_BY_TOKENS);
    size_t at = 0, length;
    for (size_t i = 0; i < text.tokens; i++) {
        const char *bytes = ch_vocab_bytes(ch_model_vocab(model), text.token[i], &length);
        assert_memory_equal(text.bytes + at, bytes, length);
        at += length;
    }
    assert_int_equal(at, text.length);
    ch_model_free(model);
}

/* Whatever slides, and however it is computed; ALiBi's window is shorter than its prompt. */
static void cached_is_full(void **state) {
    (void)state;
    static const char *const settings[] = {"position=learned",         "position=rope", "position=alibi window=3",
                                           "position=rope window=9",   "position=none", "position=sinusoidal",
                                           "position=learned window=5"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        ch_model *model = text_model(settings[i], alphabet, 0);
        ch_sampling sampling = sampling_of(1, i);
        ch_generate_options options = {.sampling = &sampling, .tokens = 150};
        struct text cached = generate(model, options, "abc def ghij");
        options.no_cache = true;
        struct text full = generate(model, options, "abc def ghij");
        check_same_text(&cached, &full);
        options.attention = "explicit";
        full = generate(model, options, "abc def ghij");
        check_same_text(&cached, &full);
        ch_model_free(model);
    }
}

/* Greedily, a model of a task generates what the decoder answers. */
static void a_task_is_answered_as_the_decoder_does(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("arch", "decoder-only", "d-model", "18", "heads", "3", "d-ff", "20", "max-positions",
                                  "24", "max-len", "5", "init", "normal", NULL);
    ch_model *model = model_of(recipe);
    static const int tokens[] = {3, 1, 4, 1, 5};
    const ch_sequence source = {tokens, 5};
    ch_decode_options options = {.max_new = 12, .threads = 1};
    ch_decoder *decoder;
    ch_answer answer;
    ch_error error;
    check_ok(ch_decoder_new(model, &options, &decoder, &error), &error);
    check_ok(ch_decoder_run(decoder, &source, 1, &answer, &error), &error);
    struct text text = generate(model, (ch_generate_options){.tokens = 12}, " 3 1 4 1 5\n");
    assert_int_equal(text.tokens, answer.length);
    assert_int_equal(text.ended == CH_ENDED_BY_MODEL, answer.ended);
    size_t at = 0;
    for (size_t i = 0; i < text.tokens; i++) {
        char word[32];
        snprintf(word, sizeof word, "%s%s", i ? " " : "", ch_vocab_text(ch_model_vocab(model), answer.tokens[i]));
        assert_int_equal(text.token[i], answer.tokens[i]);
        assert_memory_equal(text.bytes + at, word, strlen(word));
        at += strlen(word);
    }
    assert_int_equal(at, text.length);
    ch_decoder_free(decoder);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

/* A draw is a function of seed and position, so that a text goes on where it was left. */
static void seeds_and_prompts(void **state) {
    (void)state;
    ch_model *model = text_model("max-positions=64", alphabet, 0);
    ch_sampling sampling = sampling_of(1, 7);
    ch_generate_options options = {.sampling = &sampling, .tokens = 40};
    ch_generator *generator = generator_of(model, options);
    struct text first = text_of(generator, "abc"), again = text_of(generator, "abc");
    check_same_text(&first, &again);
    char longer[64];
    snprintf(longer, sizeof longer, "abc%.15s", first.bytes);
    again = text_of(generator, longer);
    assert_memory_equal(again.bytes, first.bytes + 15, 25);
    ch_generator_free(generator);
    sampling.seed = 8;
    again = generate(model, options, "abc");
    assert_memory_not_equal(again.bytes, first.bytes, 40);
    ch_model_free(model);
}

/* With a window of one token and a heavy penalty no token comes twice in a row; with all of them, none comes twice. */
static void repetitions_can_be_avoided(void **state) {
    (void)state;
    ch_model *model = text_model("", alphabet, 0);
    fill_value(values_of(model, "generator.weight"), 12 * 18, 0);
    fill_value(values_of(model, "generator.bias"), 12, 1);
    ch_sampling sampling = sampling_of(0, 0);
    sampling.repetition_penalty = 10;
    sampling.repetition_window = 1;
    struct text text = generate(model, (ch_generate_options){.sampling = &sampling, .tokens = 100}, "\n");
    for (size_t i = 1; i < text.tokens; i++) assert_int_not_equal(text.token[i], text.token[i - 1]);
    sampling.repetition_window = 3; /* the fourth is the first again */
    text = generate(model, (ch_generate_options){.sampling = &sampling, .tokens = 100}, "\n");
    for (size_t i = 4; i < text.tokens; i++) assert_int_equal(text.token[i], text.token[i - 4]);
    sampling.repetition_window = 0;
    text = generate(model, (ch_generate_options){.sampling = &sampling, .tokens = 11}, "\n");
    for (size_t i = 0; i < text.tokens; i++) assert_int_equal(text.token[i], i + 1); /* 0 is the newline */
    ch_model_free(model);
}

static void endings(void **state) {
    (void)state;
    ch_model *model = text_model("", alphabet, VOCAB_SOS | VOCAB_EOS);
    real *bias = values_of(model, "generator.bias");
    bias[ch_vocab_eos(ch_model_vocab(model))] = -50;
    ch_sampling sampling = sampling_of(1, 3);
    ch_generate_options options = {.sampling = &sampling, .tokens = 60};
    struct text whole = generate(model, options, "");
    assert_int_equal(whole.ended, CH_ENDED_BY_TOKENS);
    whole.bytes[whole.length] = '\0';
    char second[3] = {whole.bytes[20], whole.bytes[21], '\0'}, first[4] = "ab";
    memcpy(first, whole.bytes + 10, 3);
    const char *const stops[] = {second, first}, *found[] = {strstr(whole.bytes, second), strstr(whole.bytes, first)};
    options.stops = stops;
    options.stop_count = 2;
    struct text text = generate(model, options, "");
    assert_int_equal(text.ended, CH_ENDED_BY_STOP);
    assert_int_equal(text.length, (found[0] + 2 <= found[1] + 3 ? found[0] : found[1]) - whole.bytes);
    assert_memory_equal(text.bytes, whole.bytes, text.length);
    const char *const never[] = {"abcabcabcabc"}; /* its starts are held back, and written at the end */
    options.stops = never;
    options.stop_count = 1;
    text = generate(model, options, "");
    check_same_text(&text, &whole);
    bias[ch_vocab_eos(ch_model_vocab(model))] = 50;
    text = generate(model, options, "abc");
    assert_true(text.ended == CH_ENDED_BY_MODEL && text.tokens == 0 && text.length == 0);
    ch_model_free(model);
}

/* A model that writes the bytes of U+00E9, of U+20AC and a letter, in any order; rest_of looks where it is cut. */
static void characters_come_whole(void **state) {
    (void)state;
    ch_model *model = text_model("", NULL, 0);
    static const unsigned char written[] = {0xC3, 0xA9, 0xE2, 0x82, 0xAC, 'x'};
    real *bias = values_of(model, "generator.bias");
    for (size_t i = 0; i < sizeof written; i++) bias[written[i]] = 50;
    ch_sampling sampling = sampling_of(1, 3);
    struct text text = generate(model, (ch_generate_options){.sampling = &sampling, .tokens = 500}, "x");
    assert_int_equal(text.length, 500);
    int whole = 0;
    for (size_t i = 0; i < text.tokens; i++) {
        assert_int_equal((unsigned char)text.bytes[i], text.token[i]);
        whole += i > 0 && text.token[i - 1] == 0xC3 && text.token[i] == 0xA9;
    }
    assert_true(whole > 5);
    ch_model_free(model);
}

/* ---- memory ---- */

static size_t bytes_taken;

static void *count_allocate(size_t bytes) {
    bytes_taken += bytes;
    return malloc(bytes);
}

static void *count_reallocate(void *old, size_t bytes) {
    bytes_taken += bytes;
    return realloc(old, bytes);
}

/* Bytes that a text of so many tokens takes; none of them after the first hundred. */
static size_t bytes_of_text(const ch_model *model, int tokens) {
    ch_sampling sampling = sampling_of(1, 5);
    sampling.repetition_penalty = 1.2;
    sampling.repetition_window = 20;
    const char *const stops[] = {"abcdefghij"};
    ch_generated piece;
    ch_error error;
    bytes_taken = 0;
    ch_set_allocator(count_allocate, count_reallocate, free);
    ch_generate_options options = {.sampling = &sampling, .tokens = tokens, .stops = stops, .stop_count = 1};
    ch_generator *generator = generator_of(model, options);
    check_ok(ch_generator_prompt(generator, "abc", 3, &error), &error);
    uint64_t calls = 0;
    for (int i = 0; i < tokens; i++) {
        check_ok(ch_generator_next(generator, &piece, &error), &error);
        if (i == 100) calls = mem_allocations();
    }
    assert_true(mem_allocations() == calls);
    ch_generator_free(generator);
    ch_set_allocator(NULL, NULL, NULL);
    return bytes_taken;
}

static void memory_does_not_grow_with_the_text(void **state) {
    (void)state;
    static const char *const settings[] = {"position=rope window=8", "position=learned", "position=alibi"};
    for (size_t i = 0; i < 3; i++) {
        ch_model *model = text_model(settings[i], alphabet, 0);
        assert_int_equal(bytes_of_text(model, 200), bytes_of_text(model, 3000));
        ch_model_free(model);
    }
}

static ch_status work(void *model, ch_error *error) {
    ch_sampling sampling = sampling_of(1, 5);
    sampling.repetition_window = 4;
    const char *const stops[] = {"abc", "def"};
    ch_generate_options options = {.sampling = &sampling, .tokens = 40, .stops = stops, .stop_count = 2};
    ch_generator *generator;
    ch_generated piece = {0};
    ch_status status = ch_generator_new(model, &options, &generator, error);
    if (status == CH_OK) status = ch_generator_prompt(generator, "abc", 3, error);
    while (status == CH_OK && piece.ended == CH_GOES_ON) status = ch_generator_next(generator, &piece, error);
    ch_generator_free(generator);
    return status;
}

static void memory_that_runs_out(void **state) {
    (void)state;
    ch_model *model = text_model("", alphabet, 0);
    assert_true(scarce_run("generating", 1, work, NULL, model) > 20);
    ch_model_free(model);
}

/* ---- refusals ---- */

static void check_new(const ch_model *model, ch_generate_options options, ch_status status, const char *says) {
    ch_generator *generator = (ch_generator *)1;
    ch_error error;
    check_sentence(ch_generator_new(model, &options, &generator, &error), status, &error, says, NULL);
    assert_null(generator);
    assert_int_equal(ch_generator_new(model, &options, &generator, NULL), status);
}

static void options_that_make_no_sense(void **state) {
    (void)state;
    ch_model *model = text_model("", alphabet, 0), *window = text_model("position=rope window=5", alphabet, 0);
    const char *const empty[] = {"a", ""};
    ch_sampling sampling = sampling_of(-1, 0);
    check_new(model, (ch_generate_options){.tokens = -1}, CH_USAGE, "tokens: expected 1 to 1000000000");
    check_new(model, (ch_generate_options){.context = 25}, CH_USAGE, "context: expected 1 to 24");
    check_new(model, (ch_generate_options){.context = -1}, CH_USAGE, "found -1");
    check_new(window, (ch_generate_options){.context = 8}, CH_USAGE, "window of 5 tokens needs none, found 8");
    check_new(model, (ch_generate_options){.attention = "fuzed"}, CH_USAGE, "did you mean 'fused'");
    check_new(model, (ch_generate_options){.stops = empty, .stop_count = 2}, CH_USAGE, "an empty one at place 2");
    check_new(model, (ch_generate_options){.sampling = &sampling}, CH_USAGE, "temperature");
    ch_generator *generator;
    ch_error error;
    check_ok(ch_generator_new(model, NULL, &generator, &error), &error);
    ch_generator_free(generator);
    ch_generator_free(NULL);
    ch_model_free(model);
    ch_model_free(window);
}

static void models_that_do_not_go_on(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("seed", "1", NULL);
    ch_model *model = model_of(recipe);
    check_new(model, (ch_generate_options){0}, CH_FAILED,
              "this model is encoder-decoder: expected a decoder-only one, which goes on with a text; `decode`");
    ch_model_free(model);
    set_options(recipe, "arch=encoder-only task=brackets");
    model = model_of(recipe);
    check_new(model, (ch_generate_options){0}, CH_FAILED, "this model is encoder-only: expected a decoder-only one");
    ch_model_free(model);
    ch_recipe_free(recipe);
}

static void refuse(ch_generator *generator, const char *prompt, const char *says, const char *more) {
    ch_error error;
    check_sentence(ch_generator_prompt(generator, prompt, strlen(prompt), &error), CH_FAILED, &error, says, more, NULL);
    assert_int_equal(text_of(generator, "a").tokens, 5); /* and it goes on */
}

static void prompts_that_do_not_fit(void **state) {
    (void)state;
    static const char letters[] = "abcabcabcabcabcabcabcabca"; /* 25 */
    ch_model *model = text_model("", alphabet, 0), *lines = text_model("", alphabet, VOCAB_SOS),
             *rope = text_model("position=rope", alphabet, 0);
    ch_generator *generator = generator_of(model, (ch_generate_options){.tokens = 5});
    refuse(generator, letters, "the prompt has 25 tokens: expected at most 24", "the model's positions");
    refuse(generator, "abz", "the prompt: character 3, 'z'", "12 characters of the vocabulary");
    refuse(generator, "", "the prompt is empty: expected at least one token", "no <sos>");
    static const int bad[] = {1, 12};
    ch_error error;
    check_sentence(ch_generator_prompt_tokens(generator, (ch_sequence){bad, 2}, &error), CH_FAILED, &error,
                   "the prompt's token 2 is 12: expected 0 to 11", NULL);
    assert_int_equal(text_of(generator, letters + 1).tokens, 5);
    ch_generator_free(generator);
    generator = generator_of(lines, (ch_generate_options){.tokens = 5});
    refuse(generator, letters + 1, "the prompt has 25 tokens, <sos> included: expected at most 24", "positions");
    assert_int_equal(text_of(generator, "").tokens, 5);
    ch_generator_free(generator);
    generator = generator_of(rope, (ch_generate_options){.tokens = 5});
    assert_int_equal(text_of(generator, letters).tokens, 5); /* positions extend */
    ch_generator_free(generator);
    generator = generator_of(rope, (ch_generate_options){.tokens = 5, .context = 8});
    refuse(generator, letters, "the prompt has 25 tokens: expected at most 8", "the context");
    ch_generator_free(generator);
    ch_model_free(model), ch_model_free(lines), ch_model_free(rope);
}

static void a_damaged_model_is_told(void **state) {
    (void)state;
    ch_model *model = text_model("", alphabet, 0);
    fill_value(values_of(model, "generator.bias"), 12, (real)NAN);
    ch_generator *generator = generator_of(model, (ch_generate_options){0});
    ch_generated piece;
    ch_error error;
    check_ok(ch_generator_prompt(generator, "a", 1, &error), &error);
    check_sentence(ch_generator_next(generator, &piece, &error), CH_FAILED, &error, "no logit of token 1", NULL);
    ch_generator_free(generator);
    ch_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_forgets_nothing_that_is_seen),
        cmocka_unit_test(padding_is_hidden_behind_a_slide),
        cmocka_unit_test(a_context_that_slides_is_read_anew),
        cmocka_unit_test(a_text_says_what_its_tokens_say),
        cmocka_unit_test(cached_is_full),
        cmocka_unit_test(a_task_is_answered_as_the_decoder_does),
        cmocka_unit_test(seeds_and_prompts),
        cmocka_unit_test(repetitions_can_be_avoided),
        cmocka_unit_test(endings),
        cmocka_unit_test(characters_come_whole),
        cmocka_unit_test(memory_does_not_grow_with_the_text),
        cmocka_unit_test(memory_that_runs_out),
        cmocka_unit_test(options_that_make_no_sense),
        cmocka_unit_test(models_that_do_not_go_on),
        cmocka_unit_test(prompts_that_do_not_fit),
        cmocka_unit_test(a_damaged_model_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
