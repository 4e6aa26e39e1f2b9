#include "nn/bias.h"

const struct bias_variant bias_all = {{"all", "every layer has one, as in the lesson"}, true, true, true};
const struct bias_variant bias_no_attention = {
    {"no-attention", "none in the projections of attention, as in the article's code"}, false, true, true};
const struct bias_variant bias_no_output = {
    {"no-output", "all but the layer that gives logits, as in GPT-2"}, true, true, false};
const struct bias_variant bias_none = {{"none", "nowhere, not in layer norms either"}, false, false, false};

static const struct bias_variant *const variants[] = {&bias_all, &bias_no_attention, &bias_no_output, &bias_none, NULL};

const ch_variant *bias_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}
