/*
 * The public generator: a session with one sequence without end, whose tokens a sampler chooses; stop strings and the
 * characters of the text decide what of it may be written.
 */
#include "base/memory.h"
#include "decode/history.h"
#include "decode/sampler.h"
#include "decode/session.h"
#include "decode/stops.h"

#include <limits.h>
#include <string.h>

enum {
    STEP = 64,                /* rows of a prompt that are computed at once */
    MOST_TOKENS = 1000000000, /* positions of prompt and text together are an int */
};

struct ch_generator {
    const ch_model *model;
    const struct attention_core *core;
    int most, context; /* as in the options */
    bool no_cache;
    struct sampler sampler;
    struct history history;
    struct stops stops;
    struct session session;
    struct session_limits limits; /* what it was made for; zero: there is none */

    /* The text at hand. */
    bool begun;
    uint64_t position; /* of its next token */
    int made;          /* tokens of it that were generated */
    ch_ending ended;
};

/* ---- options ---- */

static bool slides_by_window(const ch_model *model) {
    return session_looks_back(model, true) >= 0;
}

static ch_status check_model(const ch_model *model, ch_error *error) {
    const struct arch *arch = model->net.arch;
    if (!arch->encoder && model->net.head->decodes) return CH_OK;
    return fail(error, CH_FAILED, "this model is %s: expected a decoder-only one, which goes on with a text; %s",
                arch->variant.name,
                arch->decoder ? "`decode` answers sources with this one"
                              : "`predict` says what this one finds in a source");
}

static ch_status check_options(const ch_model *model, const ch_generate_options *options, ch_error *error) {
    int longest = config_longest(&model->config);
    if (options->tokens < 0 || options->tokens > MOST_TOKENS)
        return fail(error, CH_USAGE, "tokens: expected 1 to %d, or 0 for no limit, found %d", MOST_TOKENS,
                    options->tokens);
    if (options->context < 0 || options->context > longest)
        return fail(error, CH_USAGE, "context: expected 1 to %d, the longest that this model takes, or 0, found %d",
                    longest, options->context);
    if (options->context > 0 && slides_by_window(model))
        return fail(error, CH_USAGE, "context: expected 0, since this model's window of %d tokens needs none, found %d",
                    model->config.window, options->context);
    return CH_OK;
}

static ch_status prepare(struct ch_generator *g, const ch_generate_options *options, ch_error *error) {
    ch_sampling sampling = options->sampling ? *options->sampling : ch_sampling_default();
    int vocab = ch_vocab_size(&g->model->vocab);
    ch_status status = sampler_new(&g->sampler, &sampling, vocab, error);
    if (status == CH_OK) status = history_new(&g->history, sampling.repetition_window, vocab, error);
    return status == CH_OK ? stops_new(&g->stops, options->stops, options->stop_count, error) : status;
}

ch_status ch_generator_new(const ch_model *model, const ch_generate_options *options, ch_generator **out,
                           ch_error *error) {
    static const ch_generate_options defaults = {0};
    *out = NULL;
    if (!options) options = &defaults;
    ch_status status = check_model(model, error);
    if (status == CH_OK) status = check_options(model, options, error);
    if (status != CH_OK) return status;
    const char *name = options->attention ? options->attention : attention_fused.variant.name;
    const ch_variant *core = family_find("attention", attention_core_row, name, error);
    if (!core) return CH_USAGE;
    struct ch_generator *g = mem_new(1, sizeof *g);
    if (!g) return fail_memory(error, "a generator");
    *g = (struct ch_generator){.model = model,
                               .core = (const struct attention_core *)core,
                               .most = options->tokens ? options->tokens : MOST_TOKENS,
                               .context = options->context,
                               .no_cache = options->no_cache};
    status = prepare(g, options, error);
    if (status == CH_OK)
        *out = g;
    else
        ch_generator_free(g);
    return status;
}

void ch_generator_free(ch_generator *g) {
    if (!g) return;
    sampler_free(&g->sampler);
    history_free(&g->history);
    stops_free(&g->stops);
    session_free(&g->session);
    mem_free(g);
}

/* ---- prompts ---- */

/* Tokens that the session has room for. By a window it slides every window or so, so a row is moved once on average;
 * otherwise the context is the room. */
static int room_for(const struct ch_generator *g, int prompt) {
    int back = session_looks_back(g->model, !g->no_cache), positions = g->model->config.max_positions;
    if (back >= 0) return 2 * (back + 1) + STEP;
    if (g->context > 0) return g->context;
    return prompt > positions ? prompt : positions;
}

static ch_status check_prompt(const struct ch_generator *g, ch_sequence prompt, ch_error *error) {
    const struct ch_vocab *vocab = &g->model->vocab;
    int longest = g->context ? g->context : config_longest(&g->model->config);
    if (slides_by_window(g->model)) longest = MOST_TOKENS;
    if (prompt.length == 0)
        return fail(error, CH_FAILED, "the prompt is empty: expected at least one token%s",
                    vocab->sos < 0 ? ", since this vocabulary has no <sos> to begin with; a newline does as well" : "");
    if (prompt.length > (size_t)longest)
        return fail(error, CH_FAILED, "the prompt has %zu tokens%s: expected at most %d, %s", prompt.length,
                    prompt.tokens[0] == vocab->sos ? ", <sos> included" : "", longest,
                    g->context ? "the context" : "the model's positions");
    for (size_t i = 0; i < prompt.length; i++)
        if (prompt.tokens[i] < 0 || prompt.tokens[i] >= vocab->size)
            return fail(error, CH_FAILED, "the prompt's token %zu is %d: expected 0 to %d", i + 1, prompt.tokens[i],
                        vocab->size - 1);
    return CH_OK;
}

static ch_status make_session(struct ch_generator *g, int prompt, ch_error *error) {
    int room = room_for(g, prompt);
    struct session_limits limits = {.sequences = 1, .prompt = room < STEP ? room : STEP, .target = room};
    if (memcmp(&limits, &g->limits, sizeof limits) == 0) return CH_OK;
    session_free(&g->session);
    g->limits = (struct session_limits){0};
    ch_status status = session_new(&g->session, g->model, g->core, &limits, !g->no_cache, error);
    if (status == CH_OK) g->limits = limits;
    return status;
}

static ch_status take(struct ch_generator *g, int token, ch_error *error) {
    ch_status status = history_add(&g->history, token, error);
    if (status != CH_OK) return status;
    if (g->session.length[0] == g->limits.target) session_slide(&g->session, 0);
    session_append(&g->session, 0, token);
    g->position++;
    return CH_OK;
}

ch_status ch_generator_prompt_tokens(ch_generator *g, ch_sequence tokens, ch_error *error) {
    g->begun = false;
    ch_status status = check_prompt(g, tokens, error);
    if (status == CH_OK) status = make_session(g, (int)tokens.length, error);
    if (status != CH_OK) return status;
    session_begin(&g->session, NULL, 1);
    history_clear(&g->history);
    stops_clear(&g->stops);
    g->position = 0;
    g->made = 0;
    g->ended = CH_GOES_ON;
    for (size_t i = 0; i < tokens.length && status == CH_OK; i++) status = take(g, tokens.tokens[i], error);
    g->begun = status == CH_OK;
    return status;
}

ch_status ch_generator_prompt(ch_generator *g, const char *text, size_t length, ch_error *error) {
    const struct ch_vocab *vocab = &g->model->vocab;
    size_t count, before = vocab->sos >= 0 && vocab->tokens->of_text, behind = vocab->sos >= 0 && !before;
    ch_error cause;
    g->begun = false;
    ch_status status = ch_vocab_encode(vocab, text, length, NULL, 0, &count, &cause);
    if (status != CH_OK) return fail(error, status, "the prompt: %s", cause.message);
    int *token = mem_new(before + count + behind, sizeof *token);
    if (!token) return fail_memory(error, "the prompt");
    status = ch_vocab_encode(vocab, text, length, token + before, count, &count, error);
    if (before) token[0] = vocab->sos;
    if (behind) token[count] = vocab->sos;
    if (status == CH_OK) status = ch_generator_prompt_tokens(g, (ch_sequence){token, before + count + behind}, error);
    mem_free(token);
    return status;
}

/* ---- tokens ---- */

static ch_status end(struct ch_generator *g, ch_ending ended, ch_generated *out) {
    g->ended = out->ended = ended;
    stops_flush(&g->stops, &out->bytes, &out->length);
    return CH_OK;
}

/* What a token adds to the text. Where tokens are words, special ones are written, too. */
static ch_status write_token(struct ch_generator *g, int token, ch_generated *out, ch_error *error) {
    const struct ch_vocab *vocab = &g->model->vocab;
    char word[VOCAB_TEXT + 1];
    size_t length;
    const char *bytes = ch_vocab_bytes(vocab, token, &length);
    if (!vocab->tokens->of_text) {
        word[0] = ' ';
        strcpy(word + 1, ch_vocab_text(vocab, token));
        bytes = g->made ? word : word + 1;
        length = strlen(bytes);
    }
    return stops_take(&g->stops, bytes, length, &out->bytes, &out->length, error);
}

static ch_status next(struct ch_generator *g, ch_generated *out, ch_error *error) {
    static const int active = 0;
    const real *logits = session_logits(&g->session, &active, 1);
    int token = sampler_next(&g->sampler, logits, g->history.token, g->history.length, g->position);
    if (token < 0)
        return fail(error, CH_FAILED, "no logit of token %d behind the prompt is a number: the model is damaged",
                    g->made + 1);
    if (token == g->model->vocab.eos) return end(g, CH_ENDED_BY_MODEL, out);
    ch_status status = write_token(g, token, out, error);
    if (status == CH_OK) status = take(g, token, error);
    if (status != CH_OK) return status;
    g->made++;
    out->token = token;
    if (g->stops.stopped) g->ended = out->ended = CH_ENDED_BY_STOP;
    return CH_OK;
}

ch_status ch_generator_next(ch_generator *g, ch_generated *out, ch_error *error) {
    ch_assert(g->begun);
    *out = (ch_generated){.token = -1, .ended = g->ended};
    if (g->ended != CH_GOES_ON) return CH_OK;
    if (g->made == g->most) return end(g, CH_ENDED_BY_TOKENS, out);
    ch_status status = next(g, out, error);
    g->begun = status == CH_OK;
    return status;
}
