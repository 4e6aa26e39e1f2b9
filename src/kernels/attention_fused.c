/*
 * The fused core: no (T, S) matrix, memory linear in T. One query at a time, its scores live in one row; forward
 * keeps each row's maximum and sum, and backward and maps make the row again from them (Dao et al. 2022).
 *
 *   x_ij = scale * q_i . k_j (hidden: -inf),  p = softmax_j(x),  w = dropout(p),  o_i = sum_j w_ij v_j
 *   dp = dropout(do_i . v_j),  dx_ij = p_ij (dp_ij - do_i . o_i)
 *   dq_i = scale sum_j dx_ij k_j,  dk_j = scale sum_i dx_ij q_i,  dv_j = sum_i w_ij do_i
 *
 * Keys of a head are transposed once into a tile (Dh, S) whose rows are padded to whole vectors, so that scores of
 * neighbouring keys are computed side by side, without sums across a vector.
 *
 * saved: maximum (N, H), then sum (N, H). scratch: tiles of keys and values, rows of p and dp, one mask row.
 */
#include "kernels/kernels.h"
#include "base/vector.h"

#include <string.h>

enum { LANES = 16 };

struct tile {
    int b, h, kv, queries, keys;
    int padded;     /* keys, rounded up to whole vectors */
    real *keys_t;   /* (Dh, padded), zero behind the keys */
    real *values_t; /* the same, for backward */
    real *p, *dp;   /* (padded) */
    uint8_t *keep;  /* (padded) */
    size_t packed;
};

static int pad(int keys) {
    return (keys + LANES - 1) / LANES * LANES;
}

static size_t saved_size(const struct scores *s) {
    return 2 * (size_t)s->query->rows * (size_t)s->heads;
}

static size_t scratch_size(const struct scores *s) {
    return (size_t)pad(s->key->longest) * (2 * (size_t)s->d_head + 3);
}

static struct tile tile_of(real *scratch, const struct scores *s, int b, int h) {
    struct tile t = {.b = b, .h = h, .kv = s->kv_of_head[h], .queries = s->query->length[b], .keys = s->key->length[b]};
    t.padded = pad(t.keys);
    size_t matrix = (size_t)t.padded * (size_t)s->d_head;
    t.keys_t = scratch;
    t.values_t = t.keys_t + matrix;
    t.p = t.values_t + matrix;
    t.dp = t.p + t.padded;
    t.keep = (uint8_t *)(t.dp + t.padded);
    /* where a mask that was drawn beforehand lies; Philox needs no such place */
    t.packed = s->dropout.drawn ? scores_packed(s, b, h) : 0;
    return t;
}

static const real *key_rows(const struct scores *s, const struct tile *t, const real *k, int ld) {
    return k + (size_t)s->key->offset[t->b] * (size_t)ld + (size_t)t->kv * (size_t)s->d_head;
}

static size_t query_at(const struct scores *s, const struct tile *t, int i, int ld) {
    return (size_t)(s->query->offset[t->b] + i) * (size_t)ld + (size_t)t->h * (size_t)s->d_head;
}

static size_t row_at(const struct scores *s, const struct tile *t, int i) {
    return (size_t)(s->query->offset[t->b] + i) * (size_t)s->heads + (size_t)t->h;
}

/* (keys, Dh) with rows ld apart -> (Dh, padded) */
VECTOR_HELPER void transpose(real *to, const real *from, int ld, int keys, int padded, int d_head) {
    for (int d = 0; d < d_head; d++) {
        real *row = to + (size_t)d * (size_t)padded;
        for (int j = 0; j < keys; j++) row[j] = from[(size_t)j * (size_t)ld + (size_t)d];
        for (int j = keys; j < padded; j++) row[j] = 0;
    }
}

/* x (padded) = a (Dh) times tile (Dh, padded), for the first `visible` keys and what shares their vectors. */
VECTOR_HELPER void row_times_tile(real *x, const real *a, const real *tile, int padded, int visible, int d_head) {
    for (int first = 0; first < visible; first += LANES) {
        real lane[LANES] = {0};
        for (int d = 0; d < d_head; d++)
            for (int l = 0; l < LANES; l++) lane[l] += a[d] * tile[(size_t)d * (size_t)padded + (size_t)(first + l)];
        memcpy(x + first, lane, sizeof lane);
    }
}

/* y (Dh) += sum_j w_j rows_j */
VECTOR_HELPER void add_weighted_rows(real *y, const real *w, const real *rows, int ld, int visible, int d_head) {
    for (int j = 0; j < visible; j++) {
        const real *row = rows + (size_t)j * (size_t)ld;
        for (int d = 0; d < d_head; d++) y[d] += w[j] * row[d];
    }
}

/* rows_j += w_j a */
VECTOR_HELPER void add_outer(real *rows, int ld, const real *w, const real *a, int visible, int d_head) {
    for (int j = 0; j < visible; j++) {
        real *row = rows + (size_t)j * (size_t)ld;
        for (int d = 0; d < d_head; d++) row[d] += w[j] * a[d];
    }
}

/* Which weights of query i are kept; NULL where nothing is dropped. */
static const uint8_t *mask_of(const struct scores *s, const struct tile *t, int i, int visible) {
    if (s->dropout.rate == 0) return NULL;
    int position = s->query->position[s->query->offset[t->b] + i];
    return dropout_row(&s->dropout, s->query->example[t->b], (uint32_t)position, (uint32_t)s->original_head[t->h],
                       t->packed + (size_t)i * (size_t)t->keys, visible, t->keep);
}

/* Makes p of query i again: exp(x - maximum) / sum. */
VECTOR_HELPER void weights_again(const struct tile *t, const struct scores *s, int i, int visible, const real *q,
                                 int ldq, const real *maximum, const real *sum) {
    row_times_tile(t->p, q + query_at(s, t, i, ldq), t->keys_t, t->padded, visible, s->d_head);
    scores_apply(t->p, s, t->b, i);
    softmax_again(t->p, visible, maximum[row_at(s, t, i)], sum[row_at(s, t, i)]);
}

VECTOR_HELPER void forward_tile(real *out, real *maximum, real *sum, const struct tile *t, const struct scores *s,
                                const real *q, int ldq, const real *v, int ldv) {
    for (int i = 0; i < t->queries; i++) {
        int visible = scores_visible(s, t->b, i);
        real *o = out + query_at(s, t, i, s->heads * s->d_head), most = 0, total = 0;
        row_times_tile(t->p, q + query_at(s, t, i, ldq), t->keys_t, t->padded, visible, s->d_head);
        scores_apply(t->p, s, t->b, i);
        softmax_row(t->p, visible, &most, &total);
        maximum[row_at(s, t, i)] = most;
        sum[row_at(s, t, i)] = total;
        real factor = total == 0 ? 0 : RC(1) / total;
        const uint8_t *keep = mask_of(s, t, i, visible);
        if (keep)
            for (int j = 0; j < visible; j++) t->p[j] *= (real)keep[j];
        if (keep) factor *= dropout_factor(&s->dropout);
        memset(o, 0, (size_t)s->d_head * sizeof *o);
        add_weighted_rows(o, t->p, key_rows(s, t, v, ldv), ldv, visible, s->d_head);
        for (int d = 0; d < s->d_head; d++) o[d] *= factor;
    }
}

VECTORISED static void forward(real *out, real *saved, real *scratch, const struct scores *s, const real *q, int ldq,
                               const real *k, int ldk, const real *v, int ldv) {
    real *sum = saved + (size_t)s->query->rows * (size_t)s->heads;
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct tile t = tile_of(scratch, s, b, h);
            transpose(t.keys_t, key_rows(s, &t, k, ldk), ldk, t.keys, t.padded, s->d_head);
            forward_tile(out, saved, sum, &t, s, q, ldq, v, ldv);
        }
}

VECTOR_HELPER void backward_tile(real *dq, real *dk, real *dv, const struct tile *t, const struct scores *s,
                                 const real *dout, const real *out, const real *maximum, const real *sum, const real *q,
                                 int ldq, const real *k, int ldk, int ldv) {
    real factor = s->dropout.rate == 0 ? 1 : dropout_factor(&s->dropout);
    size_t first_key = (size_t)s->key->offset[t->b], column = (size_t)t->kv * (size_t)s->d_head;
    real *dk_rows = dk + first_key * (size_t)ldk + column, *dv_rows = dv + first_key * (size_t)ldv + column;
    for (int i = 0; i < t->queries; i++) {
        int visible = scores_visible(s, t->b, i);
        const real *do_i = dout + query_at(s, t, i, s->heads * s->d_head);
        weights_again(t, s, i, visible, q, ldq, maximum, sum);
        row_times_tile(t->dp, do_i, t->values_t, t->padded, visible, s->d_head);
        const uint8_t *keep = mask_of(s, t, i, visible);
        const real *o_i = out + query_at(s, t, i, s->heads * s->d_head);
        real mean = 0; /* sum_j p_ij dp_ij = do_i . o_i */
        for (int d = 0; d < s->d_head; d++) mean += do_i[d] * o_i[d];
        for (int j = 0; j < visible; j++) {
            real p = t->p[j], kept = keep ? (real)keep[j] * factor : 1;
            t->p[j] = p * kept;                                 /* now w */
            t->dp[j] = s->scale * p * (t->dp[j] * kept - mean); /* now dx */
        }
        add_outer(dv_rows, ldv, t->p, do_i, visible, s->d_head);
        add_weighted_rows(dq + query_at(s, t, i, ldq), t->dp, key_rows(s, t, k, ldk), ldk, visible, s->d_head);
        add_outer(dk_rows, ldk, t->dp, q + query_at(s, t, i, ldq), visible, s->d_head);
    }
}

VECTORISED static void backward(real *dq, real *dk, real *dv, real *scratch, const struct scores *s, const real *dout,
                                const real *out, const real *saved, const real *q, int ldq, const real *k, int ldk,
                                const real *v, int ldv) {
    const real *sum = saved + (size_t)s->query->rows * (size_t)s->heads;
    clear_rows(dq, ldq, s->query->rows, s->heads * s->d_head);
    clear_rows(dk, ldk, s->key->rows, s->kv_heads * s->d_head);
    clear_rows(dv, ldv, s->key->rows, s->kv_heads * s->d_head);
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct tile t = tile_of(scratch, s, b, h);
            transpose(t.keys_t, key_rows(s, &t, k, ldk), ldk, t.keys, t.padded, s->d_head);
            transpose(t.values_t, key_rows(s, &t, v, ldv), ldv, t.keys, t.padded, s->d_head);
            backward_tile(dq, dk, dv, &t, s, dout, out, saved, sum, q, ldq, k, ldk, ldv);
        }
}

VECTORISED static void map_tile(real *weights, const struct tile *t, const struct scores *s, const real *maximum,
                                const real *sum, const real *q, int ldq) {
    for (int i = 0; i < t->queries; i++) {
        int visible = scores_visible(s, t->b, i);
        weights_again(t, s, i, visible, q, ldq, maximum, sum);
        real *row = weights + (size_t)i * (size_t)t->keys;
        memcpy(row, t->p, (size_t)visible * sizeof *row);
        for (int j = visible; j < t->keys; j++) row[j] = 0;
    }
}

static void map(real *weights, real *scratch, const struct scores *s, const real *saved, int b, int h, const real *q,
                int ldq, const real *k, int ldk) {
    struct tile t = tile_of(scratch, s, b, h);
    transpose(t.keys_t, key_rows(s, &t, k, ldk), ldk, t.keys, t.padded, s->d_head);
    map_tile(weights, &t, s, saved, saved + (size_t)s->query->rows * (size_t)s->heads, q, ldq);
}

const struct attention_core attention_fused = {
    .variant = {"fused", "never holds a whole map: memory linear in length; maps are recomputed when asked for"},
    .saved_size = saved_size,
    .scratch_size = scratch_size,
    .forward = forward,
    .backward = backward,
    .map = map,
};
