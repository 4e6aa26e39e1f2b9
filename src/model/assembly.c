#include "model/assembly.h"

#include <string.h>

/* ---- declaration, in the lesson's order of registration ---- */

/* One embedding is of tokens; of two, one is of the source and one of the target. */
static ch_status declare_embeddings(struct assembly *net, struct params *params, const struct config *config,
                                    ch_error *error) {
    bool both = net->arch->encoder && net->arch->decoder;
    struct ch_vocab vocab = config_place_vocab(config);
    ch_status status = CH_OK;
    if (net->arch->encoder)
        status = embedding_declare(&net->encoder.embedding, params, both ? "src" : "tok", both ? "src_emb" : "tok_emb",
                                   vocab.size, net->width, vocab.pad, &net->position, error);
    if (status == CH_OK && config->tie->source)
        embedding_share(&net->decoder.embedding, params, "tgt", &net->encoder.embedding);
    else if (status == CH_OK && net->arch->decoder)
        status = embedding_declare(&net->decoder.embedding, params, both ? "tgt" : "tok", both ? "tgt_emb" : "tok_emb",
                                   vocab.size, net->width, vocab.pad, &net->position, error);
    embedding_set_scale(&net->encoder.embedding, config->embedding_scale);
    embedding_set_scale(&net->decoder.embedding, config->embedding_scale);
    struct position_sizes sizes = config_position(config);
    return status == CH_OK ? position_declare(&net->position, config->position, params, &sizes, error) : status;
}

ch_status assembly_declare(struct assembly *net, struct params *params, const struct config *config, ch_error *error) {
    *net = (struct assembly){.arch = config->arch,
                             .head = config->head,
                             .width = config->d_model,
                             .outputs = config->head->classes ? config->classes : config_place_vocab(config).size};
    const struct block_kind *kind = net->arch->encoder ? &block_decoder : &block_causal;
    ch_status status = declare_embeddings(net, params, config, error);
    if (status == CH_OK && net->arch->encoder)
        status = stack_declare_blocks(&net->encoder, params, config, "enc", &block_encoder, error);
    if (status == CH_OK && net->arch->decoder)
        status = stack_declare_blocks(&net->decoder, params, config, "dec", kind, error);
    if (status != CH_OK) return status;
    if (config->tie->output)
        return linear_declare_tied(&net->generator, params, "", net->head->parameter, net->width, net->outputs,
                                   config->bias->output,
                                   (net->arch->decoder ? &net->decoder : &net->encoder)->embedding.weight, error);
    return linear_declare(&net->generator, params, "", net->head->parameter, net->width, net->outputs,
                          config->bias->output, NULL, error);
}

void assembly_free(struct assembly *net) {
    stack_free(&net->encoder);
    stack_free(&net->decoder);
}

bool assembly_saved_new(struct assembly_saved *saved, const struct assembly *net) {
    *saved = (struct assembly_saved){0};
    bool complete = !net->arch->encoder || stack_saved_new(&saved->encoder, &net->encoder);
    if (complete && net->arch->decoder) complete = stack_saved_new(&saved->decoder, &net->decoder);
    if (!complete) assembly_saved_free(saved);
    return complete;
}

void assembly_saved_free(struct assembly_saved *saved) {
    stack_saved_free(&saved->encoder);
    stack_saved_free(&saved->decoder);
}

int assembly_logit_rows(const struct assembly *net, const struct batch *last) {
    return net->head->classes ? last->sequences : last->rows;
}

/* ---- forward ---- */

real *encoder_forward(struct pass *pass, const struct assembly *net, const int *token, const struct batch *batch,
                      struct assembly_saved *saved) {
    real *memory = stack_forward(pass, &net->encoder, token, batch, (struct memory){0}, NULL, &saved->encoder);
    if (net->arch->decoder) pass_show(pass, "", "memory", memory, net->width, net->width, batch);
    return memory;
}

real *decoder_forward(struct pass *pass, const struct assembly *net, const int *token, const struct batch *batch,
                      struct memory memory, const struct stack_caches *caches, struct assembly_saved *saved) {
    return stack_forward(pass, &net->decoder, token, batch, memory, caches, &saved->decoder);
}

real *generator_forward(struct pass *pass, const struct assembly *net, const real *hidden, const struct batch *batch) {
    real *logits = linear_forward(pass, &net->generator, hidden, batch->rows);
    pass_show(pass, "", "logits", logits, net->outputs, net->outputs, batch);
    return logits;
}

/* The first row of each sequence, (B, D). */
static real *first_rows(struct pass *pass, const struct assembly *net, const real *hidden, const struct batch *batch) {
    size_t width = (size_t)net->width;
    real *first = pass_take(pass, (size_t)batch->sequences, width);
    for (int b = 0; b < batch->sequences && !pass_measures(pass); b++)
        memcpy(first + (size_t)b * width, hidden + (size_t)batch->offset[b] * width, width * sizeof *first);
    return first;
}

real *assembly_forward(struct pass *pass, const struct assembly *net, const struct assembly_input *input,
                       struct assembly_saved *saved) {
    struct memory memory = {0};
    const struct batch *last = net->arch->decoder ? input->targets : input->sources;
    real *hidden = NULL;
    if (net->arch->encoder) {
        hidden = encoder_forward(pass, net, input->source_token, input->sources, saved);
        memory = (struct memory){hidden, input->sources};
    }
    if (net->arch->decoder)
        hidden = decoder_forward(pass, net, input->target_token, input->targets, memory, NULL, saved);
    struct batch classified = {.sequences = last->sequences, .rows = last->sequences};
    if (net->head->classes) {
        hidden = first_rows(pass, net, hidden, last);
        last = &classified;
    }
    saved->hidden = hidden;
    return generator_forward(pass, net, hidden, last);
}

/* ---- backward ---- */

/* From the gradients of first rows to those of all, (N, D). */
static real *first_rows_backward(struct pass *pass, const struct assembly *net, const real *dfirst,
                                 const struct batch *batch) {
    size_t width = (size_t)net->width;
    real *dx = pass_take(pass, (size_t)batch->rows, width);
    if (pass_measures(pass)) return dx;
    clear_rows(dx, net->width, batch->rows, net->width);
    for (int b = 0; b < batch->sequences; b++)
        memcpy(dx + (size_t)batch->offset[b] * width, dfirst + (size_t)b * width, width * sizeof *dx);
    return dx;
}

static real *generator_backward(struct pass *pass, const struct assembly *net, const real *dlogits,
                                const struct assembly_saved *saved) {
    const struct batch *last = net->arch->decoder ? saved->decoder.batch : saved->encoder.batch;
    int rows = assembly_logit_rows(net, last);
    pass_show_gradient(pass, "", "logits", dlogits, net->outputs, net->outputs, rows);
    real *dx = linear_backward(pass, &net->generator, dlogits, saved->hidden, rows);
    return net->head->classes ? first_rows_backward(pass, net, dx, last) : dx;
}

void assembly_backward(struct pass *pass, const struct assembly *net, const real *dlogits,
                       const struct assembly_saved *saved) {
    real *dx = generator_backward(pass, net, dlogits, saved), *dmemory = NULL;
    int sources = net->arch->encoder ? saved->encoder.batch->rows : 0;
    if (net->arch->decoder && net->arch->encoder) {
        dmemory = pass_take(pass, (size_t)sources, (size_t)net->width);
        if (!pass_measures(pass)) clear_rows(dmemory, net->width, sources, net->width);
    }
    if (net->arch->decoder) stack_backward(pass, &net->decoder, dx, dmemory, &saved->decoder);
    if (!net->arch->encoder) return;
    if (dmemory) pass_show_gradient(pass, "", "memory", dmemory, net->width, net->width, sources);
    stack_backward(pass, &net->encoder, dmemory ? dmemory : dx, NULL, &saved->encoder);
}
