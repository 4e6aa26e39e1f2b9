/*
 * The fused core: no (T, S) matrix, memory linear in S. Forward keeps the maximum and the sum of each query, and
 * backward and maps make the scores again from them (Dao et al. 2022, 2023).
 *
 *   x_ij = scale * q_i . k_j (adjusted; hidden: -inf),  p = softmax_j(x),  w = dropout(p),  o_i = sum_j w_ij v_j
 *   dp = dropout(do_i . v_j),  dx_ij = p_ij (dp_ij - do_i . o_i)
 *   dq_i = scale sum_j dx_ij k_j,  dk_j = scale sum_i dx_ij q_i,  dv_j = sum_i w_ij do_i
 *
 * Here each head of each sequence goes one of two ways (fused.h), by its own shape and nothing else: what a sequence
 * gives does not depend on its batch. saved: maximum (N, H), then sum (N, H), then exponentials (B, H, kept_size).
 */
#include "kernels/fused.h"

/* As few queries do not fill the lanes (measured). */
enum { FEW_QUERIES = 2 };

static bool is_few(const struct scores *s, int queries) {
    return queries <= FEW_QUERIES && s->dropout.rate == 0;
}

/* From this many multiplications of queries and keys on, blocks and their matrix products are the faster way; measured
 * for Dh 16 to 128, on shapes from a few queries to as many as keys. Tiles, being smaller, fit the edge better behind
 * which keys are hidden, and stay ahead for longer there. */
enum { LONG = 1 << 19, LONG_CAUSAL = 1 << 25 };

/* A window makes of a long sequence many short ones, with such an edge. */
static bool is_long(const struct scores *s, int window, int queries, int keys) {
    bool narrow = window > 0 && window < keys;
    int seen = narrow ? window : keys, seeing = narrow && window < queries ? window : queries;
    double products = (double)seeing * (double)seen * (double)s->d_head;
    return queries > FEW_QUERIES && products >= (s->causal || narrow ? LONG_CAUSAL : LONG);
}

static const struct fused_path *path_of(const struct fused_head *head) {
    bool through_blocks = is_long(head->scores, head->scores->window, head->queries, head->keys);
    return through_blocks ? &fused_long : &fused_short;
}

/* (N, H) */
static size_t rows_size(const struct scores *s) {
    return (size_t)s->query->rows * (size_t)s->heads;
}

/* Of a head of a sequence, for exponentials: tiles of the longest that keeps them. */
static size_t kept_size(const struct scores *s) {
    if (s->soft_cap != 0) return 0;
    int queries = s->query->longest < KEPT ? s->query->longest : KEPT;
    int keys = s->key->longest < KEPT ? s->key->longest : KEPT;
    return (size_t)((queries + LANES - 1) / LANES * LANES) * (size_t)keys;
}

static bool keeps(const struct scores *s, int queries, int keys) {
    return queries <= KEPT && keys <= KEPT && !is_few(s, queries) && s->soft_cap == 0;
}

static size_t saved_size(const struct scores *s) {
    return 2 * rows_size(s) + (size_t)s->query->sequences * (size_t)s->heads * kept_size(s);
}

/* A batch with a long sequence may hold short ones; and what is long within a window is long without. */
static size_t scratch_size(const struct scores *s) {
    size_t few = fused_short.scratch_size(s), many = fused_long.scratch_size(s);
    return is_long(s, 0, s->query->longest, s->key->longest) && many > few ? many : few;
}

static size_t query_at(const struct scores *s, int b, int h, int ld) {
    return (size_t)s->query->offset[b] * (size_t)ld + (size_t)h * (size_t)s->d_head;
}

static size_t key_at(const struct scores *s, int b, int h, int ld) {
    return (size_t)s->key->offset[b] * (size_t)ld + (size_t)s->kv_of_head[h] * (size_t)s->d_head;
}

/* Of a sequence's first query, in maximum and sum (N, H). */
static size_t row_at(const struct scores *s, int b, int h) {
    return (size_t)s->query->offset[b] * (size_t)s->heads + (size_t)h;
}

static size_t kept_at(const struct scores *s, int b, int h) {
    return 2 * rows_size(s) + ((size_t)b * (size_t)s->heads + (size_t)h) * kept_size(s);
}

static struct fused_head head_of(real *scratch, const struct scores *s, const real *saved, int b, int h, const real *q,
                                 int ldq, const real *k, int ldk) {
    int queries = s->query->length[b], keys = s->key->length[b];
    return (struct fused_head){.scores = s,
                               .b = b,
                               .h = h,
                               .queries = queries,
                               .keys = keys,
                               .q = q + query_at(s, b, h, ldq),
                               .k = k + key_at(s, b, h, ldk),
                               .ldq = ldq,
                               .ldk = ldk,
                               .ldo = s->heads * s->d_head,
                               .maximum = saved + row_at(s, b, h),
                               .sum = saved + rows_size(s) + row_at(s, b, h),
                               .kept = keeps(s, queries, keys) ? saved + kept_at(s, b, h) : NULL,
                               .scratch = scratch};
}

static void forward(real *out, real *saved, real *scratch, const struct scores *s, const real *q, int ldq,
                    const real *k, int ldk, const real *v, int ldv) {
    real *sum = saved + rows_size(s);
    for (int b = 0; b < s->query->sequences; b++) {
        bool few = is_few(s, s->query->length[b]);
        for (int h = 0; h < s->heads; h += few ? FEW_HEADS : 1) {
            struct fused_head head = head_of(scratch, s, saved, b, h, q, ldq, k, ldk);
            head.v = v + key_at(s, b, h, ldv);
            head.ldv = ldv;
            real *o = out + query_at(s, b, h, head.ldo), *max = saved + row_at(s, b, h), *total = sum + row_at(s, b, h);
            if (few)
                fused_few_forward(o, max, total, &head, s->heads - h < FEW_HEADS ? s->heads - h : FEW_HEADS);
            else
                path_of(&head)->forward(o, max, total, head.kept ? saved + kept_at(s, b, h) : NULL, &head);
        }
    }
}

static void backward(real *dq, real *dk, real *dv, real *scratch, const struct scores *s, const real *dout,
                     const real *out, const real *saved, const real *q, int ldq, const real *k, int ldk, const real *v,
                     int ldv) {
    clear_rows(dq, ldq, s->query->rows, s->heads * s->d_head); /* a padded batch has rows that no sequence reaches */
    clear_rows(dk, ldk, s->key->rows, s->kv_heads * s->d_head);
    clear_rows(dv, ldv, s->key->rows, s->kv_heads * s->d_head);
    for (int b = 0; b < s->query->sequences; b++)
        for (int h = 0; h < s->heads; h++) {
            struct fused_head head = head_of(scratch, s, saved, b, h, q, ldq, k, ldk);
            head.v = v + key_at(s, b, h, ldv);
            head.ldv = ldv;
            size_t o = query_at(s, b, h, head.ldo);
            struct fused_gradients g = {dq + query_at(s, b, h, ldq), dk + key_at(s, b, h, ldk),
                                        dv + key_at(s, b, h, ldv), dout + o, out + o};
            path_of(&head)->backward(&g, &head);
        }
}

static void map(real *weights, real *scratch, const struct scores *s, const real *saved, int b, int h, const real *q,
                int ldq, const real *k, int ldk) {
    struct fused_head head = head_of(scratch, s, saved, b, h, q, ldq, k, ldk);
    path_of(&head)->map(weights, &head);
}

const struct attention_core attention_fused = {
    .variant = {"fused", "never holds a whole map: memory linear in length; maps are recomputed when asked for"},
    .saved_size = saved_size,
    .scratch_size = scratch_size,
    .forward = forward,
    .backward = backward,
    .map = map,
};
