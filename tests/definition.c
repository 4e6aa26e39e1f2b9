/* See definition.h. */
#include "definition.h"

#include <stdlib.h>

enum { MOST_KEYS = 520 };

static int position_of(const struct scores *s, int b, int i) {
    return s->query->position[s->query->offset[b] + i];
}

bool is_hidden(const struct scores *s, int b, int i, int j) {
    int position = position_of(s, b, i);
    if (s->causal && j > position) return true;
    if (s->window > 0 && abs(position - j) >= s->window) return true;
    for (int c = 0; c < s->knockout_count; c++) {
        const struct knockout *cut = &s->knockouts[c];
        if ((cut->sequence == -1 || cut->sequence == b) && position >= cut->query_from && position < cut->query_to &&
            j >= cut->key_from && j < cut->key_to)
            return true;
    }
    return false;
}

static int query_at(const struct problem *p, int b, int h, int i, int ld) {
    return (p->scores.query->offset[b] + i) * ld + h * p->scores.d_head;
}

static int key_at(const struct problem *p, int b, int h, int j, int ld) {
    return (p->scores.key->offset[b] + j) * ld + p->scores.kv_of_head[h] * p->scores.d_head;
}

static long double raw_score(const struct problem *p, int b, int h, int i, int j) {
    const real *q = p->q + query_at(p, b, h, i, p->ldq), *k = p->k + key_at(p, b, h, j, p->ldk);
    long double dot = 0;
    for (int d = 0; d < p->scores.d_head; d++) dot += (long double)q[d] * (long double)k[d];
    return dot * (long double)p->scores.scale;
}

/* As its authors wrote it. */
int exact_bucket(const struct score_buckets *buckets, int ahead) {
    int count = buckets->count, bucket = 0, distance = ahead < 0 ? -ahead : 0;
    if (buckets->bidirectional) {
        count /= 2;
        bucket = ahead > 0 ? count : 0;
        distance = abs(ahead);
    }
    int exact = count / 2;
    if (count == 1) return bucket;
    if (distance < exact) return bucket + distance;
    double share = log((double)distance / exact) / log((double)buckets->max_distance / exact);
    int far = exact + (int)(share * (count - exact) + 1e-9);
    return bucket + (far < count ? far : count - 1);
}

static size_t table_at(const struct problem *p, int b, int h, int i, int j) {
    const struct score_buckets *buckets = &p->scores.buckets;
    int bucket = exact_bucket(buckets, j - position_of(&p->scores, b, i));
    return (size_t)(bucket * buckets->heads + p->scores.original_head[h]);
}

long double exact_score(const struct problem *p, int b, int h, int i, int j) {
    const struct scores *s = &p->scores;
    long double x = raw_score(p, b, h, i, j), c = (long double)s->soft_cap;
    if (s->soft_cap > 0) x = c * tanhl(x / c);
    if (s->bias == SCORE_BIAS_ALIBI) x -= (long double)s->slope[s->original_head[h]] * abs(position_of(s, b, i) - j);
    if (s->bias == SCORE_BIAS_BUCKETS) x += (long double)s->buckets.table[table_at(p, b, h, i, j)];
    return x;
}

long double exact_cap(const struct problem *p, int b, int h, int i, int j) {
    long double c = (long double)p->scores.soft_cap;
    if (p->scores.soft_cap == 0) return 1;
    long double t = tanhl(raw_score(p, b, h, i, j) / c);
    return 1 - t * t;
}

static bool weights_of(long double *e, const struct problem *p, int b, int h, int i) {
    const struct scores *s = &p->scores;
    int keys = s->key->length[b];
    long double most = -(long double)INFINITY, sum = 0;
    assert_in_range(keys, 0, MOST_KEYS);
    for (int j = 0; j < keys; j++) {
        e[j] = is_hidden(s, b, i, j) ? -(long double)INFINITY : exact_score(p, b, h, i, j);
        most = e[j] > most ? e[j] : most;
    }
    for (int j = 0; j < keys; j++) {
        e[j] = isinf(e[j]) ? 0 : expl(e[j] - most);
        sum += e[j];
    }
    for (int j = 0; j < keys; j++) e[j] = sum > 0 ? e[j] / sum : 0;
    return sum > 0;
}

bool exact_weights(real *row, const struct problem *p, int b, int h, int i) {
    long double weights[MOST_KEYS];
    bool sees = weights_of(weights, p, b, h, i);
    for (int j = 0; j < p->scores.key->length[b]; j++) row[j] = (real)weights[j];
    return sees;
}

/* ---- forward and backward ---- */

/* Gradients of keys, values and table are sums over queries. */
struct sums {
    long double *dk, *dv, *dtable;
};

static long double *new_sums(size_t count) {
    long double *x = calloc(count + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* Factors of dropout of one row. */
static void take_kept(long double *kept, const struct problem *p, int b, int h, int i) {
    const struct scores *s = &p->scores;
    int keys = s->key->length[b];
    uint8_t space[MOST_KEYS];
    const uint8_t *keep =
        dropout_row(&s->dropout, s->query->example[b], (uint32_t)position_of(s, b, i), (uint32_t)s->original_head[h],
                    scores_packed(s, b, h) + (size_t)(i * keys), keys, space);
    for (int j = 0; j < keys; j++)
        kept[j] = s->dropout.rate == 0 ? 1 : keep[j] ? 1 / (1 - (long double)s->dropout.rate) : 0;
}

static void exact_query(struct result *exact, struct sums *sums, const struct problem *p, int b, int h, int i) {
    const struct scores *s = &p->scores;
    int keys = s->key->length[b], o = query_at(p, b, h, i, p->ldo), q = query_at(p, b, h, i, p->ldq);
    long double weights[MOST_KEYS], kept[MOST_KEYS], dp[MOST_KEYS], out[64] = {0}, dq[64] = {0}, mean = 0;
    assert_in_range(s->d_head, 1, 64);
    weights_of(weights, p, b, h, i);
    take_kept(kept, p, b, h, i);
    for (int j = 0; j < keys; j++) {
        int at = key_at(p, b, h, j, p->ldv);
        dp[j] = 0;
        for (int d = 0; d < s->d_head; d++) {
            out[d] += weights[j] * kept[j] * (long double)p->v[at + d];
            dp[j] += kept[j] * (long double)p->dout[o + d] * (long double)p->v[at + d];
            sums->dv[at + d] += weights[j] * kept[j] * (long double)p->dout[o + d];
        }
        mean += weights[j] * dp[j];
    }
    for (int j = 0; j < keys; j++) {
        long double ds = weights[j] * (dp[j] - mean), dx = ds * exact_cap(p, b, h, i, j) * (long double)s->scale;
        int at = key_at(p, b, h, j, p->ldk);
        if (exact->dtable) sums->dtable[table_at(p, b, h, i, j)] += ds;
        for (int d = 0; d < s->d_head; d++) {
            dq[d] += dx * (long double)p->k[at + d];
            sums->dk[at + d] += dx * (long double)p->q[q + d];
        }
    }
    for (int d = 0; d < s->d_head; d++) {
        exact->out[o + d] = (real)out[d];
        exact->dq[q + d] = (real)dq[d];
    }
}

static void give(real *to, const long double *from, int rows, int ld, int channels) {
    for (int n = 0; n < rows; n++)
        for (int c = 0; c < channels; c++) to[n * ld + c] = (real)from[n * ld + c];
}

void exact_attention(struct result *exact, const struct problem *p) {
    const struct scores *s = &p->scores;
    int channels = s->kv_heads * s->d_head;
    struct sums sums = {new_sums((size_t)(s->key->rows * p->ldk)), new_sums((size_t)(s->key->rows * p->ldv)),
                        new_sums((size_t)(s->buckets.count * s->buckets.heads))};
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++)
            for (int i = 0; i < s->query->length[b]; i++) exact_query(exact, &sums, p, b, h, i);
    give(exact->dk, sums.dk, s->key->rows, p->ldk, channels);
    give(exact->dv, sums.dv, s->key->rows, p->ldv, channels);
    if (exact->dtable) give(exact->dtable, sums.dtable, s->buckets.count, s->buckets.heads, s->buckets.heads);
    free(sums.dk), free(sums.dv), free(sums.dtable);
}
