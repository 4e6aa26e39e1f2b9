#include "model/encoder_decoder.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- declaration, in the lesson's order of registration ---- */

static ch_status declare_blocks(struct block *block, struct params *params, const struct config *config,
                                const char *prefix, const struct block_kind *kind, ch_error *error) {
    ch_status status = CH_OK;
    for (int layer = 0; layer < config->layers && status == CH_OK; layer++) {
        char name[PARAM_NAME];
        snprintf(name, sizeof name, "%s.%d", prefix, layer);
        struct block_parts parts = {
            .width = config->d_model,
            .hidden = config->d_ff,
            .self = config_shape(config, kind->cross ? CONFIG_DECODER_SELF : CONFIG_ENCODER_SELF, layer),
            .cross = config_shape(config, CONFIG_DECODER_CROSS, layer),
            .norm = config->norm,
            .ffn = config->ffn,
        };
        status = block_declare(&block[layer], params, name, kind, &parts, error);
    }
    return status;
}

static ch_status declare_embeddings(struct encoder_decoder *net, struct params *params, const struct config *config,
                                    ch_error *error) {
    ch_status status = embedding_declare(&net->source, params, "src", "src_emb", net->vocab, net->width,
                                         config->symbols, &net->position, error);
    if (status == CH_OK)
        status = embedding_declare(&net->target, params, "tgt", "tgt_emb", net->vocab, net->width, config->symbols,
                                   &net->position, error);
    if (status == CH_OK)
        status = position_declare(&net->position, config->position, params, net->width, config->max_positions, error);
    return status;
}

ch_status encoder_decoder_declare(struct encoder_decoder *net, struct params *params, const struct config *config,
                                  ch_error *error) {
    size_t layers = (size_t)config->layers;
    *net = (struct encoder_decoder){.width = config->d_model,
                                    .vocab = config->symbols + VOCAB_SPECIALS,
                                    .layers = config->layers,
                                    .encoder = mem_new(layers, sizeof *net->encoder),
                                    .decoder = mem_new(layers, sizeof *net->decoder)};
    if (!net->encoder || !net->decoder) return fail_memory(error, "the model's layers");
    ch_status status = declare_embeddings(net, params, config, error);
    if (status == CH_OK) status = declare_blocks(net->encoder, params, config, "enc", &block_encoder, error);
    if (status == CH_OK) status = declare_blocks(net->decoder, params, config, "dec", &block_decoder, error);
    if (status == CH_OK)
        status = linear_declare(&net->generator, params, "", "generator", net->width, net->vocab, true, NULL, error);
    return status;
}

void encoder_decoder_free(struct encoder_decoder *net) {
    mem_free(net->encoder);
    mem_free(net->decoder);
    *net = (struct encoder_decoder){0};
}

bool encoder_decoder_saved_new(struct encoder_decoder_saved *saved, const struct encoder_decoder *net) {
    size_t layers = (size_t)net->layers;
    *saved = (struct encoder_decoder_saved){.encoder = mem_new(layers, sizeof *saved->encoder),
                                            .decoder = mem_new(layers, sizeof *saved->decoder)};
    if (saved->encoder && saved->decoder) return true;
    encoder_decoder_saved_free(saved);
    return false;
}

void encoder_decoder_saved_free(struct encoder_decoder_saved *saved) {
    mem_free(saved->encoder);
    mem_free(saved->decoder);
    *saved = (struct encoder_decoder_saved){0};
}

/* ---- forward ---- */

/* x through the blocks. Without gradients to come, each block's memory is given back before the next. */
static real *blocks_forward(struct pass *pass, const struct block *block, int layers, real *x,
                            const struct batch *batch, struct memory memory, const struct decoder_caches *caches,
                            struct block_saved *saved) {
    for (int layer = 0; layer < layers; layer++) {
        struct kv_cache *self = caches ? &caches->self[layer] : NULL, *cross = caches ? &caches->cross[layer] : NULL;
        size_t mark = arena_mark(pass->arena);
        real *y = block_forward(pass, &block[layer], x, batch, memory, self, cross, &saved[layer]);
        if (pass->grad) {
            x = y;
            continue;
        }
        if (!pass_measures(pass)) memcpy(x, y, (size_t)batch->rows * (size_t)block->width * sizeof *x);
        arena_reset(pass->arena, mark);
    }
    return x;
}

real *encoder_forward(struct pass *pass, const struct encoder_decoder *net, const int *token, const struct batch *batch,
                      struct encoder_decoder_saved *saved) {
    saved->sources = batch;
    real *x = embedding_layer_forward(pass, &net->source, token, batch, &saved->source);
    x = blocks_forward(pass, net->encoder, net->layers, x, batch, (struct memory){0}, NULL, saved->encoder);
    pass_show(pass, "", "memory", x, net->width, net->width, batch);
    return x;
}

real *decoder_forward(struct pass *pass, const struct encoder_decoder *net, const int *token, const struct batch *batch,
                      struct memory memory, const struct decoder_caches *caches, struct encoder_decoder_saved *saved) {
    saved->targets = batch;
    real *x = embedding_layer_forward(pass, &net->target, token, batch, &saved->target);
    x = blocks_forward(pass, net->decoder, net->layers, x, batch, memory, caches, saved->decoder);
    saved->hidden = x;
    return x;
}

real *generator_forward(struct pass *pass, const struct encoder_decoder *net, const real *hidden,
                        const struct batch *batch) {
    real *logits = linear_forward(pass, &net->generator, hidden, batch->rows);
    pass_show(pass, "", "logits", logits, net->vocab, net->vocab, batch);
    return logits;
}

/* ---- backward ---- */

/* dx through the blocks, upwards and in place; the memory of each block's gradients is given back. */
static void blocks_backward(struct pass *pass, const struct block *block, int layers, real *dx, int rows, real *dmemory,
                            const struct block_saved *saved) {
    for (int layer = layers - 1; layer >= 0; layer--) {
        size_t mark = arena_mark(pass->arena);
        real *d = block_backward(pass, &block[layer], dx, dmemory, &saved[layer]);
        if (!pass_measures(pass)) memcpy(dx, d, (size_t)rows * (size_t)block->width * sizeof *dx);
        profile_lap(pass->profile, OPERATION_OTHER);
        arena_reset(pass->arena, mark);
    }
}

void encoder_decoder_backward(struct pass *pass, const struct encoder_decoder *net, const real *dlogits,
                              const struct encoder_decoder_saved *saved) {
    int targets = saved->targets->rows, sources = saved->sources->rows;
    pass_show_gradient(pass, "", "logits", dlogits, net->vocab, net->vocab, targets);
    real *dx = linear_backward(pass, &net->generator, dlogits, saved->hidden, targets);
    real *dmemory = pass_take(pass, (size_t)sources, (size_t)net->width);
    if (!pass_measures(pass)) clear_rows(dmemory, net->width, sources, net->width);
    blocks_backward(pass, net->decoder, net->layers, dx, targets, dmemory, saved->decoder);
    embedding_layer_backward(pass, &net->target, dx, targets, &saved->target);
    pass_show_gradient(pass, "", "memory", dmemory, net->width, net->width, sources);
    blocks_backward(pass, net->encoder, net->layers, dmemory, sources, NULL, saved->encoder);
    embedding_layer_backward(pass, &net->source, dmemory, sources, &saved->source);
}
