/* What every attention core shares: how the score descriptor hides keys, and where packed maps lie. */
#include "kernels/kernels.h"
#include "base/vector.h"

#include <stdlib.h>

static int query_position(const struct scores *scores, int b, int i) {
    return scores->query->position[scores->query->offset[b] + i];
}

/* Keys that queries at positions from `least` to `most` may see. */
static struct key_range visible_between(const struct scores *scores, int b, int least, int most) {
    int keys = scores->key->length[b], window = scores->window;
    int ahead = scores->causal ? 1 : window > 0 ? window : keys; /* `most` sees keys below most + ahead */
    struct key_range range = {0, ahead < keys - most ? most + ahead : keys};
    if (window > 0 && least - window >= 0) range.from = least - window + 1;
    return range.from < range.to ? range : (struct key_range){0, 0};
}

struct key_range scores_visible(const struct scores *scores, int b, int i) {
    int position = query_position(scores, b, i);
    return visible_between(scores, b, position, position);
}

struct key_range scores_visible_to_any(const struct scores *scores, int b, int first, int queries) {
    const int *position = scores->query->position + scores->query->offset[b] + first;
    if (!scores->causal && scores->window == 0) return (struct key_range){0, scores->key->length[b]};
    int least = position[0], most = position[0];
    for (int i = 1; i < queries; i++) {
        least = position[i] < least ? position[i] : least;
        most = position[i] > most ? position[i] : most;
    }
    struct key_range range = visible_between(scores, b, least, most);
    range.from = range.from / KEY_BLOCK * KEY_BLOCK;
    return range;
}

static bool cuts(const struct knockout *cut, int b, int position) {
    return (cut->sequence < 0 || cut->sequence == b) && cut->query_from <= position && position < cut->query_to;
}

/* The edges cut from query i among the keys from `key` on, whose scores lie `step` apart. */
static void hide_cut(real *x, size_t step, const struct scores *scores, int b, int i, int key, int keys) {
    for (int c = 0; c < scores->knockout_count; c++) {
        const struct knockout *cut = &scores->knockouts[c];
        if (!cuts(cut, b, query_position(scores, b, i))) continue;
        int from = cut->key_from > key ? cut->key_from - key : 0;
        int to = cut->key_to < key + keys ? cut->key_to - key : keys;
        for (int j = from; j < to; j++) x[(size_t)j * step] = -RC(INFINITY);
    }
}

void scores_hide(real *x, const struct scores *scores, int b, int i, int key, int keys) {
    struct key_range seen = scores_visible(scores, b, i);
    for (int j = key; j < key + keys && j < seen.from; j++) x[j - key] = -RC(INFINITY);
    for (int j = seen.to > key ? seen.to : key; j < key + keys; j++) x[j - key] = -RC(INFINITY);
    hide_cut(x, 1, scores, b, i, key, keys);
}

/* x (keys, columns), rows ld apart, = -inf where a key, from `key` on, stands behind its column's position. */
VECTORISED static void hide_behind(real *restrict x, int ld, int key, int keys, int columns,
                                   const int *restrict position) {
    int least = key + keys;
    for (int c = 0; c < columns; c++) least = position[c] < least ? position[c] : least;
    for (int j = least < key ? key : least; j < key + keys; j++) {
        real *row = x + (size_t)(j - key) * (size_t)ld;
        for (int c = 0; c < columns; c++) row[c] = j <= position[c] ? row[c] : -RC(INFINITY);
    }
}

static void hide_causal(real *x, int ld, const int *position, int queries, int key, int keys) {
    int whole = queries / LANES * LANES, rest[LANES];
    if (whole > 0) hide_behind(x, ld, key, keys, whole, position);
    if (whole == queries) return;
    /* a whole vector is faster than what is left of one, and nobody looks behind the last query */
    for (int l = 0; l < LANES; l++) rest[l] = whole + l < queries ? position[whole + l] : key + keys;
    hide_behind(x + whole, ld, key, keys, LANES, rest);
}

/* x (keys from..to - 1 of those from `key` on, LANES) = -inf where a key is not within the window, before or behind. */
VECTORISED static void hide_strip(real *restrict x, int ld, int key, struct key_range some, int window,
                                  const int *restrict position) {
    for (int j = some.from; j < some.to; j++) {
        real *row = x + (size_t)(j - key) * (size_t)ld;
        for (int l = 0; l < LANES; l++) row[l] = abs(position[l] - j) < window ? row[l] : -RC(INFINITY);
    }
}

/* Keys that some of a strip's queries do not see for the window: far behind them, then far ahead. */
static void hide_window(real *x, int ld, const struct scores *scores, const int *position, int queries, int key,
                        int keys) {
    int lanes[LANES], window = scores->window, end = key + keys;
    for (int strip = 0; strip < queries; strip += LANES) {
        int least = position[strip], most = least;
        for (int l = 0; l < LANES; l++) {
            lanes[l] = position[strip + l < queries ? strip + l : queries - 1];
            least = lanes[l] < least ? lanes[l] : least;
            most = lanes[l] > most ? lanes[l] : most;
        }
        struct key_range behind = {key, most - window + 1 < end ? most - window + 1 : end};
        struct key_range ahead = {end - least > window ? least + window : end, end};
        ahead.from = ahead.from > key ? ahead.from : key;
        hide_strip(x + strip, ld, key, behind, window, lanes);
        if (!scores->causal) hide_strip(x + strip, ld, key, ahead, window, lanes); /* else they are hidden already */
    }
}

void scores_hide_tile(real *x, int ld, const struct scores *scores, int b, int first, int queries, int key, int keys) {
    const int *position = scores->query->position + scores->query->offset[b] + first;
    if (scores->causal) hide_causal(x, ld, position, queries, key, keys);
    if (scores->window > 0) hide_window(x, ld, scores, position, queries, key, keys);
    for (int i = 0; scores->knockout_count && i < queries; i++)
        hide_cut(x + i, (size_t)ld, scores, b, first + i, key, keys);
}

bool scores_kept(real *kept, int ld, const struct scores *scores, int b, int h, int first, int queries, int key,
                 int keys) {
    const struct batch *query = scores->query;
    const struct dropout *dropout = &scores->dropout;
    int row = scores->key->length[b];
    if (dropout->rate == 0) return false;
    /* where a mask that was drawn beforehand lies; Philox needs no such place */
    size_t packed = dropout->drawn ? scores_packed(scores, b, h) + (size_t)first * (size_t)row + (size_t)key : 0;
    const int *position = query->position + query->offset[b] + first;
    for (int strip = 0; strip < queries; strip += LANES)
        dropout_weights(kept + strip, ld, dropout, query->example[b], position + strip,
                        queries - strip < LANES ? queries - strip : LANES, (uint32_t)scores->original_head[h],
                        packed + (size_t)strip * (size_t)row, row, key, keys);
    return true;
}

size_t scores_packed(const struct scores *scores, int b, int h) {
    size_t at = 0;
    for (int before = 0; before < b; before++)
        at += (size_t)scores->query->length[before] * (size_t)scores->key->length[before];
    size_t own = (size_t)scores->query->length[b] * (size_t)scores->key->length[b];
    return at * (size_t)scores->heads + own * (size_t)h;
}

size_t scores_packed_size(const struct scores *scores) {
    const struct batch *query = scores->query, *key = scores->key;
    size_t places = 0;
    if (!query->length || !key->length) /* only sizes are known */
        places = (size_t)query->sequences * (size_t)query->longest * (size_t)key->longest;
    else
        for (int b = 0; b < query->sequences; b++) places += (size_t)query->length[b] * (size_t)key->length[b];
    return places * (size_t)scores->heads;
}

void attention_scores(real *x, const struct scores *scores, int b, int h, const real *q, int ldq, const real *k,
                      int ldk) {
    int queries = scores->query->length[b], keys = scores->key->length[b], d_head = scores->d_head;
    for (int i = 0; i < queries; i++) {
        const real *query = q + (size_t)(scores->query->offset[b] + i) * (size_t)ldq + (size_t)h * (size_t)d_head;
        for (int j = 0; j < keys; j++) {
            const real *key =
                k + (size_t)(scores->key->offset[b] + j) * (size_t)ldk + (size_t)scores->kv_of_head[h] * (size_t)d_head;
            real sum = 0;
            for (int d = 0; d < d_head; d++) sum += query[d] * key[d];
            x[(size_t)i * (size_t)keys + (size_t)j] = scores->scale * sum;
        }
        if (scores_adjusted(scores)) scores_adjust(x + (size_t)i * (size_t)keys, NULL, scores, b, h, i, 0, keys);
    }
}

static const uint8_t *kept_in_row(uint8_t *keep, const struct scores *scores, int b, int h, int i) {
    const struct batch *query = scores->query;
    int keys = scores->key->length[b];
    size_t packed = scores_packed(scores, b, h) + (size_t)i * (size_t)keys;
    return dropout_row(&scores->dropout, query->example[b], (uint32_t)query_position(scores, b, i),
                       (uint32_t)scores->original_head[h], packed, keys, keep);
}

/* dw_ij = dout_i . v_j,  dp = dropout(dw) */
void attention_weights_gradient(real *dp, real *scratch, const struct scores *scores, int b, int h, const real *dout,
                                const real *v, int ldv) {
    int queries = scores->query->length[b], keys = scores->key->length[b], d_head = scores->d_head;
    size_t ldo = (size_t)scores->heads * (size_t)d_head, column = (size_t)h * (size_t)d_head;
    size_t kv_column = (size_t)scores->kv_of_head[h] * (size_t)d_head;
    for (int i = 0; i < queries; i++) {
        const real *out = dout + (size_t)(scores->query->offset[b] + i) * ldo + column;
        real *row = dp + (size_t)i * (size_t)keys;
        for (int j = 0; j < keys; j++) {
            const real *value = v + (size_t)(scores->key->offset[b] + j) * (size_t)ldv + kv_column;
            real sum = 0;
            for (int d = 0; d < d_head; d++) sum += out[d] * value[d];
            row[j] = sum;
        }
        if (scores->dropout.rate == 0) continue;
        const uint8_t *kept = kept_in_row((uint8_t *)scratch, scores, b, h, i);
        real factor = dropout_factor(&scores->dropout);
        for (int j = 0; j < keys; j++) row[j] = kept[j] ? row[j] * factor : 0;
    }
}

/* dx_ij = p_ij (dp_ij - sum_j p_ij dp_ij) */
void attention_scores_gradient(real *dp, real *scratch, const struct scores *scores, int b, const real *p) {
    int queries = scores->query->length[b], keys = scores->key->length[b];
    for (int i = 0; i < queries; i++) {
        real *dp_i = dp + (size_t)i * (size_t)keys, mean = 0;
        const real *p_i = p + (size_t)i * (size_t)keys;
        for (int j = 0; j < keys; j++) mean += p_i[j] * dp_i[j];
        for (int j = 0; j < keys; j++) scratch[j] = 0;
        scores_hide(scratch, scores, b, i, 0, keys);
        for (int j = 0; j < keys; j++) dp_i[j] = scratch[j] < 0 ? 0 : p_i[j] * (dp_i[j] - mean);
    }
}

void head_gates(real *out, const real *gate, int rows, int heads, int d_head) {
    for (int n = 0; n < rows; n++)
        for (int h = 0; h < heads; h++) {
            real *head = out + ((size_t)n * (size_t)heads + (size_t)h) * (size_t)d_head;
            for (int d = 0; d < d_head; d++) head[d] *= gate[h];
        }
}

static const struct attention_core *const attention_cores[] = {&attention_fused, &attention_explicit, NULL};

const ch_variant *attention_core_row(size_t i) {
    return attention_cores[i] ? &attention_cores[i]->variant : NULL;
}
