/*
 * Presets name parts, not sizes: d-model, layers and the like stay what they are. Where a model of that name has what
 * no option here gives (BERT's second norm of embeddings and its segments), the preset is its blocks.
 */
#include "recipe/preset.h"

#include <string.h>

static const struct preset lesson = {
    .variant = {"lesson", "the lesson's model, Vaswani et al. 2017: the defaults"},
    .value = {{"arch", "encoder-decoder"},
              {"kv-heads", "0"},
              {"norm", "layernorm"},
              {"norm-placement", "post"},
              {"position", "sinusoidal"},
              {"ffn", "relu"},
              {"bias", "all"},
              {"tie", "none"},
              {"embedding-scale", "sqrt"},
              {"init", "xavier"}},
};
static const struct preset modern = {
    .variant = {"modern", "what current models share: norms before sublayers, RMSNorm, rotary positions, SwiGLU, "
                          "grouped queries; with any arch"},
    .value = {{"kv-heads", "2"},
              {"norm", "rmsnorm"},
              {"norm-placement", "pre"},
              {"position", "rope"},
              {"ffn", "swiglu"},
              {"bias", "none"},
              {"init", "normal"}},
};
static const struct preset gpt2 = {
    .variant = {"gpt2", "GPT-2, Radford et al. 2019: decoder-only, learned positions, norms before sublayers"},
    .value = {{"arch", "decoder-only"},
              {"kv-heads", "0"},
              {"norm", "layernorm"},
              {"norm-placement", "pre"},
              {"position", "learned"},
              {"ffn", "gelu-tanh"},
              {"bias", "no-output"},
              {"tie", "target-output"},
              {"embedding-scale", "one"},
              {"init", "normal"}},
};
static const struct preset llama = {
    .variant = {"llama", "Llama, Touvron et al. 2023: decoder-only, RMSNorm, rotary positions, SwiGLU, no biases"},
    .value = {{"arch", "decoder-only"},
              {"kv-heads", "0"},
              {"norm", "rmsnorm"},
              {"norm-placement", "pre"},
              {"position", "rope"},
              {"ffn", "swiglu"},
              {"bias", "none"},
              {"tie", "none"},
              {"embedding-scale", "one"},
              {"init", "normal"}},
};
static const struct preset bert = {
    .variant = {"bert", "BERT's blocks, Devlin et al. 2019: encoder-only, learned positions, norms behind sublayers"},
    .value = {{"arch", "encoder-only"},
              {"kv-heads", "0"},
              {"norm", "layernorm"},
              {"norm-placement", "post"},
              {"position", "learned"},
              {"ffn", "gelu"},
              {"bias", "all"},
              {"embedding-scale", "one"},
              {"init", "normal"}},
};

static const struct preset *const presets[] = {&lesson, &modern, &gpt2, &llama, &bert, NULL};

const ch_variant *preset_row(size_t i) {
    return presets[i] ? &presets[i]->variant : NULL;
}

const char *preset_value(const struct preset *preset, const char *option) {
    for (int i = 0; i < PRESET_VALUES && preset->value[i].option; i++)
        if (strcmp(preset->value[i].option, option) == 0) return preset->value[i].value;
    return NULL;
}
