#include "nn/arch.h"

const struct arch arch_encoder_decoder = {
    .variant = {"encoder-decoder", "a target for a source: a decoder attends to what an encoder made (the lesson)"},
    .encoder = true,
    .decoder = true,
};
const struct arch arch_decoder_only = {
    .variant = {"decoder-only", "one causal stack, as GPT and Llama: every token from those before it"},
    .decoder = true,
};
const struct arch arch_encoder_only = {
    .variant = {"encoder-only", "one stack that sees both ways, as BERT: a class, or tokens that were hidden"},
    .encoder = true,
};

static const struct arch *const archs[] = {&arch_encoder_decoder, &arch_decoder_only, &arch_encoder_only, NULL};

const ch_variant *arch_row(size_t i) {
    return archs[i] ? &archs[i]->variant : NULL;
}

const struct head head_next_token = {
    .variant = {"next-token", "the token behind each row"},
    .parameter = "generator",
    .decodes = true,
};
const struct head head_masked_token = {
    .variant = {"masked-token", "the tokens that were hidden (Devlin et al. 2019)"},
    .parameter = "generator",
};
const struct head head_classification = {
    .variant = {"classification", "a class for a whole sequence, from its first row, which <sos> has"},
    .parameter = "classifier",
    .classes = true,
};

static const struct head *const heads[] = {&head_next_token, &head_masked_token, &head_classification, NULL};

const ch_variant *head_row(size_t i) {
    return heads[i] ? &heads[i]->variant : NULL;
}
