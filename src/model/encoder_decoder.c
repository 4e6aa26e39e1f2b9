#include "model/encoder_decoder.h"

/* ---- declaration, in the lesson's order of registration ---- */

static ch_status declare_embeddings(struct encoder_decoder *net, struct params *params, const struct config *config,
                                    ch_error *error) {
    ch_status status = embedding_declare(&net->encoder.embedding, params, "src", "src_emb", net->vocab, net->width,
                                         config->symbols, &net->position, error);
    if (status != CH_OK) return status;
    embedding_set_scale(&net->encoder.embedding, config->embedding_scale);
    if (config->tie->source)
        embedding_share(&net->decoder.embedding, params, "tgt", &net->encoder.embedding);
    else
        status = embedding_declare(&net->decoder.embedding, params, "tgt", "tgt_emb", net->vocab, net->width,
                                   config->symbols, &net->position, error);
    embedding_set_scale(&net->decoder.embedding, config->embedding_scale);
    if (status == CH_OK)
        status = position_declare(&net->position, config->position, params, net->width, config->max_positions, error);
    return status;
}

ch_status encoder_decoder_declare(struct encoder_decoder *net, struct params *params, const struct config *config,
                                  ch_error *error) {
    *net = (struct encoder_decoder){.width = config->d_model, .vocab = config->symbols + VOCAB_SPECIALS};
    ch_status status = declare_embeddings(net, params, config, error);
    if (status == CH_OK) status = stack_declare_blocks(&net->encoder, params, config, "enc", &block_encoder, error);
    if (status == CH_OK) status = stack_declare_blocks(&net->decoder, params, config, "dec", &block_decoder, error);
    if (status != CH_OK) return status;
    if (config->tie->output)
        return linear_declare_tied(&net->generator, params, "", "generator", net->width, net->vocab, true,
                                   net->decoder.embedding.weight, error);
    return linear_declare(&net->generator, params, "", "generator", net->width, net->vocab, true, NULL, error);
}

void encoder_decoder_free(struct encoder_decoder *net) {
    stack_free(&net->encoder);
    stack_free(&net->decoder);
}

bool encoder_decoder_saved_new(struct encoder_decoder_saved *saved, const struct encoder_decoder *net) {
    *saved = (struct encoder_decoder_saved){0};
    if (stack_saved_new(&saved->encoder, &net->encoder) && stack_saved_new(&saved->decoder, &net->decoder)) return true;
    encoder_decoder_saved_free(saved);
    return false;
}

void encoder_decoder_saved_free(struct encoder_decoder_saved *saved) {
    stack_saved_free(&saved->encoder);
    stack_saved_free(&saved->decoder);
}

/* ---- forward ---- */

real *encoder_forward(struct pass *pass, const struct encoder_decoder *net, const int *token, const struct batch *batch,
                      struct encoder_decoder_saved *saved) {
    real *memory = stack_forward(pass, &net->encoder, token, batch, (struct memory){0}, NULL, &saved->encoder);
    pass_show(pass, "", "memory", memory, net->width, net->width, batch);
    return memory;
}

real *decoder_forward(struct pass *pass, const struct encoder_decoder *net, const int *token, const struct batch *batch,
                      struct memory memory, const struct stack_caches *caches, struct encoder_decoder_saved *saved) {
    real *hidden = stack_forward(pass, &net->decoder, token, batch, memory, caches, &saved->decoder);
    saved->hidden = hidden;
    return hidden;
}

real *generator_forward(struct pass *pass, const struct encoder_decoder *net, const real *hidden,
                        const struct batch *batch) {
    real *logits = linear_forward(pass, &net->generator, hidden, batch->rows);
    pass_show(pass, "", "logits", logits, net->vocab, net->vocab, batch);
    return logits;
}

/* ---- backward ---- */

void encoder_decoder_backward(struct pass *pass, const struct encoder_decoder *net, const real *dlogits,
                              const struct encoder_decoder_saved *saved) {
    int targets = saved->decoder.batch->rows, sources = saved->encoder.batch->rows;
    pass_show_gradient(pass, "", "logits", dlogits, net->vocab, net->vocab, targets);
    real *dx = linear_backward(pass, &net->generator, dlogits, saved->hidden, targets);
    real *dmemory = pass_take(pass, (size_t)sources, (size_t)net->width);
    if (!pass_measures(pass)) clear_rows(dmemory, net->width, sources, net->width);
    stack_backward(pass, &net->decoder, dx, dmemory, &saved->decoder);
    pass_show_gradient(pass, "", "memory", dmemory, net->width, net->width, sources);
    stack_backward(pass, &net->encoder, dmemory, NULL, &saved->encoder);
}
