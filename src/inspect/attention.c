/*
 * ch_look: generates greedily what there is to generate, then walks the model once more over all of it with someone
 * looking at the weights of its last stack. Looking recomputes maps from what the pass saved anyway, so it cannot
 * change the pass.
 */
#include "inspect/attention.h"
#include "base/memory.h"
#include "decode/session.h"
#include "model/pad_cuts.h"
#include "model/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *map_of(const struct ch_attention *a, int layer, int head) {
    size_t size = (size_t)a->rows * (size_t)a->columns;
    return a->map + (a->first[layer] + (size_t)head) * size;
}

int attention_row(const struct ch_attention *a, int t) {
    return a->which == CONFIG_DECODER_CROSS ? t : a->sources + t;
}

/* ---- catching the maps as they pass ---- */

struct catcher {
    struct ch_attention *attention;
    const char *name; /* of an attention, with %d for its layer */
};

/* The layer whose attention has that name, or -1. */
static int layer_of(const struct catcher *c, const char *name) {
    for (int layer = 0; layer < c->attention->layers; layer++) {
        char own[PARAM_NAME];
        snprintf(own, sizeof own, c->name, layer);
        if (strcmp(own, name) == 0) return layer;
    }
    return -1;
}

static bool wants(void *context, const char *layer, const char *site) {
    return strcmp(site, "weights") == 0 && layer_of(context, layer) >= 0;
}

static void see_map(void *context, const char *layer, const char *site, int sequence, int head, const real *x,
                    int queries, int keys) {
    (void)site, (void)sequence;
    const struct catcher *c = context;
    float *map = map_of(c->attention, layer_of(c, layer), head);
    for (size_t i = 0; i < (size_t)queries * (size_t)keys; i++) map[i] = (float)x[i];
}

/* ---- memory ---- */

static ch_status keep(int **to, int *count, const int *tokens, size_t length, ch_error *error) {
    *to = mem_new(length ? length : 1, sizeof **to);
    if (!*to) return fail_memory(error, "the tokens");
    if (length) memcpy(*to, tokens, length * sizeof **to);
    *count = (int)length;
    return CH_OK;
}

/* Rows and columns are known from the frame. */
static ch_status allocate_maps(struct ch_attention *a, const struct config *config, ch_error *error) {
    a->heads = mem_new((size_t)a->layers, sizeof *a->heads);
    a->first = mem_new((size_t)a->layers, sizeof *a->first);
    if (!a->heads || !a->first) return fail_memory(error, "the maps");
    size_t maps = 0;
    for (int layer = 0; layer < a->layers; layer++) {
        a->heads[layer] = config_shape(config, a->which, layer)->heads;
        a->first[layer] = maps;
        maps += (size_t)a->heads[layer];
    }
    uint64_t map = mem_times(mem_times((uint64_t)a->rows, (uint64_t)a->columns), sizeof *a->map);
    ch_status status = memory_check("the maps need", mem_times(maps, map), error);
    if (status != CH_OK) return status;
    a->map = mem_new(maps, (size_t)map);
    return a->map ? CH_OK : fail_memory(error, "the maps");
}

static ch_status lay_out(struct ch_attention *a, const struct frame *frame, ch_error *error) {
    const struct config *config = frame->config;
    const struct batch_buffer *last = config->arch->decoder ? &frame->target : &frame->source;
    a->rows = a->columns = last->view.rows;
    if (a->which == CONFIG_DECODER_CROSS) {
        a->columns = a->sources;
        return allocate_maps(a, config, error);
    }
    ch_status status = keep(&a->sequence, &a->rows, last->token, (size_t)a->rows, error);
    return status == CH_OK ? allocate_maps(a, config, error) : status;
}

/* ---- the walk ---- */

static ch_status walk_frame(struct ch_attention *a, const struct ch_model *model, const struct frame *frame,
                            const struct batch_limits *limits, ch_error *error) {
    struct catcher catcher = {a, config_attention_name(&model->config, a->which)};
    struct capture capture = {.wants = wants, .map = see_map, .context = &catcher};
    struct pass pass = {.core = &attention_fused, .dropout = DROPOUT_OFF, .capture = &capture};
    struct workspace workspace = {0};
    struct pad_cuts pads = {0};
    ch_status status = workspace_new(&workspace, model, &pass, limits, false, error);
    if (status == CH_OK && model->config.arch->decoder) {
        if (pad_cuts_new(&pads, model, limits->target))
            pad_cuts_add(&pads, model, 0, frame->target.token, frame->target.view.rows);
        else
            status = fail_memory(error, "a batch");
    }
    if (status == CH_OK) {
        pad_cuts_apply(&pads, &pass);
        pass.params = &model->params;
        pass.arena = &workspace.arena;
        struct assembly_input input = frame_input(frame);
        assembly_forward(&pass, &model->net, &input, &workspace.saved);
    }
    pad_cuts_free(&pads);
    workspace_free(&workspace);
    return status;
}

/* Source and target as frames take them. */
static ch_status walk(struct ch_attention *a, const struct ch_model *model, ch_sequence source, ch_sequence target,
                      ch_error *error) {
    struct frame frame = {0};
    struct batch_limits limits = frame_limits(&model->config, 1, (int)source.length, (int)target.length);
    ch_status status = frame_new(&frame, &model->config, &limits) ? CH_OK : fail_memory(error, "a batch");
    if (status == CH_OK) {
        frame_add(&frame, source, target, 0);
        status = lay_out(a, &frame, error);
    }
    if (status == CH_OK) status = walk_frame(a, model, &frame, &limits, error);
    frame_free(&frame);
    return status;
}

/* ---- of a task: the source is answered ---- */

/* Into a->generated, with its EOS. */
static ch_status answer(struct ch_attention *a, const struct ch_model *model, ch_sequence source, int max_new,
                        ch_error *error) {
    ch_decode_options options = {.max_new = max_new, .threads = 1};
    ch_decoder *decoder;
    ch_answer given;
    ch_status status = ch_decoder_new(model, &options, &decoder, error);
    if (status != CH_OK) return status;
    status = ch_decoder_run(decoder, &source, 1, &given, error);
    size_t length = status == CH_OK ? given.length + given.ended : 0;
    if (status == CH_OK && !(a->generated = mem_new(length, sizeof *a->generated)))
        status = fail_memory(error, "the answer");
    if (status == CH_OK) {
        memcpy(a->generated, given.tokens, given.length * sizeof *a->generated);
        if (given.ended) a->generated[length - 1] = ch_vocab_eos(&model->vocab);
        a->generations = (int)length;
    }
    ch_decoder_free(decoder);
    return status;
}

/* Teacher forcing on what was generated: <sos> and all but the last token are the decoder's input. */
static ch_status look_at_answer(struct ch_attention *a, const struct ch_model *model, ch_sequence source, int max_new,
                                ch_error *error) {
    ch_status status = answer(a, model, source, max_new, error);
    if (status != CH_OK) return status;
    size_t targets = (size_t)a->generations + 1;
    int *target = mem_new(targets, sizeof *target);
    if (!target) return fail_memory(error, "a batch");
    target[0] = ch_vocab_sos(a->vocab);
    memcpy(target + 1, a->generated, (targets - 1) * sizeof *target);
    a->answers = true;
    status = walk(a, model, source, (ch_sequence){target, targets}, error);
    mem_free(target);
    return status;
}

/* ---- of a text: it goes on ---- */

static ch_status generate(struct ch_attention *a, ch_generator *generator, ch_sequence prompt, ch_error *error) {
    ch_generated next = {0};
    ch_status status = ch_generator_prompt_tokens(generator, prompt, error);
    while (status == CH_OK && next.ended == CH_GOES_ON) {
        status = ch_generator_next(generator, &next, error);
        if (status == CH_OK && next.token >= 0) a->generated[a->generations++] = next.token;
    }
    if (status == CH_OK && next.ended == CH_ENDED_BY_MODEL) a->generated[a->generations++] = ch_vocab_eos(a->vocab);
    return status;
}

/* Into a->generated: at most max_new tokens and an EOS. */
static ch_status go_on(struct ch_attention *a, const struct ch_model *model, ch_sequence prompt, int max_new,
                       ch_error *error) {
    int longest = config_longest(&model->config);
    if (max_new < 0 || prompt.length + (size_t)max_new > (size_t)longest)
        return fail(error, CH_USAGE,
                    "max-new: expected 0 to %d behind %zu tokens, the model having %d positions, "
                    "found %d",
                    longest - (int)prompt.length, prompt.length, longest, max_new);
    a->generated = mem_new((size_t)max_new + 1, sizeof *a->generated);
    if (!a->generated) return fail_memory(error, "the tokens");
    if (max_new == 0) return CH_OK;
    /* The context holds all of it, so that nothing of what is looked at has slid out of sight. */
    bool slides = session_looks_back(model, true) >= 0;
    ch_generate_options options = {.tokens = max_new, .context = slides ? 0 : (int)prompt.length + max_new};
    ch_generator *generator;
    ch_status status = ch_generator_new(model, &options, &generator, error);
    if (status != CH_OK) return status;
    status = generate(a, generator, prompt, error);
    ch_generator_free(generator);
    return status;
}

static ch_status check_prompt(const struct ch_model *model, ch_sequence prompt, size_t length, ch_error *error) {
    int longest = config_longest(&model->config);
    if (length == 0) return fail(error, CH_FAILED, "the source is empty; expected at least one token");
    if (length > (size_t)longest)
        return fail(error, CH_FAILED, "the source has %zu tokens%s: expected at most %d, the model's positions", length,
                    length > prompt.length ? ", <sos> included" : "", longest);
    return vocab_check_source(&model->vocab, prompt, "the source", error);
}

/* All tokens are read but an EOS. */
static ch_status look_at_text(struct ch_attention *a, const struct ch_model *model, ch_sequence source, int max_new,
                              ch_error *error) {
    struct reading text;
    size_t more = (size_t)(max_new > 0 ? max_new : 0) + 1;
    ch_status status = reading_new(&text, a->vocab, source, false, more, error);
    if (status != CH_OK) return status;
    ch_sequence prompt = {text.token, text.length};
    status = check_prompt(model, source, prompt.length, error);
    if (status == CH_OK) status = go_on(a, model, prompt, max_new, error);
    if (status == CH_OK) {
        size_t count = (size_t)a->generations;
        bool ended = count && a->generated[count - 1] == ch_vocab_eos(a->vocab);
        memcpy(text.token + text.length, a->generated, count * sizeof *text.token);
        /* A frame leaves out the last token of a target, whatever it is. */
        ch_sequence whole = {text.token, text.length + count + !ended};
        status = walk(a, model, (ch_sequence){0}, whole, error);
    }
    reading_free(&text);
    return status;
}

/* ---- without a decoder ---- */

static ch_status look_at_source(struct ch_attention *a, const struct ch_model *model, ch_sequence source,
                                ch_error *error) {
    struct reading text;
    ch_status status = reading_check(model, source, error);
    if (status != CH_OK) return status;
    status = reading_new(&text, a->vocab, source, true, 0, error);
    if (status != CH_OK) return status;
    status = walk(a, model, (ch_sequence){text.token, text.length}, (ch_sequence){0}, error);
    reading_free(&text);
    return status;
}

/* ---- the public functions ---- */

static enum config_attention last_attention(const struct config *config) {
    if (!config->arch->decoder) return CONFIG_ENCODER_SELF;
    return config->arch->encoder ? CONFIG_DECODER_CROSS : CONFIG_DECODER_SELF;
}

static ch_status look(struct ch_attention *a, const struct ch_model *model, ch_sequence source, int max_new,
                      ch_error *error) {
    ch_status status = keep(&a->source, &a->sources, source.tokens, source.length, error);
    if (status != CH_OK) return status;
    if (!model->config.arch->decoder) return look_at_source(a, model, source, error);
    return model_continues(model) ? look_at_text(a, model, source, max_new, error)
                                  : look_at_answer(a, model, source, max_new, error);
}

ch_status ch_look(const ch_model *model, ch_sequence source, int max_new, ch_attention **attention, ch_error *error) {
    *attention = NULL;
    struct ch_attention *a = mem_new(1, sizeof *a);
    if (!a) return fail_memory(error, "the maps");
    *a = (struct ch_attention){.vocab = &model->vocab,
                               .which = last_attention(&model->config),
                               .window = model->config.window,
                               .layers = model->config.layers};
    ch_status status = look(a, model, source, max_new, error);
    if (status == CH_OK)
        *attention = a;
    else
        ch_attention_free(a);
    return status;
}

void ch_attention_free(ch_attention *a) {
    if (!a) return;
    mem_free(a->heads);
    mem_free(a->first);
    mem_free(a->source);
    mem_free(a->generated);
    mem_free(a->sequence);
    mem_free(a->map);
    mem_free(a);
}

bool ch_attention_is_cross(const ch_attention *a) {
    return a->which == CONFIG_DECODER_CROSS;
}

int ch_attention_layers(const ch_attention *a) {
    return a->layers;
}

int ch_attention_heads(const ch_attention *a, int layer) {
    ch_assert(layer >= 0 && layer < a->layers);
    return a->heads[layer];
}

ch_sequence ch_attention_source(const ch_attention *a) {
    return (ch_sequence){a->source, (size_t)a->sources};
}

ch_sequence ch_attention_generated(const ch_attention *a) {
    return (ch_sequence){a->generated, (size_t)a->generations};
}

ch_sequence ch_attention_rows(const ch_attention *a) {
    return (ch_sequence){a->sequence ? a->sequence : a->generated, (size_t)a->rows};
}

ch_sequence ch_attention_columns(const ch_attention *a) {
    return (ch_sequence){a->sequence ? a->sequence : a->source, (size_t)a->columns};
}

const float *ch_attention_map(const ch_attention *a, int layer, int head) {
    ch_assert(layer >= 0 && layer < a->layers && head >= 0 && head < a->heads[layer]);
    return map_of(a, layer, head);
}
