/*
 * What happens to scores before keys are hidden, and backward: a soft cap, then a bias by distance.
 *   s = c tanh(s / c)                  Gemma Team 2024 (Gemma 2)
 *   s - slope_h |p_i - j|              ALiBi, Press et al. 2022
 *   s + table[bucket(j - p_i)][h]      Raffel et al. 2020 (T5)
 * A row is one query's scores, a tile has a query in each column; neither makes more work for scores that need none,
 * since the cores ask first.
 */
#include "base/error.h"
#include "kernels/columns.h"
#include "kernels/kernels.h"

#include <limits.h>
#include <stdlib.h>

bool scores_adjusted(const struct scores *scores) {
    return scores->soft_cap != 0 || scores->bias != SCORE_BIAS_NONE;
}

bool scores_adjusted_backward(const struct scores *scores) {
    return scores->soft_cap != 0 || (scores->bias == SCORE_BIAS_BUCKETS && scores->buckets.dtable);
}

/* ---- soft cap ---- */

/* x = c tanh(x / c),  dcap = 1 - tanh^2 unless it is NULL */
VECTORISED static void cap(real *restrict x, real *restrict dcap, size_t count, real c) {
    const real inverse = 1 / c;
    for (size_t i = 0; dcap && i < count; i++) {
        real t = tanh_of(x[i] * inverse);
        dcap[i] = 1 - t * t;
    }
    for (size_t i = 0; i < count; i++) x[i] = c * tanh_of(x[i] * inverse);
}

/* dx *= scale * dcap; without a cap dcap is NULL. */
VECTORISED static void cap_backward(real *restrict dx, const real *restrict dcap, size_t count, real scale) {
    for (size_t i = 0; i < count; i++) dx[i] *= scale;
    for (size_t i = 0; dcap && i < count; i++) dx[i] *= dcap[i];
}

/* ---- ALiBi ---- */

/* slope (n) = 2^(-8 / n), its square and so on, every `step`-th of those that `of` heads would have. */
static void geometric(real *slope, int n, int of, int step) {
    for (int h = 0; h < n; h++) slope[h] = (real)exp2(-8.0 * (h * step + 1) / of);
}

void alibi_slopes(real *slope, int heads) {
    int power = 1;
    while (power <= heads / 2) power *= 2;
    geometric(slope, power, power, 1);
    geometric(slope + power, heads - power, 2 * power, 2);
}

VECTORISED static void alibi_row(real *x, real slope, int position, int key, int keys) {
    int distance = position - key;
    for (int j = 0; j < keys; j++) x[j] -= slope * (real)abs(distance - j);
}

/* x (keys, LANES), rows ld apart */
VECTORISED static void alibi_strip(real *x, int ld, real slope, const int *position, int key, int keys) {
    for (int j = 0; j < keys; j++, x += ld)
        for (int l = 0; l < LANES; l++) x[l] -= slope * (real)abs(position[l] - key - j);
}

static void alibi_tile(real *x, int ld, real slope, const int *position, int queries, int key, int keys) {
    int lanes[LANES];
    for (int strip = 0; strip < queries; strip += LANES) {
        /* whole vectors: those behind the last query repeat it, and nobody looks there */
        for (int l = 0; l < LANES; l++) lanes[l] = position[strip + l < queries ? strip + l : queries - 1];
        alibi_strip(x + strip, ld, slope, lanes, key, keys);
    }
}

/* ---- buckets ---- */

/* Some keys for some queries: key j of query i lies at x + i + (j - key) * step. A row is the case of one query. */
struct part {
    real *x;
    size_t step;
    const int *position; /* (queries) */
    int queries, key, keys;
};

/* Keys that stand near..far - 1 behind a query, or ahead of it; they share a bucket. */
struct band {
    bool ahead;
    int near, far;
};

/* Farther than any key, and added to any position still a number. */
enum { FAR = INT_MAX / 2 };

/* The distance from which on keys of a direction fall into bucket k of its `own`. The first half of them has a bucket
 * for each distance, those of the other half grow geometrically until max_distance. */
static int bucket_start(const struct score_buckets *buckets, int own, int k) {
    int exact = own / 2;
    if (k <= exact) return k;
    double growth = (double)buckets->max_distance / exact, share = (double)(k - exact) / (own - exact);
    return (int)ceil(exact * pow(growth, share) * (1 - 1e-9)); /* whole numbers stay what they are */
}

static struct key_range keys_of(const struct part *part, struct band band, int i) {
    int p = part->position[i], end = part->key + part->keys;
    struct key_range range = band.ahead ? (struct key_range){p + band.near, p + band.far}
                                        : (struct key_range){p - band.far + 1, p - band.near + 1};
    if (range.from < part->key) range.from = part->key;
    if (range.to > end) range.to = end;
    return range;
}

/* The distance of the key and the query of a part that are the farthest from each other. */
static int farthest(const struct part *part) {
    int most = 0, last = part->key + part->keys - 1;
    for (int i = 0; i < part->queries; i++) {
        int behind = part->position[i] - part->key, ahead = last - part->position[i];
        most = behind > most ? behind : most;
        most = ahead > most ? ahead : most;
    }
    return most;
}

typedef void (*bucket_visit)(const struct part *part, struct band band, const struct score_buckets *buckets,
                             size_t entry);

/* Visits each band of keys with its entry of the table. */
static void each_bucket(const struct part *part, const struct scores *scores, int h, bucket_visit visit) {
    const struct score_buckets *buckets = &scores->buckets;
    const size_t heads = (size_t)buckets->heads, head = (size_t)scores->original_head[h];
    int own = buckets->bidirectional ? buckets->count / 2 : buckets->count, reach = farthest(part);
    ch_assert(buckets->max_distance > own / 2);
    for (int k = 0, near = 0, far; k < own && near <= reach; k++, near = far) {
        far = k + 1 < own ? bucket_start(buckets, own, k + 1) : FAR;
        visit(part, (struct band){false, near, far}, buckets, (size_t)k * heads + head);
        if (buckets->bidirectional)
            visit(part, (struct band){true, near > 0 ? near : 1, far}, buckets, (size_t)(own + k) * heads + head);
    }
    if (!buckets->bidirectional) visit(part, (struct band){true, 1, FAR}, buckets, head);
}

static void add_entry(const struct part *part, struct band band, const struct score_buckets *buckets, size_t entry) {
    const real value = buckets->table[entry];
    for (int i = 0; i < part->queries; i++) {
        struct key_range keys = keys_of(part, band, i);
        real *x = part->x + i;
        for (int j = keys.from; j < keys.to; j++) x[(size_t)(j - part->key) * part->step] += value;
    }
}

/* Query after query, so that a bucket that holds most of a tile still sums few numbers at a time. */
static void sum_entry(const struct part *part, struct band band, const struct score_buckets *buckets, size_t entry) {
    real sum = 0;
    for (int i = 0; i < part->queries; i++) {
        struct key_range keys = keys_of(part, band, i);
        const real *x = part->x + i;
        real of_query = 0;
        for (int j = keys.from; j < keys.to; j++) of_query += x[(size_t)(j - part->key) * part->step];
        sum += of_query;
    }
    buckets->dtable[entry] += sum;
}

/* ---- rows and tiles ---- */

static const int *positions(const struct scores *scores, int b, int first) {
    return scores->query->position + scores->query->offset[b] + first;
}

void scores_adjust(real *x, real *dcap, const struct scores *scores, int b, int h, int i, int key, int keys) {
    const int *position = positions(scores, b, i);
    if (scores->soft_cap != 0) cap(x, dcap, (size_t)keys, scores->soft_cap);
    if (scores->bias == SCORE_BIAS_ALIBI)
        alibi_row(x, scores->slope[scores->original_head[h]], *position, key, keys);
    else if (scores->bias == SCORE_BIAS_BUCKETS)
        each_bucket(&(struct part){x, 1, position, 1, key, keys}, scores, h, add_entry);
}

void scores_adjust_tile(real *x, real *dcap, int ld, const struct scores *scores, int b, int h, int first, int queries,
                        int key, int keys) {
    const int *position = positions(scores, b, first);
    if (scores->soft_cap != 0) cap(x, dcap, (size_t)keys * (size_t)ld, scores->soft_cap);
    if (scores->bias == SCORE_BIAS_ALIBI)
        alibi_tile(x, ld, scores->slope[scores->original_head[h]], position, queries, key, keys);
    else if (scores->bias == SCORE_BIAS_BUCKETS)
        each_bucket(&(struct part){x, (size_t)ld, position, queries, key, keys}, scores, h, add_entry);
}

static void part_backward(const struct part *part, const real *dcap, size_t count, const struct scores *scores, int h) {
    if (scores->bias == SCORE_BIAS_BUCKETS && scores->buckets.dtable) each_bucket(part, scores, h, sum_entry);
    cap_backward(part->x, scores->soft_cap != 0 ? dcap : NULL, count, scores->scale);
}

void scores_adjust_backward(real *dx, const real *dcap, const struct scores *scores, int b, int h, int i, int key,
                            int keys) {
    struct part part = {dx, 1, positions(scores, b, i), 1, key, keys};
    part_backward(&part, dcap, (size_t)keys, scores, h);
}

void scores_adjust_tile_backward(real *dx, const real *dcap, int ld, const struct scores *scores, int b, int h,
                                 int first, int queries, int key, int keys) {
    struct part part = {dx, (size_t)ld, positions(scores, b, first), queries, key, keys};
    part_backward(&part, dcap, (size_t)keys * (size_t)ld, scores, h);
}
