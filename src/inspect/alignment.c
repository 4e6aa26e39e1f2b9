/*
 * Alignment of a cross-attention map, as mass on a line: with S source tokens, the anti-diagonal of row t is column
 * S - 1 - t and the diagonal is column t. Means over the rows that generate a source token: not EOS, and t < S.
 */
#include "inspect/attention.h"

static double row_entropy(const float *row, int columns) {
    double entropy = 0;
    for (int j = 0; j < columns; j++)
        if (row[j] > 0) entropy -= (double)row[j] * log((double)row[j]);
    return entropy;
}

/* Mass that says a line is followed, and the share of uniform entropy above which nothing is looked at. */
static const double clear_mass = 0.5, flat_entropy = 0.9;

const char *alignment_verdict(const ch_alignment *alignment) {
    bool flat = alignment->entropy >= flat_entropy * alignment->uniform_entropy;
    if (!(alignment->uniform_entropy > 0)) return "mixed"; /* one column: every line is the same */
    if (alignment->anti_diagonal >= clear_mass && alignment->anti_diagonal > alignment->diagonal) return "reversing";
    if (alignment->diagonal >= clear_mass) return "copying";
    return flat ? "not used" : "mixed";
}

ch_alignment ch_attention_alignment(const ch_attention *a, int layer, int head) {
    const float *map = ch_attention_map(a, layer, head);
    ch_alignment alignment = {.uniform_entropy = log((double)a->columns)};
    int rows = 0;
    for (int t = 0; t < a->rows && t < a->columns; t++) {
        if (a->generated[t] == ch_vocab_eos(a->vocab)) continue;
        const float *row = map + (size_t)t * (size_t)a->columns;
        alignment.anti_diagonal += (double)row[a->columns - 1 - t];
        alignment.diagonal += (double)row[t];
        alignment.entropy += row_entropy(row, a->columns);
        rows++;
    }
    if (rows) {
        alignment.anti_diagonal /= rows;
        alignment.diagonal /= rows;
        alignment.entropy /= rows;
    }
    alignment.verdict = rows ? alignment_verdict(&alignment) : "mixed";
    return alignment;
}
