/*
 * The explicit core: scores and weights are materialised, (T, S) for every sequence and head, one plain loop per
 * line of the formula. The numbers that a person can print, and what the fused core is checked against.
 *
 *   x_ij = scale * q_i . k_j (adjusted; hidden: -inf),  p = softmax_j(x),  w = dropout(p),  o_i = sum_j w_ij v_j
 *   dw_ij = do_i . v_j,  dp = dropout(dw),  dx_ij = p_ij (dp_ij - sum_j p_ij dp_ij)
 *   dq_i = scale sum_j dx_ij k_j,  dk_j = scale sum_i dx_ij q_i,  dv_j = sum_i w_ij do_i
 * Vaswani et al. 2017.
 *
 * Where there is a soft cap, backward makes scores again for its derivative.
 * saved: p, then w, both packed as scores_packed says. scratch: one mask row, one row each of dx, x and its cap's
 * derivative.
 */
#include "kernels/kernels.h"

#include <string.h>

/* One sequence and one head: where its matrices lie. */
struct place {
    int b, h, kv, queries, keys;
    size_t packed; /* of its (T, S) in saved */
};

static struct place place_of(const struct scores *s, int b, int h) {
    return (struct place){.b = b,
                          .h = h,
                          .kv = s->kv_of_head[h],
                          .queries = s->query->length[b],
                          .keys = s->key->length[b],
                          .packed = scores_packed(s, b, h)};
}

static size_t query_at(const struct scores *s, const struct place *at, int i, int ld) {
    return (size_t)(s->query->offset[at->b] + i) * (size_t)ld + (size_t)at->h * (size_t)s->d_head;
}

static size_t key_at(const struct scores *s, const struct place *at, int j, int ld) {
    return (size_t)(s->key->offset[at->b] + j) * (size_t)ld + (size_t)at->kv * (size_t)s->d_head;
}

static real dot(const real *a, const real *b, int n) {
    real sum = 0;
    for (int d = 0; d < n; d++) sum += a[d] * b[d];
    return sum;
}

/* y += factor * x */
static void add_scaled(real *y, real factor, const real *x, int n) {
    for (int d = 0; d < n; d++) y[d] += factor * x[d];
}

static const uint8_t *mask_row(const struct scores *s, const struct place *at, int i, uint8_t *keep) {
    int position = s->query->position[s->query->offset[at->b] + i];
    return dropout_row(&s->dropout, s->query->example[at->b], (uint32_t)position, (uint32_t)s->original_head[at->h],
                       at->packed + (size_t)i * (size_t)at->keys, at->keys, keep);
}

/* y = dropout(x), the same mask for the weights and for their gradient. */
static void drop_row(real *y, const real *x, const struct scores *s, const struct place *at, int i, uint8_t *keep) {
    if (s->dropout.rate == 0) {
        memmove(y, x, (size_t)at->keys * sizeof *y);
        return;
    }
    const uint8_t *kept = mask_row(s, at, i, keep);
    real factor = dropout_factor(&s->dropout);
    for (int j = 0; j < at->keys; j++) y[j] = kept[j] ? x[j] * factor : 0;
}

static size_t saved_size(const struct scores *s) {
    return 2 * scores_packed_size(s);
}

static size_t scratch_size(const struct scores *s) {
    return 4 * (size_t)s->key->longest + 16;
}

/* x (S) = what query i's softmax takes but for what is hidden; dcap as in scores_adjust. */
static void score_row(real *x, real *dcap, const struct scores *s, const struct place *at, int i, const real *q,
                      int ldq, const real *k, int ldk) {
    for (int j = 0; j < at->keys; j++)
        x[j] = s->scale * dot(q + query_at(s, at, i, ldq), k + key_at(s, at, j, ldk), s->d_head);
    if (scores_adjusted(s)) scores_adjust(x, dcap, s, at->b, at->h, i, 0, at->keys);
}

static void forward_place(real *out, real *p, real *w, uint8_t *keep, const struct scores *s, const struct place *at,
                          const real *q, int ldq, const real *k, int ldk, const real *v, int ldv) {
    for (int i = 0; i < at->queries; i++) {
        real *p_i = p + (size_t)i * (size_t)at->keys, *w_i = w + (size_t)i * (size_t)at->keys, maximum, sum;
        score_row(p_i, NULL, s, at, i, q, ldq, k, ldk);
        scores_hide(p_i, s, at->b, i, 0, at->keys);
        softmax_row(p_i, at->keys, &maximum, &sum);
        for (int j = 0; j < at->keys; j++) p_i[j] = sum == 0 ? 0 : p_i[j] / sum;
        drop_row(w_i, p_i, s, at, i, keep);
        real *o = out + query_at(s, at, i, s->heads * s->d_head);
        memset(o, 0, (size_t)s->d_head * sizeof *o);
        for (int j = 0; j < at->keys; j++) add_scaled(o, w_i[j], v + key_at(s, at, j, ldv), s->d_head);
    }
}

static void forward(real *out, real *saved, real *scratch, const struct scores *s, const real *q, int ldq,
                    const real *k, int ldk, const real *v, int ldv) {
    real *weights = saved + scores_packed_size(s);
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct place at = place_of(s, b, h);
            forward_place(out, saved + at.packed, weights + at.packed, (uint8_t *)scratch, s, &at, q, ldq, k, ldk, v,
                          ldv);
        }
}

static void backward_place(real *dq, real *dk, real *dv, real *scratch, const struct scores *s, const struct place *at,
                           const real *dout, const real *p, const real *w, const real *q, int ldq, const real *k,
                           int ldk, const real *v, int ldv) {
    real *dx = scratch, *x = dx + at->keys, *dcap = x + at->keys;
    uint8_t *keep = (uint8_t *)(dcap + at->keys);
    bool adjusted = scores_adjusted_backward(s);
    real scale = adjusted ? 1 : s->scale;
    for (int i = 0; i < at->queries; i++) {
        const real *p_i = p + (size_t)i * (size_t)at->keys, *w_i = w + (size_t)i * (size_t)at->keys;
        const real *do_i = dout + query_at(s, at, i, s->heads * s->d_head);
        for (int j = 0; j < at->keys; j++) dx[j] = dot(do_i, v + key_at(s, at, j, ldv), s->d_head);
        drop_row(dx, dx, s, at, i, keep);
        real mean = dot(p_i, dx, at->keys);
        for (int j = 0; j < at->keys; j++) dx[j] = scale * p_i[j] * (dx[j] - mean);
        if (s->soft_cap != 0) score_row(x, dcap, s, at, i, q, ldq, k, ldk);
        if (adjusted) scores_adjust_backward(dx, dcap, s, at->b, at->h, i, 0, at->keys);
        for (int j = 0; j < at->keys; j++) {
            add_scaled(dq + query_at(s, at, i, ldq), dx[j], k + key_at(s, at, j, ldk), s->d_head);
            add_scaled(dk + key_at(s, at, j, ldk), dx[j], q + query_at(s, at, i, ldq), s->d_head);
            add_scaled(dv + key_at(s, at, j, ldv), w_i[j], do_i, s->d_head);
        }
    }
}

static void backward(real *dq, real *dk, real *dv, real *scratch, const struct scores *s, const real *dout,
                     const real *out, const real *saved, const real *q, int ldq, const real *k, int ldk, const real *v,
                     int ldv) {
    (void)out; /* the mean of dp is summed, not taken from it: a second route */
    const real *weights = saved + scores_packed_size(s);
    clear_rows(dq, ldq, s->query->rows, s->heads * s->d_head);
    clear_rows(dk, ldk, s->key->rows, s->kv_heads * s->d_head);
    clear_rows(dv, ldv, s->key->rows, s->kv_heads * s->d_head);
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct place at = place_of(s, b, h);
            backward_place(dq, dk, dv, scratch, s, &at, dout, saved + at.packed, weights + at.packed, q, ldq, k, ldk, v,
                           ldv);
        }
}

static void map(real *weights, real *scratch, const struct scores *s, const real *saved, int b, int h, const real *q,
                int ldq, const real *k, int ldk) {
    (void)scratch, (void)q, (void)ldq, (void)k, (void)ldk; /* it is all in saved */
    struct place at = place_of(s, b, h);
    memcpy(weights, saved + at.packed, (size_t)at.queries * (size_t)at.keys * sizeof *weights);
}

const struct attention_core attention_explicit = {
    .variant = {"explicit", "materialises scores and weights: slower, every number can be printed"},
    .saved_size = saved_size,
    .scratch_size = scratch_size,
    .forward = forward,
    .backward = backward,
    .map = map,
};
