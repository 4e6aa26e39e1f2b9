/*
 * The fused core: no (T, S) matrix, memory linear in S. Scores of LANES queries of a head at a time stand in a tile
 * (S, LANES), a query in each lane, so that nothing is summed across a vector; forward keeps the maximum and the sum
 * of each query, and backward and maps make the tile again from them (Dao et al. 2022).
 *
 *   x_ij = scale * q_i . k_j (hidden: -inf),  p = softmax_j(x),  w = dropout(p),  o_i = sum_j w_ij v_j
 *   dp = dropout(do_i . v_j),  dx_ij = p_ij (dp_ij - sum_j p_ij dp_ij)
 *   dq_i = scale sum_j dx_ij k_j,  dk_j = scale sum_i dx_ij q_i,  dv_j = sum_i w_ij do_i
 *
 * saved: maximum (N, H), then sum (N, H). scratch: queries turned into lanes, and tiles.
 */
#include "kernels/kernels.h"
#include "base/vector.h"

#include <string.h>

struct tile {
    int b, h, kv;
    int first, queries; /* of the sequence's queries: LANES of them, fewer at the end */
    int keys;
    real *q_lanes;       /* (Dh, LANES) */
    real *dout_lanes;    /* (Dh, LANES) */
    real *p, *dp, *kept; /* (S, LANES) */
};

static size_t whole_blocks(int keys) {
    return (size_t)(keys + KEY_BLOCK - 1) / KEY_BLOCK * KEY_BLOCK;
}

static size_t saved_size(const struct scores *s) {
    return 2 * (size_t)s->query->rows * (size_t)s->heads;
}

static size_t scratch_size(const struct scores *s) {
    return LANES * (2 * (size_t)s->d_head + 3 * whole_blocks(s->key->longest));
}

static struct tile tile_of(real *scratch, const struct scores *s, int b, int h) {
    struct tile t = {.b = b, .h = h, .kv = s->kv_of_head[h], .keys = s->key->length[b]};
    t.q_lanes = scratch;
    t.dout_lanes = t.q_lanes + (size_t)s->d_head * LANES;
    t.p = t.dout_lanes + (size_t)s->d_head * LANES;
    t.dp = t.p + whole_blocks(t.keys) * LANES;
    t.kept = t.dp + whole_blocks(t.keys) * LANES;
    return t;
}

static bool next_queries(struct tile *t, const struct scores *s) {
    int left = s->query->length[t->b] - t->first;
    t->queries = left < LANES ? left : LANES;
    return left > 0;
}

static size_t key_at(const struct scores *s, const struct tile *t, int ld) {
    return (size_t)s->key->offset[t->b] * (size_t)ld + (size_t)t->kv * (size_t)s->d_head;
}

static size_t query_at(const struct scores *s, const struct tile *t, int ld) {
    return (size_t)(s->query->offset[t->b] + t->first) * (size_t)ld + (size_t)t->h * (size_t)s->d_head;
}

static size_t row_at(const struct scores *s, const struct tile *t, int i) {
    return (size_t)(s->query->offset[t->b] + t->first + i) * (size_t)s->heads + (size_t)t->h;
}

/* ---- products of a tile ---- */

/* rows (n, Dh) -> (Dh, LANES), zero in the lanes behind them */
VECTOR_HELPER void rows_to_lanes(real *to, const real *rows, int ld, int n, int d_head) {
    if (n < LANES) memset(to, 0, (size_t)d_head * LANES * sizeof *to);
    for (int i = 0; i < n; i++)
        for (int d = 0; d < d_head; d++) to[(size_t)d * LANES + (size_t)i] = rows[(size_t)i * (size_t)ld + (size_t)d];
}

enum { TOGETHER = 4 }; /* rows that share what is loaded */

/* x (n, LANES) = rows (n, Dh) times columns (Dh, LANES) */
VECTOR_HELPER void rows_times_lanes(real *x, const real *rows, int ld, int n, const real *columns, int d_head) {
    const reals *column = (const reals *)columns;
    reals *out = (reals *)x;
    int j = 0;
    for (; j + TOGETHER <= n; j += TOGETHER) {
        const real *row = rows + (size_t)j * (size_t)ld;
        reals sum[TOGETHER] = {{0}};
        for (int d = 0; d < d_head; d++)
            for (int r = 0; r < TOGETHER; r++) sum[r] += row[(size_t)r * (size_t)ld + (size_t)d] * column[d];
        for (int r = 0; r < TOGETHER; r++) out[j + r] = sum[r];
    }
    for (; j < n; j++) {
        const real *row = rows + (size_t)j * (size_t)ld;
        reals sum = {0};
        for (int d = 0; d < d_head; d++) sum += row[d] * column[d];
        out[j] = sum;
    }
}

/* What a sum of rows is made of: out_m = factor_m (sum_r weight[m * step_m + r * step_r] row_r), or added to out. */
struct sum_of_rows {
    real *out;
    const real *factor; /* NULL: 1, and added to */
    const real *weight;
    const real *row;
    size_t ldo, step_m, step_r, ldr;
    int outs, rows;
};

/* LANES channels, from channel c, of `count` outs from the m-th. */
VECTOR_HELPER void sum_chunk(const struct sum_of_rows *s, int m, int count, int c) {
    const real *weight = s->weight + (size_t)m * s->step_m, *row = s->row + c;
    reals sum[TOGETHER] = {{0}};
    for (int r = 0; r < s->rows; r++, weight += s->step_r, row += s->ldr) {
        reals value = *(const reals *)row;
        for (int i = 0; i < count; i++) sum[i] += weight[(size_t)i * s->step_m] * value;
    }
    for (int i = 0; i < count; i++) {
        reals *out = (reals *)(s->out + (size_t)(m + i) * s->ldo + c);
        *out = s->factor ? sum[i] * s->factor[m + i] : *out + sum[i];
    }
}

/* The same for the channels behind the last whole chunk. */
VECTOR_HELPER void sum_rest(const struct sum_of_rows *s, int m, int c, int end) {
    for (; c < end; c++) {
        real sum = 0, *out = s->out + (size_t)m * s->ldo + c;
        for (int r = 0; r < s->rows; r++)
            sum += s->weight[(size_t)m * s->step_m + (size_t)r * s->step_r] * s->row[(size_t)r * s->ldr + (size_t)c];
        *out = s->factor ? sum * s->factor[m] : *out + sum;
    }
}

VECTOR_HELPER void sum_rows(const struct sum_of_rows *s, int d_head) {
    int whole = d_head / LANES * LANES, m = 0;
    for (; m + TOGETHER <= s->outs; m += TOGETHER)
        for (int c = 0; c < whole; c += LANES) sum_chunk(s, m, TOGETHER, c);
    for (; m < s->outs; m++)
        for (int c = 0; c < whole; c += LANES) sum_chunk(s, m, 1, c);
    for (m = 0; m < s->outs && whole < d_head; m++) sum_rest(s, m, whole, d_head);
}

/* Row i of the tile's queries gets sum_j x_ij rows_j, times factor_i. */
VECTOR_HELPER void to_queries(real *out, int ldo, const real *factor, const real *x, const real *rows, int ldr,
                              const struct tile *t, int d_head) {
    sum_rows(&(struct sum_of_rows){out, factor, x, rows, (size_t)ldo, 1, LANES, (size_t)ldr, t->queries, t->keys},
             d_head);
}

/* Row j of the keys gets sum_i x_ij rows_i added. */
VECTOR_HELPER void to_keys(real *out, int ldo, const real *x, const real *rows, int ldr, const struct tile *t,
                           int d_head) {
    sum_rows(&(struct sum_of_rows){out, NULL, x, rows, (size_t)ldo, LANES, 1, (size_t)ldr, t->keys, t->queries},
             d_head);
}

/* ---- weights ---- */

/* p (S, LANES) = scores */
VECTOR_HELPER void fill_scores(const struct tile *t, const struct scores *s, const real *q, int ldq, const real *k,
                               int ldk) {
    rows_to_lanes(t->q_lanes, q + query_at(s, t, ldq), ldq, t->queries, s->d_head);
    rows_times_lanes(t->p, k + key_at(s, t, ldk), ldk, t->keys, t->q_lanes, s->d_head);
    reals *x = (reals *)t->p;
    for (int j = 0; j < t->keys; j++) x[j] *= s->scale;
    for (int i = 0; i < t->queries; i++) scores_hide(t->p + i, LANES, s, t->b, t->first + i);
}

VECTOR_HELPER void weights_again(const struct tile *t, const struct scores *s, const real *maximum, const real *sum,
                                 const real *q, int ldq, const real *k, int ldk) {
    real most[LANES] = {0}, total[LANES] = {0};
    for (int i = 0; i < t->queries; i++) {
        most[i] = maximum[row_at(s, t, i)];
        total[i] = sum[row_at(s, t, i)];
    }
    fill_scores(t, s, q, ldq, k, ldk);
    softmax_columns_again(t->p, t->keys, most, total);
}

/* kept (S, LANES); false where nothing is dropped. */
static bool draw_kept(const struct tile *t, const struct scores *s) {
    if (s->dropout.rate == 0) return false;
    /* where a mask that was drawn beforehand lies; Philox needs no such place */
    size_t packed = s->dropout.drawn ? scores_packed(s, t->b, t->h) + (size_t)t->first * (size_t)t->keys : 0;
    dropout_weights(t->kept, &s->dropout, s->query->example[t->b],
                    s->query->position + s->query->offset[t->b] + t->first, t->queries,
                    (uint32_t)s->original_head[t->h], packed, t->keys);
    return true;
}

/* ---- forward ---- */

VECTOR_HELPER void forward_tile(real *out, real *maximum, real *sum, const struct tile *t, const struct scores *s,
                                const real *q, int ldq, const real *k, int ldk, const real *v, int ldv) {
    real most[LANES], total[LANES], factor[LANES];
    fill_scores(t, s, q, ldq, k, ldk);
    softmax_columns(t->p, t->keys, most, total);
    for (int i = 0; i < t->queries; i++) {
        maximum[row_at(s, t, i)] = most[i];
        sum[row_at(s, t, i)] = total[i];
    }
    for (int i = 0; i < LANES; i++) factor[i] = total[i] == 0 ? 0 : RC(1) / total[i];
    if (draw_kept(t, s)) {
        reals *p = (reals *)t->p;
        const reals *kept = (const reals *)t->kept;
        for (int j = 0; j < t->keys; j++) p[j] *= kept[j];
    }
    int ldo = s->heads * s->d_head;
    to_queries(out + query_at(s, t, ldo), ldo, factor, t->p, v + key_at(s, t, ldv), ldv, t, s->d_head);
}

VECTORISED static void forward(real *out, real *saved, real *scratch, const struct scores *s, const real *q, int ldq,
                               const real *k, int ldk, const real *v, int ldv) {
    real *sum = saved + (size_t)s->query->rows * (size_t)s->heads;
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct tile t = tile_of(scratch, s, b, h);
            for (; next_queries(&t, s); t.first += LANES) forward_tile(out, saved, sum, &t, s, q, ldq, k, ldk, v, ldv);
        }
}

/* ---- backward ---- */

/* p becomes w, dp becomes scale * dx. */
VECTOR_HELPER void backward_weights(const struct tile *t, const struct scores *s) {
    reals *p = (reals *)t->p, *dp = (reals *)t->dp, mean = {0};
    const reals *kept = (const reals *)t->kept;
    bool dropped = draw_kept(t, s);
    for (int j = 0; j < t->keys; j++) {
        if (dropped) dp[j] *= kept[j];
        mean += p[j] * dp[j];
    }
    for (int j = 0; j < t->keys; j++) {
        dp[j] = s->scale * p[j] * (dp[j] - mean);
        if (dropped) p[j] *= kept[j];
    }
}

VECTOR_HELPER void backward_tile(real *dq, real *dk, real *dv, const struct tile *t, const struct scores *s,
                                 const real *dout, const real *maximum, const real *sum, const real *q, int ldq,
                                 const real *k, int ldk, const real *v, int ldv) {
    static const real one[LANES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    int ldo = s->heads * s->d_head;
    const real *dout_rows = dout + query_at(s, t, ldo);
    size_t keys = key_at(s, t, ldk), values = key_at(s, t, ldv), queries = query_at(s, t, ldq);
    weights_again(t, s, maximum, sum, q, ldq, k, ldk);
    rows_to_lanes(t->dout_lanes, dout_rows, ldo, t->queries, s->d_head);
    rows_times_lanes(t->dp, v + values, ldv, t->keys, t->dout_lanes, s->d_head);
    backward_weights(t, s);
    to_queries(dq + queries, ldq, one, t->dp, k + keys, ldk, t, s->d_head);
    to_keys(dk + keys, ldk, t->dp, q + queries, ldq, t, s->d_head);
    to_keys(dv + values, ldv, t->p, dout_rows, ldo, t, s->d_head);
}

VECTORISED static void backward(real *dq, real *dk, real *dv, real *scratch, const struct scores *s, const real *dout,
                                const real *out, const real *saved, const real *q, int ldq, const real *k, int ldk,
                                const real *v, int ldv) {
    (void)out; /* sum_j p_ij dp_ij comes from the tile */
    const real *sum = saved + (size_t)s->query->rows * (size_t)s->heads;
    clear_rows(dq, ldq, s->query->rows, s->heads * s->d_head); /* a padded batch has rows that no tile reaches */
    clear_rows(dk, ldk, s->key->rows, s->kv_heads * s->d_head);
    clear_rows(dv, ldv, s->key->rows, s->kv_heads * s->d_head);
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct tile t = tile_of(scratch, s, b, h);
            for (; next_queries(&t, s); t.first += LANES)
                backward_tile(dq, dk, dv, &t, s, dout, saved, sum, q, ldq, k, ldk, v, ldv);
        }
}

/* ---- maps ---- */

VECTORISED static void map(real *weights, real *scratch, const struct scores *s, const real *saved, int b, int h,
                           const real *q, int ldq, const real *k, int ldk) {
    const real *sum = saved + (size_t)s->query->rows * (size_t)s->heads;
    struct tile t = tile_of(scratch, s, b, h);
    for (; next_queries(&t, s); t.first += LANES) {
        weights_again(&t, s, saved, sum, q, ldq, k, ldk);
        for (int i = 0; i < t.queries; i++)
            for (int j = 0; j < t.keys; j++)
                weights[(size_t)(t.first + i) * (size_t)t.keys + (size_t)j] = t.p[(size_t)j * LANES + (size_t)i];
    }
}

const struct attention_core attention_fused = {
    .variant = {"fused", "never holds a whole map: memory linear in length; maps are recomputed when asked for"},
    .saved_size = saved_size,
    .scratch_size = scratch_size,
    .forward = forward,
    .backward = backward,
    .map = map,
};
