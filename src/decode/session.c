#include "decode/session.h"
#include "base/memory.h"

#include <limits.h>
#include <string.h>

static struct pass inference(const struct ch_model *model, const struct attention_core *core, struct arena *arena) {
    return (struct pass){
        .params = &model->params, .turned = model->turned, .arena = arena, .core = core, .dropout = DROPOUT_OFF};
}

/* ---- memory ---- */

/* Keys or values of a layer's self- or cross-attention, one row. */
static size_t cache_width(const struct ch_model *model, enum config_attention which, int layer) {
    if (!config_has(&model->config, which)) return 0;
    const struct attention_shape *shape = config_shape(&model->config, which, layer);
    return (size_t)shape->kv_heads * (size_t)shape->d_head;
}

static size_t cache_elements(const struct ch_model *model, const struct session_limits *limits) {
    size_t self = (size_t)limits->sequences * (size_t)limits->target, total = 0;
    size_t cross = (size_t)limits->sequences * (size_t)limits->source;
    for (int layer = 0; layer < model->config.layers; layer++)
        total += 2 * self * cache_width(model, CONFIG_DECODER_SELF, layer) +
                 2 * cross * cache_width(model, CONFIG_DECODER_CROSS, layer);
    return total;
}

/* The largest walks of a session: the encoder over all sources, the decoder over the beginning or all rows of each. */
static size_t measure_arena(const struct ch_model *model, const struct attention_core *core,
                            const struct session_limits *limits, bool cached, struct assembly_saved *saved,
                            struct stack_caches *caches) {
    struct batch sources = batch_sizes(limits->sequences, limits->source);
    struct batch step = batch_sizes(limits->sequences, cached ? limits->prompt : limits->target);
    struct batch last = batch_sizes(limits->sequences, 1);
    struct arena arena = arena_measure();
    struct pass pass = inference(model, core, &arena);
    if (model->net.arch->encoder) encoder_forward(&pass, &model->net, NULL, &sources, saved);
    arena_reset(&arena, 0);
    real *hidden = decoder_forward(&pass, &model->net, NULL, &step, (struct memory){NULL, &sources},
                                   cached ? caches : NULL, saved);
    pass_take(&pass, (size_t)last.rows, (size_t)model->config.d_model);
    generator_forward(&pass, &model->net, hidden, &last);
    return arena.peak;
}

static bool caches_new(struct stack_caches *caches, const struct ch_model *model, const struct session_limits *limits) {
    size_t layers = (size_t)model->config.layers;
    bool cross = model->net.arch->encoder;
    *caches = (struct stack_caches){.self = mem_new(layers, sizeof *caches->self),
                                    .cross = cross ? mem_new(layers, sizeof *caches->cross) : NULL};
    if (!caches->self || (cross && !caches->cross)) return false;
    for (size_t layer = 0; layer < layers; layer++) { /* what a measuring walk reads */
        caches->self[layer].keys.longest = limits->target;
        if (cross) caches->cross[layer].keys.longest = limits->source;
    }
    return true;
}

static void caches_free(struct stack_caches *caches) {
    mem_free(caches->self);
    mem_free(caches->cross);
}

void session_measure(const struct ch_model *model, const struct attention_core *core,
                     const struct session_limits *limits, bool cached, uint64_t *caches, uint64_t *rest) {
    struct assembly_saved saved;
    struct stack_caches shapes = {0};
    *caches = cached ? mem_times(cache_elements(model, limits), sizeof(real)) : 0;
    uint64_t sequences = (uint64_t)limits->sequences;
    *rest = mem_plus(mem_times(sequences * (uint64_t)limits->source, (uint64_t)model->config.d_model * sizeof(real)),
                     mem_times(sequences * (uint64_t)limits->target, sizeof(struct knockout)));
    if (assembly_saved_new(&saved, &model->net)) {
        if (caches_new(&shapes, model, limits))
            *rest = mem_plus(*rest, measure_arena(model, core, limits, cached, &saved, &shapes));
        assembly_saved_free(&saved);
    }
    caches_free(&shapes);
}

/* Cuts the block of all caches into layers. */
static void place_caches(struct session *s) {
    size_t self = (size_t)s->limits.sequences * (size_t)s->limits.target;
    size_t cross = (size_t)s->limits.sequences * (size_t)s->limits.source;
    real *at = s->cache_block;
    for (int layer = 0; layer < s->model->config.layers; layer++) {
        struct kv_cache *cache = &s->caches.self[layer];
        size_t block = self * cache_width(s->model, CONFIG_DECODER_SELF, layer);
        *cache = (struct kv_cache){.key = at, .value = at + block};
        cache->keys = (struct batch){.offset = s->self_offset, .length = s->self_length};
        cache->place = s->place;
        at += 2 * block;
        if (!s->caches.cross) continue;
        cache = &s->caches.cross[layer];
        block = cross * cache_width(s->model, CONFIG_DECODER_CROSS, layer);
        *cache = (struct kv_cache){.key = at, .value = at + block};
        cache->keys = (struct batch){.offset = s->cross_offset, .length = s->cross_length};
        at += 2 * block;
    }
}

/* Rows of a step, at most. */
static size_t most_rows(const struct session *s) {
    return (size_t)s->limits.sequences * (size_t)(s->cached ? s->limits.prompt : s->limits.target);
}

/* One block: the tokens, behind them a number for each sequence, seven times, and one for each row of a step. */
static bool tokens_new(struct session *s) {
    int **of_sequences[] = {&s->length,      &s->done,         &s->first,       &s->self_offset,
                            &s->self_length, &s->cross_offset, &s->cross_length};
    enum { NUMBERS = sizeof of_sequences / sizeof *of_sequences };
    size_t sequences = (size_t)s->limits.sequences, tokens = sequences * (size_t)s->limits.target;
    s->token = mem_new(tokens + NUMBERS * sequences + most_rows(s), sizeof(int));
    if (!s->token) return false;
    for (size_t i = 0; i < NUMBERS; i++) *of_sequences[i] = s->token + tokens + i * sequences;
    s->place = s->token + tokens + NUMBERS * sequences;
    return true;
}

static bool allocate(struct session *s) {
    const struct session_limits *l = &s->limits;
    size_t sequences = (size_t)l->sequences, sources = sequences * (size_t)l->source;
    bool complete = assembly_saved_new(&s->saved, &s->model->net) && caches_new(&s->caches, s->model, l) &&
                    batch_buffer_new(&s->sources, l->sequences, (int)sources) &&
                    batch_buffer_new(&s->step, l->sequences, (int)most_rows(s)) &&
                    batch_buffer_new(&s->last, l->sequences, l->sequences) &&
                    pad_cuts_new(&s->pads, s->model, (int)(sequences * (size_t)l->target));
    s->memory = mem_new_aligned(sources * (size_t)s->model->config.d_model * sizeof(real));
    s->cache_block = s->cached ? mem_new_aligned(cache_elements(s->model, l) * sizeof(real)) : NULL;
    return complete && tokens_new(s) && s->memory && (!s->cached || s->cache_block) &&
           arena_reserve(&s->arena, measure_arena(s->model, s->core, l, s->cached, &s->saved, &s->caches));
}

ch_status session_new(struct session *session, const struct ch_model *model, const struct attention_core *core,
                      const struct session_limits *limits, bool cached, ch_error *error) {
    *session = (struct session){.model = model, .core = core, .limits = *limits, .cached = cached};
    uint64_t caches, rest;
    session_measure(model, core, limits, cached, &caches, &rest);
    ch_status status = memory_check("decoding needs", mem_plus(caches, rest), error);
    if (status == CH_OK && !allocate(session)) status = fail_memory(error, "decoding");
    if (status != CH_OK)
        session_free(session);
    else if (cached)
        place_caches(session);
    return status;
}

void session_free(struct session *session) {
    arena_release(&session->arena);
    assembly_saved_free(&session->saved);
    batch_buffer_free(&session->sources);
    batch_buffer_free(&session->step);
    batch_buffer_free(&session->last);
    pad_cuts_free(&session->pads);
    caches_free(&session->caches);
    mem_free_aligned(session->memory);
    mem_free_aligned(session->cache_block);
    mem_free(session->token);
    *session = (struct session){0};
}

/* ---- decoding ---- */

static void encode(struct session *s, const ch_sequence *source, int count) {
    batch_clear(&s->sources);
    for (int b = 0; b < count; b++) {
        ch_assert(source[b].length <= (size_t)s->limits.source);
        int length = (int)source[b].length, *token = batch_add(&s->sources, length, 0, (uint32_t)b);
        memcpy(token, source[b].tokens, (size_t)length * sizeof *token);
    }
    arena_reset(&s->arena, 0);
    struct pass pass = inference(s->model, s->core, &s->arena);
    const struct batch *batch = &s->sources.view;
    const real *memory = encoder_forward(&pass, &s->model->net, s->sources.token, batch, &s->saved);
    memcpy(s->memory, memory, (size_t)batch->rows * (size_t)s->model->config.d_model * sizeof *memory);
    for (int layer = 0; layer < s->model->config.layers; layer++) s->caches.cross[layer].filled = false;
}

void session_begin(struct session *s, const ch_sequence *source, int count) {
    memset(s->length, 0, (size_t)count * sizeof *s->length);
    memset(s->done, 0, (size_t)count * sizeof *s->done);
    memset(s->first, 0, (size_t)count * sizeof *s->first);
    if (s->model->net.arch->encoder) encode(s, source, count);
}

static int *tokens_of(const struct session *s, int sequence) {
    return s->token + (size_t)sequence * (size_t)s->limits.target;
}

void session_append(struct session *s, int sequence, int token) {
    ch_assert(s->length[sequence] < s->limits.target);
    tokens_of(s, sequence)[s->length[sequence]++] = token;
}

/* How many of a sequence's rows a step computes: those that are not in the cache, all of them without one. */
static int rows_of(const struct session *s, int sequence) {
    if (!s->cached) return s->length[sequence];
    int waiting = s->length[sequence] - s->done[sequence];
    return waiting < s->limits.prompt ? waiting : s->limits.prompt;
}

static void gather_step(struct session *s, const int *active, int count) {
    batch_clear(&s->step);
    batch_clear(&s->last);
    pad_cuts_clear(&s->pads);
    for (int i = 0; i < count; i++) {
        int b = active[i], rows = rows_of(s, b), from = s->cached ? s->done[b] : 0, end = from + rows;
        int *place = s->place + s->step.view.rows;
        for (int t = 0; t < rows; t++) place[t] = from + t;
        int *to = batch_add(&s->step, rows, s->first[b] + from, (uint32_t)b);
        memcpy(to, tokens_of(s, b) + from, (size_t)rows * sizeof *to);
        batch_add(&s->last, 1, s->first[b] + end - 1, (uint32_t)b);
        s->done[b] = end;
        pad_cuts_add(&s->pads, s->model, i, tokens_of(s, b), end);
    }
}

/* Where the keys of each active sequence lie: its own in its caches, those of its source in the memory. */
static void gather_keys(struct session *s, const int *active, int count) {
    int longest = 0;
    for (int i = 0; i < count; i++) {
        s->self_offset[i] = active[i] * s->limits.target;
        s->self_length[i] = s->done[active[i]];
        if (s->self_length[i] > longest) longest = s->self_length[i];
    }
    for (int layer = 0; layer < s->model->config.layers; layer++) {
        s->caches.self[layer].keys.sequences = count;
        s->caches.self[layer].keys.longest = longest;
    }
}

/* The encoded sources of the active ones: their rows lie where they were encoded. */
static struct memory gather_memory(struct session *s, struct batch *sources, const int *active, int count) {
    if (!s->model->net.arch->encoder) return (struct memory){0};
    ch_assert(s->caches.cross[0].filled || !s->cached || count == s->sources.view.sequences);
    for (int i = 0; i < count; i++) {
        s->cross_offset[i] = s->sources.offset[active[i]];
        s->cross_length[i] = s->sources.length[active[i]];
    }
    for (int layer = 0; layer < s->model->config.layers; layer++) {
        s->caches.cross[layer].keys.sequences = count;
        s->caches.cross[layer].keys.longest = s->sources.view.longest;
    }
    *sources = s->sources.view;
    sources->sequences = count;
    sources->offset = s->cross_offset;
    sources->length = s->cross_length;
    return (struct memory){s->memory, sources};
}

static const real *last_rows(struct session *s, struct pass *pass, const real *hidden) {
    size_t width = (size_t)s->model->config.d_model;
    real *rows = pass_take(pass, (size_t)s->last.view.rows, width);
    for (int i = 0; i < s->step.view.sequences; i++) {
        size_t from = (size_t)(s->step.offset[i] + s->step.length[i] - 1);
        memcpy(rows + (size_t)i * width, hidden + from * width, width * sizeof *rows);
    }
    return rows;
}

/* The hidden rows (rows of the step, D) of a step's rows of each active sequence. */
static const real *step(struct session *s, struct pass *pass, const int *active, int count) {
    arena_reset(&s->arena, 0);
    *pass = inference(s->model, s->core, &s->arena);
    gather_step(s, active, count);
    gather_keys(s, active, count);
    pad_cuts_apply(&s->pads, pass);
    struct batch sources;
    struct memory memory = gather_memory(s, &sources, active, count);
    const real *hidden = decoder_forward(pass, &s->model->net, s->step.token, &s->step.view, memory,
                                         s->cached ? &s->caches : NULL, &s->saved);
    for (int layer = 0; s->caches.cross && layer < s->model->config.layers; layer++)
        s->caches.cross[layer].filled = true;
    return hidden;
}

/* Until no more than so many of a sequence's tokens wait for their keys and values. */
static void read_waiting(struct session *s, int sequence, int left) {
    struct pass pass;
    while (s->cached && s->length[sequence] - s->done[sequence] > left) step(s, &pass, &sequence, 1);
}

const real *session_logits(struct session *s, const int *active, int count) {
    struct pass pass;
    for (int i = 0; i < count; i++) read_waiting(s, active[i], s->limits.prompt);
    const real *hidden = step(s, &pass, active, count);
    return generator_forward(&pass, &s->model->net, last_rows(s, &pass, hidden), &s->last.view);
}

/* ---- sequences without end ---- */

int session_looks_back(const struct ch_model *model, bool cached) {
    const struct config *config = &model->config;
    if (config->window == 0 || !config->position->can_extend) return -1;
    /* keys and values stand for all that they were made from; without them every layer looks back once more */
    int64_t tokens = (int64_t)(config->window - 1) * (cached ? 1 : config->layers);
    return tokens < INT_MAX / 4 ? (int)tokens : INT_MAX / 4;
}

/* The last `rows` keys and values of a sequence to the front of its room. */
static void move_caches(struct session *s, int sequence, int rows) {
    size_t front = (size_t)sequence * (size_t)s->limits.target, from = front + (size_t)(s->done[sequence] - rows);
    for (int layer = 0; layer < s->model->config.layers; layer++) {
        const struct kv_cache *cache = &s->caches.self[layer];
        size_t width = cache_width(s->model, CONFIG_DECODER_SELF, layer), bytes = (size_t)rows * width * sizeof(real);
        memmove(cache->key + front * width, cache->key + from * width, bytes);
        memmove(cache->value + front * width, cache->value + from * width, bytes);
    }
}

void session_slide(struct session *s, int sequence) {
    int back = session_looks_back(s->model, s->cached), length = s->length[sequence], keep = length / 2;
    bool goes_on = s->cached && back >= 0;
    if (back >= 0) keep = back < length ? back : length - 1;
    if (goes_on) {
        read_waiting(s, sequence, 0);
        move_caches(s, sequence, keep);
    }
    memmove(tokens_of(s, sequence), tokens_of(s, sequence) + length - keep, (size_t)keep * sizeof *s->token);
    s->first[sequence] = goes_on ? s->first[sequence] + length - keep : 0;
    s->done[sequence] = goes_on ? keep : 0;
    s->length[sequence] = keep;
}
