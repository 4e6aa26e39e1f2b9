/*
 * ch_look: decodes greedily, then walks the model once more over the answer with someone looking at the weights of
 * cross-attention. Looking recomputes maps from what the pass saved anyway, so it cannot change the pass.
 */
#include "inspect/attention.h"
#include "base/memory.h"
#include "model/pad_cuts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *map_of(const struct ch_attention *a, int layer, int head) {
    size_t size = (size_t)a->rows * (size_t)a->columns;
    return a->map + (a->first[layer] + (size_t)head) * size;
}

/* ---- catching the maps as they pass ---- */

/* The layer whose cross-attention has that name, or -1. */
static int layer_of(const struct ch_attention *a, const char *name) {
    for (int layer = 0; layer < a->layers; layer++) {
        char cross[PARAM_NAME];
        snprintf(cross, sizeof cross, "dec.%d.cross_attn", layer);
        if (strcmp(cross, name) == 0) return layer;
    }
    return -1;
}

static bool wants(void *context, const char *layer, const char *site) {
    return strcmp(site, "weights") == 0 && layer_of(context, layer) >= 0;
}

static void see_map(void *context, const char *layer, const char *site, int sequence, int head, const real *x,
                    int queries, int keys) {
    (void)site, (void)sequence;
    const struct ch_attention *a = context;
    float *map = map_of(a, layer_of(a, layer), head);
    for (size_t i = 0; i < (size_t)queries * (size_t)keys; i++) map[i] = (float)x[i];
}

/* ---- decoding and walking ---- */

static ch_status allocate(struct ch_attention *a, const struct ch_model *model, ch_sequence source, int rows,
                          ch_error *error) {
    a->vocab = &model->vocab;
    a->layers = model->config.layers;
    a->rows = rows;
    a->columns = (int)source.length;
    a->heads = mem_new((size_t)a->layers, sizeof *a->heads);
    a->first = mem_new((size_t)a->layers, sizeof *a->first);
    a->source = mem_new(source.length, sizeof *a->source);
    a->generated = mem_new((size_t)rows, sizeof *a->generated);
    if (!a->heads || !a->first || !a->source || !a->generated) return fail_memory(error, "the maps");
    size_t maps = 0;
    for (int layer = 0; layer < a->layers; layer++) {
        a->heads[layer] = config_shape(&model->config, CONFIG_DECODER_CROSS, layer)->heads;
        a->first[layer] = maps;
        maps += (size_t)a->heads[layer];
    }
    memcpy(a->source, source.tokens, source.length * sizeof *a->source);
    a->map = mem_new(maps, (size_t)rows * source.length * sizeof *a->map);
    return a->map ? CH_OK : fail_memory(error, "the maps");
}

/* Teacher forcing on what was generated: SOS and all but the last token are the decoder's input. */
static ch_status fill_frame(struct frame *frame, const struct ch_attention *a, ch_error *error) {
    int *target = mem_new((size_t)a->rows + 1, sizeof *target);
    if (!target) return fail_memory(error, "a batch");
    target[0] = ch_vocab_sos(a->vocab);
    memcpy(target + 1, a->generated, (size_t)a->rows * sizeof *target);
    frame_add(frame, (ch_sequence){a->source, (size_t)a->columns}, (ch_sequence){target, (size_t)a->rows + 1}, 0);
    mem_free(target);
    return CH_OK;
}

static ch_status walk(struct ch_attention *a, const struct ch_model *model, ch_error *error) {
    struct capture capture = {.wants = wants, .map = see_map, .context = a};
    struct workspace workspace = {0};
    struct frame frame = {0};
    struct pad_cuts pads = {0};
    struct batch_limits limits = frame_limits(&model->config, 1, a->columns, a->rows + 1);
    struct pass pass = {.core = &attention_fused, .dropout = DROPOUT_OFF, .capture = &capture};
    ch_status status = workspace_new(&workspace, model, &pass, &limits, false, error);
    if (status != CH_OK) return status;
    bool complete = frame_new(&frame, &model->config, &limits) && pad_cuts_new(&pads, model, limits.target);
    status = complete ? fill_frame(&frame, a, error) : fail_memory(error, "a batch");
    if (status == CH_OK) {
        pad_cuts_add(&pads, model, 0, frame.target.token, frame.target.view.rows);
        pad_cuts_apply(&pads, &pass);
        pass.params = &model->params;
        pass.arena = &workspace.arena;
        struct assembly_input input = frame_input(&frame);
        assembly_forward(&pass, &model->net, &input, &workspace.saved);
    }
    pad_cuts_free(&pads);
    frame_free(&frame);
    workspace_free(&workspace);
    return status;
}

/* The answer with its EOS into a->generated. */
static ch_status take_answer(struct ch_attention *a, const struct ch_model *model, ch_sequence source, ch_answer answer,
                             ch_error *error) {
    int rows = (int)answer.length + answer.ended;
    ch_status status = allocate(a, model, source, rows, error);
    if (status != CH_OK) return status;
    memcpy(a->generated, answer.tokens, answer.length * sizeof *a->generated);
    if (answer.ended) a->generated[rows - 1] = ch_vocab_eos(&model->vocab);
    return CH_OK;
}

static ch_status look(struct ch_attention *a, const struct ch_model *model, ch_sequence source, int max_new,
                      ch_error *error) {
    ch_decode_options options = {.max_new = max_new, .threads = 1};
    ch_decoder *decoder;
    ch_answer answer;
    ch_status status = ch_decoder_new(model, &options, &decoder, error);
    if (status != CH_OK) return status;
    status = ch_decoder_run(decoder, &source, 1, &answer, error);
    if (status == CH_OK) status = take_answer(a, model, source, answer, error);
    ch_decoder_free(decoder);
    return status == CH_OK ? walk(a, model, error) : status;
}

ch_status ch_look(const ch_model *model, ch_sequence source, int max_new, ch_attention **attention, ch_error *error) {
    *attention = NULL;
    struct ch_attention *a = mem_new(1, sizeof *a);
    if (!a) return fail_memory(error, "the maps");
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
    mem_free(a->map);
    mem_free(a);
}

/* ---- what was seen ---- */

int ch_attention_layers(const ch_attention *a) {
    return a->layers;
}

int ch_attention_heads(const ch_attention *a, int layer) {
    ch_assert(layer >= 0 && layer < a->layers);
    return a->heads[layer];
}

ch_sequence ch_attention_source(const ch_attention *a) {
    return (ch_sequence){a->source, (size_t)a->columns};
}

ch_sequence ch_attention_generated(const ch_attention *a) {
    return (ch_sequence){a->generated, (size_t)a->rows};
}

const float *ch_attention_map(const ch_attention *a, int layer, int head) {
    ch_assert(layer >= 0 && layer < a->layers && head >= 0 && head < a->heads[layer]);
    return map_of(a, layer, head);
}
