/*
 * The fused core for long sequences: blocks of queries and keys, whose products are matrix products of the library
 * (Dao et al. 2022, 2023). A block x (keys, columns) stands with a query in each column, so that softmax runs along
 * rows and masks fall as they are drawn; what many columns share of a query is turned once for all its blocks.
 *
 * forward, block after block of keys (Milakov & Gimelshein 2018):
 *   m' = max(m, max_j x),  sum' = sum exp(m - m') + sum_j exp(x - m'),  out' = out exp(m - m') + (kept exp(x - m')) v
 * backward:
 *   p = exp(x - m) / sum,  dp = kept * (v . dout),  dx = scale p (dp - dout . out),
 *   dq += dx k,  dk += dx q,  dv += kept p dout
 * Blocks that nobody sees, as half of them are where keys behind a query are hidden, are left out; so are keys outside
 * of every query's window.
 * scratch: turned queries, and three blocks, four with a soft cap; it does not grow with the sequence.
 */
#include "kernels/columns.h"
#include "kernels/fused.h"
#include "kernels/gemm.h"

/* Measured: larger blocks gain nothing, and where keys behind a query are hidden, smaller ones waste less. */
enum { MOST_QUERIES = 128, MOST_CAUSAL_QUERIES = 96, MOST_KEYS = 256 };

struct block {
    int first, queries, columns; /* of the sequence's queries; columns: rounded up to LANES */
    struct key_range seen;       /* keys that any of them sees */
    int key, keys;
    int step_queries, step_keys;
    real *q, *dout;      /* (Dh, columns); q times scale */
    real *x, *dx, *kept; /* (keys, columns) */
    real *dcap;          /* the same, of scores_adjust_tile; NULL: not wanted */
};

static size_t scratch_size(const struct scores *s) {
    size_t blocks = s->soft_cap != 0 ? 4 : 3;
    return MOST_QUERIES * (2 * (size_t)s->d_head + blocks * (size_t)MOST_KEYS);
}

/* n in as few parts as `most` allows, which are about as large as each other and whole vectors. */
static int part_of(int n, int most) {
    int parts = (n + most - 1) / most;
    return ((n + parts - 1) / parts + LANES - 1) / LANES * LANES;
}

static struct block first_block(const struct fused_head *head) {
    int most = head->scores->causal ? MOST_CAUSAL_QUERIES : MOST_QUERIES;
    struct block b = {.step_queries = part_of(head->queries, most)};
    b.q = head->scratch;
    b.dout = b.q + (size_t)head->scores->d_head * MOST_QUERIES;
    b.x = b.dout + (size_t)head->scores->d_head * MOST_QUERIES;
    b.dx = b.x + MOST_QUERIES * MOST_KEYS;
    b.kept = b.dx + MOST_QUERIES * MOST_KEYS;
    return b;
}

/* Where row i of the block's queries starts, row j of its keys. */
static size_t query_at(const struct block *b, int i, int ld) {
    return (size_t)(b->first + i) * (size_t)ld;
}

static size_t key_at(const struct block *b, int ld) {
    return (size_t)b->key * (size_t)ld;
}

/* (Dh, columns) = the block's rows turned */
VECTORISED static void turn_queries(real *turned, const real *rows, int ld, const struct block *b, int d_head,
                                    real scale) {
    rows += query_at(b, 0, ld);
    for (int i = 0; i < b->queries; i += LANES)
        rows_to_lanes(turned + i, b->columns, rows + (size_t)i * (size_t)ld, ld,
                      b->queries - i < LANES ? b->queries - i : LANES, d_head, scale);
}

static bool next_queries(struct block *b, const struct fused_head *head) {
    int left = head->queries - b->first;
    if (left <= 0) return false;
    b->queries = left < b->step_queries ? left : b->step_queries;
    b->columns = (b->queries + LANES - 1) / LANES * LANES;
    b->seen = scores_visible_to_any(head->scores, head->b, b->first, b->queries);
    b->step_keys = b->seen.to > b->seen.from ? part_of(b->seen.to - b->seen.from, MOST_KEYS) : 0;
    b->key = b->seen.from;
    turn_queries(b->q, head->q, head->ldq, b, head->scores->d_head, head->scores->scale);
    return true;
}

/* x = the scores of the next block of keys */
static bool next_keys(struct block *b, const struct fused_head *head) {
    const struct scores *s = head->scores;
    int left = b->seen.to - b->key;
    if (left <= 0) return false;
    b->keys = left < b->step_keys ? left : b->step_keys;
    gemm(GEMM_N, GEMM_N, b->keys, b->columns, s->d_head, head->k + key_at(b, head->ldk), head->ldk, b->q, b->columns,
         false, b->x, b->columns);
    if (scores_adjusted(s))
        scores_adjust_tile(b->x, b->dcap, b->columns, s, head->b, head->h, b->first, b->queries, b->key, b->keys);
    scores_hide_tile(b->x, b->columns, s, head->b, b->first, b->queries, b->key, b->keys);
    return true;
}

static bool draw_kept(const struct block *b, const struct fused_head *head) {
    return scores_kept(b->kept, b->columns, head->scores, head->b, head->h, b->first, b->queries, b->key, b->keys);
}

/* The block's x times its kept. */
VECTORISED static void drop(real *restrict x, const real *restrict kept, int count) {
    for (int i = 0; i < count; i++) x[i] *= kept[i];
}

/* Of each query (a column): all that was seen so far. */
struct so_far {
    real most[MOST_QUERIES], total[MOST_QUERIES];
    real rescale[MOST_QUERIES]; /* what sums of weights made before get multiplied by */
};

/* ---- forward ---- */

VECTORISED static void softmax_more(real *x, int n, int columns, struct so_far *all) {
    real shift[MOST_QUERIES], before[MOST_QUERIES], part[MOST_QUERIES] = {0};
    memcpy(before, all->most, sizeof before);
    columns_larger(all->most, x, n, columns);
    for (int c = 0; c < columns; c++) shift[c] = shift_of(all->most[c]);
    columns_exp(x, n, columns, shift, part);
    for (int c = 0; c < columns; c++) {
        all->rescale[c] = exp_below_zero(before[c] - shift[c]);
        all->total[c] = all->total[c] * all->rescale[c] + part[c];
    }
}

/* Row i of out (queries, Dh) times factor_i. */
VECTORISED static void scale_rows(real *out, int ld, const real *factor, int rows, int channels) {
    for (int i = 0; i < rows; i++, out += ld) {
        const real f = factor[i];
        for (int c = 0; c < channels; c++) out[c] *= f;
    }
}

static void forward_block(real *out, struct so_far *all, struct block *b, const struct fused_head *head) {
    int d_head = head->scores->d_head;
    for (int c = 0; c < b->columns; c++) all->most[c] = -RC(INFINITY), all->total[c] = 0;
    for (; next_keys(b, head); b->key += b->keys) {
        softmax_more(b->x, b->keys, b->columns, all);
        if (draw_kept(b, head)) drop(b->x, b->kept, b->keys * b->columns);
        bool more = b->key > b->seen.from;
        if (more) scale_rows(out, head->ldo, all->rescale, b->queries, d_head);
        gemm(GEMM_T, GEMM_N, b->queries, d_head, b->keys, b->x, b->columns, head->v + key_at(b, head->ldv), head->ldv,
             more, out, head->ldo);
    }
    if (b->seen.to == b->seen.from) clear_rows(out, head->ldo, b->queries, d_head);
    for (int c = 0; c < b->columns; c++) all->rescale[c] = factor_of(all->total[c]);
    scale_rows(out, head->ldo, all->rescale, b->queries, d_head);
}

static void forward(real *out, real *maximum, real *sum, real *kept, const struct fused_head *head) {
    (void)kept; /* it makes all scores again */
    struct so_far all;
    for (struct block b = first_block(head); next_queries(&b, head); b.first += b.queries) {
        forward_block(out + query_at(&b, 0, head->ldo), &all, &b, head);
        for (int i = 0; i < b.queries; i++) {
            maximum[query_at(&b, i, head->scores->heads)] = shift_of(all.most[i]);
            sum[query_at(&b, i, head->scores->heads)] = all.total[i];
        }
    }
}

/* ---- backward ---- */

/* Of each query (a column): what its row of weights is made of, and dout . out. */
struct known {
    real maximum[MOST_QUERIES], factor[MOST_QUERIES], mean[MOST_QUERIES];
};

static void recall(struct known *known, const struct block *b, const struct fused_head *head) {
    *known = (struct known){.factor = {0}};
    for (int i = 0; i < b->queries; i++) {
        known->maximum[i] = head->maximum[query_at(b, i, head->scores->heads)];
        known->factor[i] = factor_of(head->sum[query_at(b, i, head->scores->heads)]);
    }
}

VECTORISED static void find_means(struct known *known, const struct block *b, const struct fused_gradients *g, int ld,
                                  int d_head) {
    for (int i = 0; i < b->queries; i++) {
        const real *dout = g->dout + query_at(b, i, ld), *out = g->out + query_at(b, i, ld);
        real lane[LANES] = {0}, rest = 0;
        int d = 0;
        for (; d + LANES <= d_head; d += LANES)
            for (int l = 0; l < LANES; l++) lane[l] += dout[d + l] * out[d + l];
        for (; d < d_head; d++) rest += dout[d] * out[d];
        known->mean[i] = sum_lanes((const reals *)lane) + rest;
    }
}

/* x = p, dx (which is dp) = scale p (dp - mean) */
VECTORISED static void softmax_back(real *restrict x, real *restrict dx, int n, int columns, real scale,
                                    const struct known *restrict known) {
    for (int j = 0; j < n; j++, x += columns, dx += columns)
        for (int c = 0; c < columns; c++) {
            real p = exp_below_zero(x[c] - known->maximum[c]) * known->factor[c];
            x[c] = p;
            dx[c] = scale * p * (dx[c] - known->mean[c]);
        }
}

static void backward_keys(const struct fused_gradients *g, const struct known *known, const struct block *b,
                          const struct fused_head *head) {
    const struct scores *s = head->scores;
    int d_head = s->d_head, count = b->keys * b->columns;
    bool adjusted = scores_adjusted_backward(s);
    const real *dout = g->dout + query_at(b, 0, head->ldo);
    bool dropped = draw_kept(b, head);
    gemm(GEMM_N, GEMM_N, b->keys, b->columns, d_head, head->v + key_at(b, head->ldv), head->ldv, b->dout, b->columns,
         false, b->dx, b->columns);
    if (dropped) drop(b->dx, b->kept, count);
    softmax_back(b->x, b->dx, b->keys, b->columns, adjusted ? 1 : s->scale, known);
    if (adjusted)
        scores_adjust_tile_backward(b->dx, b->dcap, b->columns, s, head->b, head->h, b->first, b->queries, b->key,
                                    b->keys);
    if (dropped) drop(b->x, b->kept, count);
    gemm(GEMM_N, GEMM_N, b->keys, d_head, b->queries, b->x, b->columns, dout, head->ldo, true,
         g->dv + key_at(b, head->ldv), head->ldv);
    gemm(GEMM_N, GEMM_N, b->keys, d_head, b->queries, b->dx, b->columns, head->q + query_at(b, 0, head->ldq), head->ldq,
         true, g->dk + key_at(b, head->ldk), head->ldk);
    gemm(GEMM_T, GEMM_N, b->queries, d_head, b->keys, b->dx, b->columns, head->k + key_at(b, head->ldk), head->ldk,
         true, g->dq + query_at(b, 0, head->ldq), head->ldq);
}

static void backward(const struct fused_gradients *g, const struct fused_head *head) {
    struct known known;
    struct block b = first_block(head);
    if (head->scores->soft_cap != 0) b.dcap = b.kept + MOST_QUERIES * MOST_KEYS;
    for (; next_queries(&b, head); b.first += b.queries) {
        recall(&known, &b, head);
        find_means(&known, &b, g, head->ldo, head->scores->d_head);
        turn_queries(b.dout, g->dout, head->ldo, &b, head->scores->d_head, 1);
        for (; next_keys(&b, head); b.key += b.keys) backward_keys(g, &known, &b, head);
    }
}

/* ---- maps ---- */

VECTORISED static void weights_of_block(real *x, int n, int columns, const struct known *known) {
    columns_again(x, n, columns, known->maximum, known->factor);
}

static void map(real *weights, const struct fused_head *head) {
    struct known known;
    clear_rows(weights, head->keys, head->queries, head->keys);
    for (struct block b = first_block(head); next_queries(&b, head); b.first += b.queries) {
        recall(&known, &b, head);
        for (; next_keys(&b, head); b.key += b.keys) {
            weights_of_block(b.x, b.keys, b.columns, &known);
            for (int i = 0; i < b.queries; i++)
                for (int j = 0; j < b.keys; j++)
                    weights[query_at(&b, i, head->keys) + (size_t)(b.key + j)] = b.x[j * b.columns + i];
        }
    }
}

const struct fused_path fused_long = {scratch_size, forward, backward, map};
