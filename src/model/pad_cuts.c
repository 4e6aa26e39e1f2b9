#include "model/pad_cuts.h"
#include "base/memory.h"

bool pad_cuts_new(struct pad_cuts *cuts, const struct ch_model *model, int most) {
    *cuts = (struct pad_cuts){.edge = mem_new((size_t)most, sizeof *cuts->edge),
                              .cut = mem_new((size_t)model->config.layers, sizeof *cuts->cut),
                              .most = most,
                              .layers = model->config.layers};
    if (!cuts->edge || !cuts->cut) {
        pad_cuts_free(cuts);
        return false;
    }
    for (int layer = 0; layer < cuts->layers; layer++)
        cuts->cut[layer] = (struct cut){.layer = model->net.decoder.block[layer].self.name, .knockouts = cuts->edge};
    return true;
}

void pad_cuts_free(struct pad_cuts *cuts) {
    mem_free(cuts->edge);
    mem_free(cuts->cut);
    *cuts = (struct pad_cuts){0};
}

void pad_cuts_clear(struct pad_cuts *cuts) {
    cuts->count = 0;
}

void pad_cuts_add(struct pad_cuts *cuts, const struct ch_model *model, int sequence, const int *token, int length) {
    int pad = ch_vocab_pad(&model->vocab);
    for (int t = 0; t < length; t++) {
        if (token[t] != pad) continue;
        ch_assert(cuts->count < cuts->most);
        cuts->edge[cuts->count++] = (struct knockout){
            .sequence = sequence, .query_to = config_longest(&model->config), .key_from = t, .key_to = t + 1};
    }
}

void pad_cuts_apply(const struct pad_cuts *cuts, struct pass *pass) {
    for (int layer = 0; layer < cuts->layers; layer++) cuts->cut[layer].count = cuts->count;
    pass->cuts = cuts->cut;
    pass->cut_count = cuts->count ? cuts->layers : 0;
}
