/*
 * Alignment, as mass on a line: with S source tokens, the anti-diagonal of the row that generates answer token t is
 * column S - 1 - t and the diagonal is column t. Means over the rows that generate a source token: not EOS, and t < S.
 * Where nothing answers a source there is no such line, and entropies alone speak, of all rows.
 */
#include "inspect/attention.h"

static double row_entropy(const float *row, int columns) {
    double entropy = 0;
    for (int j = 0; j < columns; j++)
        if (row[j] > 0) entropy -= (double)row[j] * log((double)row[j]);
    return entropy;
}

/* Keys that a row may see. */
static int keys_of(const struct ch_attention *a, int row) {
    if (a->which == CONFIG_DECODER_CROSS) return a->columns;
    int window = a->window ? a->window : a->columns;
    int first = row < window ? 0 : row - window + 1, end = row + (a->which == CONFIG_DECODER_SELF ? 1 : window);
    return (end < a->columns ? end : a->columns) - first;
}

static void add_row(ch_alignment *sum, const struct ch_attention *a, const float *map, int row) {
    sum->entropy += row_entropy(map + (size_t)row * (size_t)a->columns, a->columns);
    sum->uniform_entropy += log((double)keys_of(a, row));
}

/* ---- with a line to follow ---- */

/* Mass that says a line is followed, and the share of uniform entropy above which nothing is looked at. */
static const double clear_mass = 0.5, flat_entropy = 0.9;

const char *alignment_verdict(const ch_alignment *alignment) {
    bool flat = alignment->entropy >= flat_entropy * alignment->uniform_entropy;
    if (!(alignment->uniform_entropy > 0)) return "mixed"; /* one column: every line is the same */
    if (alignment->anti_diagonal >= clear_mass && alignment->anti_diagonal > alignment->diagonal) return "reversing";
    if (alignment->diagonal >= clear_mass) return "copying";
    return flat ? "not used" : "mixed";
}

static ch_alignment alignment_of(const struct ch_attention *a, const float *map) {
    ch_alignment alignment = {.aligned = true};
    int rows = 0;
    for (int t = 0; t < a->generations && t < a->sources; t++) {
        if (a->generated[t] == ch_vocab_eos(a->vocab)) continue;
        const float *row = map + (size_t)attention_row(a, t) * (size_t)a->columns;
        alignment.anti_diagonal += (double)row[a->sources - 1 - t];
        alignment.diagonal += (double)row[t];
        add_row(&alignment, a, map, attention_row(a, t));
        rows++;
    }
    if (rows) {
        alignment.anti_diagonal /= rows;
        alignment.diagonal /= rows;
        alignment.entropy /= rows;
        alignment.uniform_entropy /= rows;
    } else
        alignment.uniform_entropy = log((double)a->columns);
    alignment.verdict = rows && a->sources > 1 ? alignment_verdict(&alignment) : "mixed";
    return alignment;
}

/* ---- without ---- */

static const double sharp_entropy = 0.5; /* the share of uniform entropy up to which a row looks at little */

static ch_alignment spread_of(const struct ch_attention *a, const float *map) {
    ch_alignment spread = {.anti_diagonal = (double)NAN, .diagonal = (double)NAN, .verdict = "mixed"};
    for (int row = 0; row < a->rows; row++) add_row(&spread, a, map, row);
    spread.entropy /= a->rows;
    spread.uniform_entropy /= a->rows;
    if (!(spread.uniform_entropy > 0)) return spread;
    if (spread.entropy >= flat_entropy * spread.uniform_entropy) spread.verdict = "diffuse";
    if (spread.entropy <= sharp_entropy * spread.uniform_entropy) spread.verdict = "focused";
    return spread;
}

ch_alignment ch_attention_alignment(const ch_attention *a, int layer, int head) {
    const float *map = ch_attention_map(a, layer, head);
    return a->answers ? alignment_of(a, map) : spread_of(a, map);
}
