#include "data/hide.h"
#include "data/draws.h"

static const double hidden = 0.15, masked = 0.8, any_symbol = 0.1; /* shares: of the tokens, and of those hidden */

/* What a hidden token is shown as. */
static int shown(const struct ch_vocab *vocab, struct draws *draws, int token) {
    double part = draws_unit(draws);
    if (part < masked) return vocab->mask;
    return part < masked + any_symbol ? draws_below(draws, vocab->symbols) : token;
}

static void hide(const struct ch_vocab *vocab, struct draws *draws, int *source, int *target, int length) {
    int sure = draws_below(draws, length); /* is hidden in any case */
    for (int t = 0; t < length; t++) {
        int token = target[t];
        bool hide = draws_unit(draws) < hidden || t == sure;
        source[t] = hide ? shown(vocab, draws, token) : token;
        target[t] = hide ? token : -1;
    }
}

void examples_hide(struct ch_examples *examples, struct philox_key key) {
    examples->kind = EXAMPLE_LABELS;
    for (int i = 0; i < examples->count; i++) {
        struct draws draws = draws_philox(key, (uint32_t)i);
        int length = examples->target_length[i] < examples->longest ? examples->target_length[i] : examples->longest;
        hide(&examples->vocab, &draws, examples->source + (size_t)i * (size_t)examples->longest,
             examples->target + (size_t)i * (size_t)examples->longest_target, length);
        examples->source_length[i] = examples->target_length[i] = length;
    }
}
