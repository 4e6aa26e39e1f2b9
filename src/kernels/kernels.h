/*
 * Kernels: arrays and dimensions in, arrays out. The contract that all of them keep:
 *
 *  1. Row-major and contiguous unless a leading dimension (ld...) is given. Letters: B sequences, T queries,
 *     S keys, D width, H heads, K key/value heads, Dh head width, F feed-forward width, V vocabulary, N rows, C
 *     channels. A gradient is d + name.
 *  2. Rows are real tokens; a mask is lengths, a causal flag and the queries' positions.
 *  3. Linear weights are (out, in): y = x Wt + b.
 *  4. Forward overwrites its outputs. Backward overwrites gradients of inputs and adds to gradients of
 *     parameters. What backward needs is an explicit output of forward. Outputs come first in every signature.
 *  5. A masked score is -inf; a row with nothing to attend to gives zeros, never NaN.
 *  6. A dropout mask is a function of (seed, step, site, example, position, channel), never of layout or thread.
 *  7. IEEE semantics: NaN and infinities go through. Sums run in a fixed order.
 *  8. No allocation, no statics, no error codes. Scratch memory is an argument; its size is a function beside.
 */
#ifndef CH_KERNELS_KERNELS_H
#define CH_KERNELS_KERNELS_H

#include "base/batch.h"
#include "base/family.h"
#include "base/philox.h"
#include "base/vector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- dropout: Srivastava et al. 2014; kept elements are scaled by 1 / (1 - rate) ---------------- */

struct dropout {
    real rate;             /* 0: nothing happens */
    struct philox_key key; /* of seed and step */
    uint32_t site;
    const uint8_t *drawn; /* a mask drawn beforehand in the tensor's own layout; NULL: Philox */
};

/* Whether each of n neighbouring elements is kept, 0 or 1: those of (example, position, head) from channel 0.
 * packed is the index of the first in the tensor. Gives keep, or a part of dropout->drawn. */
const uint8_t *dropout_row(const struct dropout *dropout, uint32_t example, uint32_t position, uint32_t head,
                           size_t packed, int n, uint8_t *keep);
real dropout_factor(const struct dropout *dropout);

/* Keys of a tile are counted in blocks of this many. */
enum { KEY_BLOCK = 8 };
/* kept (keys rounded up to KEY_BLOCK, LANES), rows ld apart: 1 / (1 - rate) where the weight of query i (a lane) on
 * key first + j is kept, else 0. first is a multiple of KEY_BLOCK. position (queries, at most LANES); packed is the
 * index of query 0's weight on key `first` in the tensor, `row` that of the next query's from there. */
void dropout_weights(real *kept, int ld, const struct dropout *dropout, uint32_t example, const int *position,
                     int queries, uint32_t head, size_t packed, int row, int first, int keys);

/* y (N, C) = x * keep / (1 - rate). keep (N, C) is saved for backward. */
void dropout_forward(real *y, uint8_t *keep, const real *x, const struct dropout *dropout, const struct batch *batch,
                     int channels);
/* y (N, C) = residual + x * keep / (1 - rate). */
void dropout_add_forward(real *y, uint8_t *keep, const real *x, const real *residual, const struct dropout *dropout,
                         const struct batch *batch, int channels);
void dropout_backward(real *dx, const real *dy, const uint8_t *keep, const struct dropout *dropout, size_t count);

/* ---- rows --------------------------------------------------------------------------------------- */

/* y (N, C) += b (C). */
void bias_forward(real *y, const real *b, int rows, int channels);
/* db (C) += the sum of dy (N, C) over rows. */
void bias_backward(real *db, const real *dy, int rows, int channels);
/* x (N, C) = 0, rows ld apart. */
void clear_rows(real *x, int ld, int rows, int channels);
/* y += x, count elements. */
void add(real *y, const real *x, size_t count);

/* Rows for which few_rows_product is the faster one. */
enum { FEW_ROWS = 32 };
/* y (N, C) = x (N, K) w (K, C) + b (C), b may be NULL. LANES - 1 numbers behind w are read and not used. */
void few_rows_product(real *y, const real *x, const real *w, const real *b, int rows, int depth, int columns);

/* y (C, N) = x (N, C) turned. */
void transpose(real *y, const real *x, int rows, int channels);

/* y = max(x, 0). In place is allowed. */
void relu_forward(real *y, const real *x, size_t count);
/* dx = dy where the output y was positive. */
void relu_backward(real *dx, const real *dy, const real *y, size_t count);

/* y = (x - mean) * rstd * w + b over each row of C; variance biased. mean, rstd: (N). b and db may be NULL. Ba et al.
 * 2016. */
void layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *w, const real *b, real epsilon,
                       int rows, int channels);
void layernorm_backward(real *dx, real *dw, real *db, const real *dy, const real *x, const real *mean, const real *rstd,
                        const real *w, int rows, int channels);

/* y = x * rstd * w over each row of C, rstd = 1 / sqrt(mean(x^2) + epsilon): (N). Zhang & Sennrich 2019. */
void rmsnorm_forward(real *y, real *rstd, const real *x, const real *w, real epsilon, int rows, int channels);
void rmsnorm_backward(real *dx, real *dw, const real *dy, const real *x, const real *rstd, const real *w, int rows,
                      int channels);

/* y (N, D) = scale * w[token]. w: (V, D). */
void embedding_forward(real *y, const real *w, const int *token, real scale, int rows, int width);
/* dw[token] += scale * dy; rows whose token is `frozen` are left out (-1: none). */
void embedding_backward(real *dw, const real *dy, const int *token, real scale, int frozen, int rows, int width);

/* y (N, D) += table[position]. table: (positions, D). */
void position_add(real *y, const real *table, const int *position, int rows, int width);

/* ---- rotary positions: Su et al. 2021 ------------------------------------------------------------ */

struct rope {
    int d_head;           /* Dh, even */
    bool interleaved;     /* pair i is (2i, 2i + 1), else (i, i + Dh/2) */
    double base, divisor; /* it turns by position / divisor * base^(-2i/Dh) */
    const real *table;    /* (positions, Dh), as rope_table fills it; of further positions angles are computed */
    int positions;
};
/* table (positions, Dh): the cosines of all pairs and behind them the sines, for each position. */
void rope_table(real *table, const struct rope *rope, int positions);
/* x (N, heads, Dh), rows ld apart, is turned in place, position (N); back: the other way. */
void rope_rotate(real *x, int ld, const struct rope *rope, const int *position, int rows, int heads, bool back);

/* ---- activations: y = f(x), dx = dy * f'(x); dx may be dy, y may be x; _slope: x becomes f'(x) -- */

/* x Phi(x), the share of a normal distribution below x: Hendrycks & Gimpel 2016. */
void gelu_forward(real *y, const real *x, size_t count);
void gelu_forward_slope(real *y, real *x, size_t count);
void gelu_backward(real *dx, const real *dy, const real *x, size_t count);
/* The same paper's approximation by tanh, which GPT-2 has. */
void gelu_tanh_forward(real *y, const real *x, size_t count);
void gelu_tanh_forward_slope(real *y, real *x, size_t count);
void gelu_tanh_backward(real *dx, const real *dy, const real *x, size_t count);
/* x sigmoid(x). */
void silu_forward(real *y, const real *x, size_t count);
void silu_forward_slope(real *y, real *x, size_t count);
void silu_backward(real *dx, const real *dy, const real *x, size_t count);
/* y *= x. */
void multiply_by(real *y, const real *x, size_t count);

/* ---- softmax and loss ---------------------------------------------------------------------------- */

/* x (n) = exp(x - max) in place; *maximum and *sum are those of the row. The weights are x / sum. A row of
 * -inf gives zeros, maximum 0 and sum 0. */
void softmax_row(real *x, int n, real *maximum, real *sum);
/* x (n) = exp(x - maximum) / sum: a row again, from what softmax_row kept of it. */
void softmax_again(real *x, int n, real maximum, real sum);

struct loss {
    double sum;      /* cross-entropy summed over counted rows, nats */
    int64_t count;   /* rows whose label is not `ignored` */
    int64_t correct; /* of those, rows whose largest logit is the label */
};

/* dlogits (N, V) = (softmax(logits) - onehot(label)) * scale, 0 in ignored rows; may be logits itself. */
struct loss cross_entropy(real *dlogits, const real *logits, const int *label, int ignored, real scale, int rows,
                          int vocab);
/* The index of the largest of n; the first among equals; NaN never wins. */
int argmax(const real *x, int n);

/* ---- attention ----------------------------------------------------------------------------------- */

enum score_bias { SCORE_BIAS_NONE, SCORE_BIAS_ALIBI, SCORE_BIAS_BUCKETS };

/* A block of edges that is cut: queries from..to - 1 of a sequence do not see its keys from..to - 1. */
struct knockout {
    int sequence;                               /* -1: all */
    int query_from, query_to, key_from, key_to; /* positions */
};

/* Relative positions in buckets (Raffel et al. 2020, T5): keys j at like distances from a query share a number. Half
 * of a direction's buckets hold a distance each, the others grow until max_distance, behind which all share the last.
 * bidirectional: the first half of the buckets is for keys up to the query, the other for those ahead of it; otherwise
 * all are for keys up to it, and those ahead share bucket 0. */
enum { SCORE_BUCKETS = 32, SCORE_MAX_DISTANCE = 128 }; /* those of T5 */
struct score_buckets {
    const real *table; /* (count, heads), a column for each original head */
    real *dtable;      /* the same for its gradient, which backward adds to; NULL: nobody wants it */
    int heads, count;
    int max_distance; /* more than half of a direction's buckets */
    bool bidirectional;
};

/* A run of keys: from..to - 1. */
struct key_range {
    int from, to;
};

/*
 * Score descriptor: everything that says how scores become weights. Both cores, forward and backward, and the
 * recomputation of maps take it and nothing else. With p_i the position of query i:
 *   s(i, j) = scale * q_i . k_j
 *   s = c tanh(s / c)                      with a soft cap c (Gemma Team 2024)
 *   s = s - slope_h |p_i - j|              with ALiBi (Press et al. 2022)
 *   s = s + table[bucket(j - p_i)][h]      with buckets (Raffel et al. 2020)
 *   s = -inf                               where j is hidden from i: causal, p_i - j >= window (with keys ahead seen,
 *                                          |p_i - j| >= window), edges cut
 *   weights = dropout(softmax over j).
 * Query i stands at query->position (so a query that continues a cached prefix knows its offset); key j of a
 * sequence stands at position j, and key->length says how many there are.
 */
struct scores {
    const struct batch *query, *key;
    int heads, kv_heads, d_head; /* H, K, Dh */
    const int *kv_of_head;       /* (H) which key/value head serves a head */
    const int *original_head;    /* (H) its number before heads were removed */
    real scale;
    bool causal;   /* j is hidden where it stands after i */
    int window;    /* keys that a query sees behind it, itself included, and as many ahead of it; 0: all */
    real soft_cap; /* 0: none */
    enum score_bias bias;
    const real *slope; /* of ALiBi, by original head: alibi_slopes */
    struct score_buckets buckets;
    const struct knockout *knockouts;
    int knockout_count;
    struct dropout dropout; /* of the weights */
};

/* slope (heads): 2^(-8 (h + 1) / heads) for a power of two; for other numbers those of the power of two below, then
 * every second one of the power above. */
void alibi_slopes(real *slope, int heads);

/* Whether soft cap or bias change scores, and whether backward has to know. Who asks first pays nothing otherwise. */
bool scores_adjusted(const struct scores *scores);
bool scores_adjusted_backward(const struct scores *scores);
/* x (keys), of query i of sequence b and head h on keys from `key` on: s = scale * q . k gets its soft cap and bias.
 * dcap (keys), unless NULL: the derivative of the cap, which backward takes; nothing without one. */
void scores_adjust(real *x, real *dcap, const struct scores *scores, int b, int h, int i, int key, int keys);
/* dx (keys): from the gradient of what scores_adjust gives to that of q . k; the table's is added to. */
void scores_adjust_backward(real *dx, const real *dcap, const struct scores *scores, int b, int h, int i, int key,
                            int keys);
/* The same for tiles as in scores_hide_tile; dcap is laid out as x is. */
void scores_adjust_tile(real *x, real *dcap, int ld, const struct scores *scores, int b, int h, int first, int queries,
                        int key, int keys);
void scores_adjust_tile_backward(real *dx, const real *dcap, int ld, const struct scores *scores, int b, int h,
                                 int first, int queries, int key, int keys);

/* Makes -inf of those scores x (keys), from `key` on, whose keys one query does not see. i: the query's row within
 * sequence b. */
void scores_hide(real *x, const struct scores *scores, int b, int i, int key, int keys);
/* Keys that query i of sequence b may see: all others are hidden by position. */
struct key_range scores_visible(const struct scores *scores, int b, int i);
/* The same for all of the queries from `first` on, and a few keys more: the first is a multiple of KEY_BLOCK. */
struct key_range scores_visible_to_any(const struct scores *scores, int b, int first, int queries);

/* A tile (keys, queries), rows ld apart and queries rounded up to LANES, of queries from `first` and keys from `key`
 * on. Hides what scores_hide hides. */
void scores_hide_tile(real *x, int ld, const struct scores *scores, int b, int first, int queries, int key, int keys);
/* Factors of dropout for the weights of head h: keys rounded up to KEY_BLOCK, of which `key` is a multiple. False where
 * nothing is dropped. */
bool scores_kept(real *kept, int ld, const struct scores *scores, int b, int h, int first, int queries, int key,
                 int keys);

/* Where the weights (T, S) of sequence b and head h start in a tensor that holds all of them, packed. */
size_t scores_packed(const struct scores *scores, int b, int h);
/* The size of that tensor, at most. */
size_t scores_packed_size(const struct scores *scores);

/*
 * A core computes out (N, H * Dh) from q (N, H, Dh), k (M, K, Dh), v (M, K, Dh), whose rows are ldq, ldk, ldv apart.
 * saved: what backward and map need; scratch: working memory. Sizes in elements of real.
 */
struct attention_core {
    ch_variant variant;
    size_t (*saved_size)(const struct scores *);
    size_t (*scratch_size)(const struct scores *);
    void (*forward)(real *out, real *saved, real *scratch, const struct scores *, const real *q, int ldq, const real *k,
                    int ldk, const real *v, int ldv);
    /* dq, dk, dv have the layout of q, k, v and are overwritten. */
    void (*backward)(real *dq, real *dk, real *dv, real *scratch, const struct scores *, const real *dout,
                     const real *out, const real *saved, const real *q, int ldq, const real *k, int ldk, const real *v,
                     int ldv);
    /* The weights (T, S) of one sequence and head after softmax, before dropout. */
    void (*map)(real *weights, real *scratch, const struct scores *, const real *saved, int b, int h, const real *q,
                int ldq, const real *k, int ldk);
};

extern const struct attention_core attention_explicit, attention_fused;
const ch_variant *attention_core_row(size_t i);

/* x (T, S): the scores of one sequence and head with their soft cap and bias, nothing hidden: what a person wants to
 * see of them. */
void attention_scores(real *x, const struct scores *scores, int b, int h, const real *q, int ldq, const real *k,
                      int ldk);
/* dp (T, S): the gradient of the weights of one sequence and head before dropout, those of hidden keys, too, which are
 * 0 but whose gradient is not. scratch (S). */
void attention_weights_gradient(real *dp, real *scratch, const struct scores *scores, int b, int h, const real *dout,
                                const real *v, int ldv);
/* dx (T, S), in the place of dp: the gradient of what attention_scores gives, 0 where a key is hidden. p (T, S): the
 * weights. scratch (S). */
void attention_scores_gradient(real *dp, real *scratch, const struct scores *scores, int b, const real *p);

/* out (N, H, Dh) *= gate (H), outside the core. */
void head_gates(real *out, const real *gate, int rows, int heads, int d_head);

/* ---- optimiser ----------------------------------------------------------------------------------- */

/* One step of Adam (Kingma & Ba 2015) on count elements; bias1 = 1 - beta1^t, bias2 = 1 - beta2^t. The gradient
 * is multiplied by grad_scale first (clipping). */
void adam_update(real *w, real *m, real *v, const real *g, real grad_scale, double lr, double beta1, double beta2,
                 double epsilon, double bias1, double bias2, size_t count);
/* x *= factor */
void scale_by(real *x, real factor, size_t count);
/* mean += share (x - mean) */
void move_towards(real *mean, const real *x, real share, size_t count);
double sum_of_squares(const real *x, size_t count);

#endif
