/* The public decoder: cuts any number of sources into batches and decodes them on several threads. A batch is the
 * same whatever the number of threads, and so are its answers. */
#include "base/memory.h"
#include "base/parallel.h"
#include "decode/greedy.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_BATCH = 64, DEFAULT_EXTRA = 50, MOST_BATCH = 65536 };

struct worker {
    struct session session;
    int *active; /* (batch) */
    bool ready;
};

struct ch_decoder {
    const ch_model *model;
    const struct attention_core *core;
    ch_decode_options options;
    int workers;
    struct team *team;
    struct worker *worker;
    struct session_limits limits; /* what the sessions were made for */

    const ch_sequence *source; /* of the run at hand */
    struct greedy_answer *answer;
    size_t answers; /* of the last run */
    int *tokens;
    real *logits;
};

/* Of a text there is nothing to answer. */
static ch_status check_vocab(const ch_model *model, ch_error *error) {
    const struct ch_vocab *vocab = &model->vocab;
    if (!model_continues(model) && vocab->sos >= 0 && vocab->eos >= 0) return CH_OK;
    return fail(error, CH_FAILED,
                "this model's tokens are %s: expected one of a task, whose sources are answered between "
                "<sos> and <eos>; `generate` goes on with a text with this one",
                vocab->tokens->variant.name);
}

static ch_status check_options(const ch_model *model, const ch_decode_options *options, ch_error *error) {
    int positions = config_longest(&model->config);
    if (options->max_new < 0 || options->max_new > positions)
        return fail(error, CH_USAGE,
                    "max-new: expected 1 to %d, the model's positions, or 0 for a limit by length, found %d", positions,
                    options->max_new);
    if (options->batch_size < 0 || options->batch_size > MOST_BATCH)
        return fail(error, CH_USAGE, "batch-size: expected 1 to %d, found %d", MOST_BATCH, options->batch_size);
    if (options->threads < 0 || options->threads > 1024)
        return fail(error, CH_USAGE, "threads: expected 1 to 1024, found %d", options->threads);
    return CH_OK;
}

ch_status ch_decoder_new(const ch_model *model, const ch_decode_options *options, ch_decoder **out, ch_error *error) {
    static const ch_decode_options defaults = {0};
    *out = NULL;
    if (!options) options = &defaults;
    ch_status status = model_decodes(model, error);
    if (status == CH_OK) status = check_vocab(model, error);
    if (status == CH_OK) status = check_options(model, options, error);
    if (status != CH_OK) return status;
    const char *name = options->attention ? options->attention : attention_fused.variant.name;
    const ch_variant *core = family_find("attention", attention_core_row, name, error);
    if (!core) return CH_USAGE;
    struct ch_decoder *decoder = mem_new(1, sizeof *decoder);
    if (!decoder) return fail_memory(error, "a decoder");
    decoder->model = model;
    decoder->core = (const struct attention_core *)core;
    decoder->options = *options;
    if (!decoder->options.batch_size) decoder->options.batch_size = DEFAULT_BATCH;
    decoder->workers = parallel_threads(options->threads);
    decoder->worker = mem_new((size_t)decoder->workers, sizeof *decoder->worker);
    decoder->team = team_new(decoder->workers);
    if (!decoder->worker || !decoder->team) {
        ch_decoder_free(decoder);
        return fail_memory(error, "a decoder");
    }
    *out = decoder;
    return CH_OK;
}

static void free_workers(struct ch_decoder *decoder) {
    for (int w = 0; w < decoder->workers && decoder->worker; w++) {
        session_free(&decoder->worker[w].session);
        mem_free(decoder->worker[w].active);
        decoder->worker[w] = (struct worker){0};
    }
    decoder->limits = (struct session_limits){0};
}

static void free_answers(struct ch_decoder *decoder) {
    mem_free(decoder->answer);
    mem_free(decoder->tokens);
    mem_free(decoder->logits);
    decoder->answer = NULL;
    decoder->tokens = NULL;
    decoder->logits = NULL;
    decoder->answers = 0;
}

void ch_decoder_free(ch_decoder *decoder) {
    if (!decoder) return;
    team_free(decoder->team);
    free_workers(decoder);
    free_answers(decoder);
    mem_free(decoder->worker);
    mem_free(decoder);
}

/* ---- one run ---- */

/* Tokens that the decoder begins with: <sos>, behind the source where it is the only stack. */
static int beginning(const struct ch_decoder *decoder, size_t source_length) {
    return decoder->model->net.arch->encoder ? 1 : (int)source_length + 1;
}

/* Most tokens of an answer, EOS included. The last one is never read, and needs no position. */
static int limit_of(const struct ch_decoder *decoder, size_t source_length) {
    int room = config_longest(&decoder->model->config) - beginning(decoder, source_length) + 1;
    int wanted = decoder->options.max_new ? decoder->options.max_new : (int)source_length + DEFAULT_EXTRA;
    return wanted < room ? wanted : room;
}

static ch_status check_source(const struct ch_decoder *decoder, ch_sequence source, size_t number, ch_error *error) {
    int positions = config_longest(&decoder->model->config);
    char what[48];
    snprintf(what, sizeof what, "source %zu", number);
    if (source.length == 0) return fail(error, CH_FAILED, "%s is empty; expected at least one token", what);
    if (source.length > (size_t)positions)
        return fail(error, CH_FAILED,
                    "%s has %zu tokens, more than the model's %d positions; a model trained with a larger "
                    "--max-positions takes longer ones",
                    what, source.length, positions);
    if (beginning(decoder, source.length) > positions)
        return fail(error, CH_FAILED,
                    "%s has %zu tokens and is followed by <sos>, more than the model's %d positions; a model trained "
                    "with a larger --max-positions takes longer ones",
                    what, source.length, positions);
    return vocab_check_source(&decoder->model->vocab, source, what, error);
}

static ch_status new_answers(struct ch_decoder *decoder, const ch_sequence *sources, size_t count, ch_error *error) {
    free_answers(decoder);
    size_t total = 0, vocab = (size_t)ch_vocab_size(&decoder->model->vocab);
    for (size_t i = 0; i < count; i++) total += (size_t)limit_of(decoder, sources[i].length);
    decoder->answer = mem_new(count, sizeof *decoder->answer);
    decoder->tokens = mem_new(total, sizeof *decoder->tokens);
    if (decoder->options.keep_logits) decoder->logits = mem_new(total, vocab * sizeof *decoder->logits);
    if (!decoder->answer || !decoder->tokens || (decoder->options.keep_logits && !decoder->logits))
        return fail_memory(error, "the answers");
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        int limit = limit_of(decoder, sources[i].length);
        decoder->answer[i] = (struct greedy_answer){.tokens = decoder->tokens + at, .limit = limit};
        if (decoder->logits) decoder->answer[i].logits = decoder->logits + at * vocab;
        at += (size_t)limit;
    }
    decoder->answers = count;
    return CH_OK;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

/* For batches of so many sequences and sources of so many tokens, and for all that the old limits fit. */
static struct session_limits widen(const struct ch_decoder *decoder, int sequences, int longest) {
    const struct session_limits *old = &decoder->limits;
    int begin = beginning(decoder, (size_t)longest), target = 0;
    for (int length = 1; length <= longest; length++) /* a longer source may leave less room for its answer */
        target = larger(target, beginning(decoder, (size_t)length) + limit_of(decoder, (size_t)length) - 1);
    return (struct session_limits){.sequences = larger(sequences, old->sequences),
                                   .source = decoder->model->net.arch->encoder ? larger(longest, old->source) : 0,
                                   .prompt = larger(begin, old->prompt),
                                   .target = larger(target, old->target)};
}

/* Makes sessions that fit the largest batch and the longest source so far, for as many workers as there are batches. */
static ch_status prepare_workers(struct ch_decoder *decoder, int sequences, int longest, int batches, ch_error *error) {
    struct session_limits limits = widen(decoder, sequences, longest);
    if (memcmp(&limits, &decoder->limits, sizeof limits) != 0) free_workers(decoder);
    decoder->limits = limits;
    for (int w = 0; w < decoder->workers && w < batches; w++) {
        struct worker *worker = &decoder->worker[w];
        if (worker->ready) continue;
        ch_status status =
            session_new(&worker->session, decoder->model, decoder->core, &limits, !decoder->options.no_cache, error);
        if (status != CH_OK) return status;
        worker->active = mem_new((size_t)limits.sequences, sizeof *worker->active);
        if (!worker->active) {
            session_free(&worker->session);
            return fail_memory(error, "decoding");
        }
        worker->ready = true;
    }
    return CH_OK;
}

/* Worker w takes batches w, w + workers, ... */
static void decode_batches(int w, void *context) {
    struct ch_decoder *decoder = context;
    size_t batch = (size_t)decoder->options.batch_size, step = batch * (size_t)decoder->workers;
    for (size_t first = batch * (size_t)w; first < decoder->answers; first += step) {
        size_t left = decoder->answers - first;
        greedy(&decoder->worker[w].session, decoder->source + first, (int)(left < batch ? left : batch),
               decoder->answer + first, decoder->worker[w].active);
    }
}

ch_status ch_decoder_run(ch_decoder *decoder, const ch_sequence *sources, size_t count, ch_answer *answers,
                         ch_error *error) {
    size_t longest = 0, batch = (size_t)decoder->options.batch_size;
    for (size_t i = 0; i < count; i++) {
        ch_status status = check_source(decoder, sources[i], i + 1, error);
        if (status != CH_OK) return status;
        if (sources[i].length > longest) longest = sources[i].length;
    }
    ch_status status = new_answers(decoder, sources, count, error);
    if (status != CH_OK || count == 0) return status;
    size_t batches = (count + batch - 1) / batch;
    int pieces = batches < (size_t)decoder->workers ? (int)batches : decoder->workers;
    status = prepare_workers(decoder, (int)(count < batch ? count : batch), (int)longest, pieces, error);
    if (status != CH_OK) return status;
    decoder->source = sources;
    parallel_for(decoder->team, pieces, decode_batches, decoder);
    for (size_t i = 0; i < count; i++) {
        const struct greedy_answer *answer = &decoder->answer[i];
        answers[i] = (ch_answer){answer->tokens, (size_t)(answer->length - answer->ended), answer->ended};
    }
    return CH_OK;
}

const float *ch_decoder_logits(const ch_decoder *decoder, size_t i, size_t *steps) {
    ch_assert(i < decoder->answers && decoder->options.keep_logits);
    *steps = (size_t)decoder->answer[i].length;
#ifdef CH_DOUBLE
    return NULL;
#else
    return decoder->answer[i].logits;
#endif
}
