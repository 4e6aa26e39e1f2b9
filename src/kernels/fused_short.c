/*
 * The fused core for short sequences: scores of LANES queries of a head at a time stand in a tile (S, LANES), a query
 * in each lane, so that nothing is summed across a vector, and a sum over a head's channels is a run of multiplications
 * by single numbers. A library's matrix product would spend more on being called.
 *
 * forward:   p = exp(q . k - maximum),  out_i = sum_j kept_ij p_ij v_j / sum_i
 * backward:  p again,  dp = kept * (dout . v),  dx = scale p (dp - sum_j p dp),
 *            dq = dx k,  dk += dx q,  dv += kept p dout
 * scratch: queries turned into lanes, and tiles.
 */
#include "kernels/columns.h"
#include "kernels/fused.h"

struct tile {
    int first, queries;  /* of the sequence's queries: LANES of them, fewer at the end */
    int key, keys;       /* those that any of them sees */
    real *q_lanes;       /* (Dh, LANES), times scale */
    real *dout_lanes;    /* (Dh, LANES) */
    real *p, *dp, *keep; /* (S, LANES), S rounded up to KEY_BLOCK; keep: factors of dropout */
    real *dcap;          /* the same, of scores_adjust_tile; NULL: not wanted */
};

static size_t whole_blocks(int keys) {
    return (size_t)(keys + KEY_BLOCK - 1) / KEY_BLOCK * KEY_BLOCK;
}

static size_t scratch_size(const struct scores *s) {
    size_t tiles = s->soft_cap != 0 ? 4 : 3;
    return LANES * (2 * (size_t)s->d_head + tiles * whole_blocks(s->key->longest));
}

static struct tile first_tile(const struct fused_head *head) {
    size_t lanes = (size_t)head->scores->d_head * LANES, tile = whole_blocks(head->keys) * LANES;
    real *at = head->scratch;
    return (struct tile){.q_lanes = at,
                         .dout_lanes = at + lanes,
                         .p = at + 2 * lanes,
                         .dp = at + 2 * lanes + tile,
                         .keep = at + 2 * lanes + 2 * tile};
}

static bool next_queries(struct tile *t, const struct fused_head *head) {
    int left = head->queries - t->first;
    if (left <= 0) return false;
    t->queries = left < LANES ? left : LANES;
    struct key_range seen = scores_visible_to_any(head->scores, head->b, t->first, t->queries);
    t->key = seen.from;
    t->keys = seen.to - seen.from;
    return true;
}

/* Where row i of the tile's queries starts. */
static size_t row_at(const struct tile *t, int i, int ld) {
    return (size_t)(t->first + i) * (size_t)ld;
}

/* Where the first of its keys does. */
static size_t key_at(const struct tile *t, int ld) {
    return (size_t)t->key * (size_t)ld;
}

/* ---- products of a tile ---- */

/* Sums that run beside each other, and share what is loaded: as many as hide how long one takes, and fit in registers.
 * MANY are vectors of LANES (lanes_fit_register); SUMS are arrays of LANES with a name each, which compilers keep in
 * registers of whatever width there is. */
enum { SUMS = 4, MANY = 8 };

/* x (count, LANES) = rows (count, Dh) times columns (Dh, LANES). Two pointers and three distances reach MANY rows: as
 * many pointers as rows would not stay in registers. */
VECTOR_HELPER void dot_wide(reals *x, const real *rows, size_t ld, const reals *columns, int d_head, const int count) {
    const real *low = rows, *high = rows + SUMS * ld;
    reals sum[MANY] = {{0}};
    for (int d = 0; d < d_head; d++, low++, high++)
        for (int r = 0; r < count; r++) sum[r] += (r < SUMS ? low : high)[(size_t)(r % SUMS) * ld] * columns[d];
    for (int r = 0; r < count; r++) x[r] = sum[r];
}

/* The same with count = SUMS. */
VECTOR_HELPER void dot_rows(real *restrict x, const real *restrict rows, size_t ld, const real *restrict columns,
                            int d_head) {
    real sum0[LANES] = {0}, sum1[LANES] = {0}, sum2[LANES] = {0}, sum3[LANES] = {0};
    for (int d = 0; d < d_head; d++, rows++, columns += LANES)
        for (int l = 0; l < LANES; l++) {
            sum0[l] += rows[0] * columns[l];
            sum1[l] += rows[ld] * columns[l];
            sum2[l] += rows[2 * ld] * columns[l];
            sum3[l] += rows[3 * ld] * columns[l];
        }
    for (int l = 0; l < LANES; l++) {
        x[l] = sum0[l];
        x[LANES + l] = sum1[l];
        x[2 * LANES + l] = sum2[l];
        x[3 * LANES + l] = sum3[l];
    }
}

VECTOR_HELPER void dot_row(real *restrict x, const real *restrict row, const real *restrict columns, int d_head) {
    real sum[LANES] = {0};
    for (int d = 0; d < d_head; d++)
        for (int l = 0; l < LANES; l++) sum[l] += row[d] * columns[d * LANES + l];
    for (int l = 0; l < LANES; l++) x[l] = sum[l];
}

/* x (n, LANES) = rows (n, Dh) times columns (Dh, LANES). The last rows are made from the end on, some of them over
 * again. */
VECTOR_HELPER void rows_times_lanes(real *x, const real *rows, int ldr, int n, const real *columns, int d_head) {
    const bool wide = lanes_fit_register();
    size_t ld = (size_t)ldr;
    int j = 0;
    for (; wide && j + MANY <= n; j += MANY)
        dot_wide((reals *)x + j, rows + (size_t)j * ld, ld, (const reals *)columns, d_head, MANY);
    for (; n >= SUMS && j < n; j += SUMS) {
        size_t from = (size_t)(j + SUMS <= n ? j : n - SUMS);
        if (wide)
            dot_wide((reals *)x + from, rows + from * ld, ld, (const reals *)columns, d_head, SUMS);
        else
            dot_rows(x + from * LANES, rows + from * ld, ld, columns, d_head);
    }
    for (; j < n; j++) dot_row(x + j * LANES, rows + (size_t)j * ld, columns, d_head);
}

/* What a sum of rows is made of: out_m = factor_m (sum_r weight[m * step_m + r * step_r] row_r), or added to out. The
 * weights of MANY outs can be read even where fewer are left. */
struct sum_of_rows {
    real *out;
    const real *factor; /* NULL: 1, and added to */
    const real *weight;
    const real *row;
    size_t ldo, step_m, step_r, ldr;
    int outs, rows;
};

/* `across` times LANES channels, from channel c, of `many` outs from the m-th; those behind the last are not stored. */
VECTOR_HELPER void sum_wide(const struct sum_of_rows *s, int m, int c, const int many, const int across) {
    const real *weight = s->weight + (size_t)m * s->step_m, *row = s->row + c;
    reals sum[MANY] = {{0}};
    for (int r = 0; r < s->rows; r++, weight += s->step_r, row += s->ldr)
        for (int w = 0; w < across; w++) {
            reals value = *(const reals *)(row + w * LANES);
            for (int i = 0; i < many; i++) sum[i * across + w] += weight[(size_t)i * s->step_m] * value;
        }
    for (int i = 0; i < many && m + i < s->outs; i++)
        for (int w = 0; w < across; w++) {
            reals *out = (reals *)(s->out + (size_t)(m + i) * s->ldo + c + w * LANES);
            *out = s->factor ? sum[i * across + w] * s->factor[m + i] : *out + sum[i * across + w];
        }
}

VECTOR_HELPER void sum_rows_wide(const struct sum_of_rows *s, int whole) {
    int c = 0;
    for (; c + 2 * LANES <= whole; c += 2 * LANES)
        for (int m = 0; m < s->outs; m += SUMS) sum_wide(s, m, c, SUMS, 2);
    for (int m = 0; m < s->outs && c < whole; m += MANY)
        if (s->outs - m > SUMS)
            sum_wide(s, m, c, MANY, 1);
        else
            sum_wide(s, m, c, SUMS, 1);
}

VECTOR_HELPER void put_sum(const struct sum_of_rows *s, int m, int c, const real *restrict sum) {
    real *restrict out = s->out + (size_t)m * s->ldo + c;
    if (m >= s->outs) return;
    for (int l = 0; l < LANES; l++) out[l] = s->factor ? sum[l] * s->factor[m] : out[l] + sum[l];
}

/* LANES channels, from channel c, of SUMS outs from the m-th. */
VECTOR_HELPER void sum_chunk(const struct sum_of_rows *s, int m, int c) {
    const size_t step = s->step_m;
    const real *restrict weight = s->weight + (size_t)m * step, *restrict row = s->row + c;
    real sum0[LANES] = {0}, sum1[LANES] = {0}, sum2[LANES] = {0}, sum3[LANES] = {0};
    for (int r = 0; r < s->rows; r++, weight += s->step_r, row += s->ldr)
        for (int l = 0; l < LANES; l++) {
            sum0[l] += weight[0] * row[l];
            sum1[l] += weight[step] * row[l];
            sum2[l] += weight[2 * step] * row[l];
            sum3[l] += weight[3 * step] * row[l];
        }
    put_sum(s, m, c, sum0);
    put_sum(s, m + 1, c, sum1);
    put_sum(s, m + 2, c, sum2);
    put_sum(s, m + 3, c, sum3);
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
    int whole = d_head / LANES * LANES;
    if (lanes_fit_register())
        sum_rows_wide(s, whole);
    else
        for (int m = 0; m < s->outs; m += SUMS)
            for (int c = 0; c < whole; c += LANES) sum_chunk(s, m, c);
    for (int m = 0; m < s->outs && whole < d_head; m++) sum_rest(s, m, whole, d_head);
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
VECTOR_HELPER void fill_scores(const struct tile *t, const struct fused_head *head) {
    const struct scores *s = head->scores;
    rows_to_lanes(t->q_lanes, LANES, head->q + row_at(t, 0, head->ldq), head->ldq, t->queries, s->d_head, s->scale);
    rows_times_lanes(t->p, head->k + key_at(t, head->ldk), head->ldk, t->keys, t->q_lanes, s->d_head);
    if (scores_adjusted(s))
        scores_adjust_tile(t->p, t->dcap, LANES, s, head->b, head->h, t->first, t->queries, t->key, t->keys);
    scores_hide_tile(t->p, LANES, s, head->b, t->first, t->queries, t->key, t->keys);
}

/* What is subtracted from the columns of x (n, LANES). Four rows at a time: four chains, none waits for itself. */
VECTOR_HELPER void shift_of_columns(real *shift, const real *x, int n) {
    real most[SUMS * LANES];
    for (int c = 0; c < SUMS * LANES; c++) most[c] = -RC(INFINITY);
    columns_larger(most, x, n / SUMS, SUMS * LANES);
    columns_larger(most, x + n / SUMS * SUMS * LANES, n % SUMS, LANES);
    columns_larger(most, most + LANES, SUMS - 1, LANES);
    for (int l = 0; l < LANES; l++) shift[l] = shift_of(most[l]);
}

/* Numbers of the tile before t in the exponentials that are kept. */
static size_t kept_at(const struct tile *t, const struct fused_head *head) {
    return (size_t)t->first * (size_t)head->keys;
}

VECTOR_HELPER void take_factors(real *factor, const struct tile *t, const struct fused_head *head) {
    for (int i = 0; i < LANES; i++)
        factor[i] = i < t->queries ? factor_of(head->sum[row_at(t, i, head->scores->heads)]) : 0;
}

VECTOR_HELPER void weights_again(const struct tile *t, const struct fused_head *head) {
    real most[LANES] = {0}, factor[LANES];
    for (int i = 0; i < t->queries; i++) most[i] = head->maximum[row_at(t, i, head->scores->heads)];
    take_factors(factor, t, head);
    fill_scores(t, head);
    columns_again(t->p, t->keys, LANES, most, factor);
}

/* The same from what was kept, and the factors of dropout. */
VECTOR_HELPER void weights_kept(const struct tile *t, const struct fused_head *head) {
    const real *restrict kept = head->kept + kept_at(t, head);
    real *restrict p = t->p, *restrict keep = t->keep, factor[LANES], scaled = dropout_factor(&head->scores->dropout);
    take_factors(factor, t, head);
    for (int j = 0; j < t->keys; j++)
        for (int l = 0; l < LANES; l++) {
            real e = kept[j * LANES + l];
            p[j * LANES + l] = R(fabs)(e) * factor[l];
            keep[j * LANES + l] = e > 0 ? scaled : 0;
        }
}

static bool draw_kept(const struct tile *t, const struct fused_head *head) {
    return scores_kept(t->keep, LANES, head->scores, head->b, head->h, t->first, t->queries, t->key, t->keys);
}

VECTOR_HELPER void multiply(real *restrict x, const real *restrict factor, int count) {
    for (int i = 0; i < count; i++) x[i] *= factor[i];
}

/* ---- forward ---- */

/* What is 0 may be dropped or not. */
VECTOR_HELPER void keep_tile(real *restrict kept, const struct tile *t, bool dropped) {
    const real *restrict p = t->p, *restrict keep = t->keep;
    for (int i = 0; i < t->keys * LANES; i++) kept[i] = dropped && keep[i] == 0 ? -p[i] : p[i];
}

VECTOR_HELPER void forward_tile(real *out, real *maximum, real *sum, real *kept, const struct tile *t,
                                const struct fused_head *head) {
    real shift[LANES], total[LANES] = {0}, factor[LANES];
    fill_scores(t, head);
    shift_of_columns(shift, t->p, t->keys);
    columns_exp(t->p, t->keys, LANES, shift, total);
    for (int i = 0; i < t->queries; i++) {
        maximum[row_at(t, i, head->scores->heads)] = shift[i];
        sum[row_at(t, i, head->scores->heads)] = total[i];
    }
    for (int l = 0; l < LANES; l++) factor[l] = factor_of(total[l]);
    bool dropped = draw_kept(t, head);
    if (kept) keep_tile(kept + kept_at(t, head), t, dropped);
    if (dropped) multiply(t->p, t->keep, t->keys * LANES);
    to_queries(out + row_at(t, 0, head->ldo), head->ldo, factor, t->p, head->v + key_at(t, head->ldv), head->ldv, t,
               head->scores->d_head);
}

VECTORISED static void forward(real *out, real *maximum, real *sum, real *kept, const struct fused_head *head) {
    for (struct tile t = first_tile(head); next_queries(&t, head); t.first += LANES)
        forward_tile(out, maximum, sum, kept, &t, head);
}

/* ---- backward ---- */

/* p, and factors of dropout if any. */
VECTOR_HELPER bool take_weights(const struct tile *t, const struct fused_head *head) {
    if (!head->kept) {
        weights_again(t, head);
        return draw_kept(t, head);
    }
    weights_kept(t, head);
    return head->scores->dropout.rate > 0;
}

/* p becomes w, dp becomes scale * dx. */
VECTOR_HELPER void backward_weights(const struct tile *t, const struct fused_head *head, bool dropped) {
    const struct scores *s = head->scores;
    const bool adjusted = scores_adjusted_backward(s);
    const real scale = adjusted ? 1 : s->scale;
    real *restrict p = t->p, *restrict dp = t->dp, mean[LANES] = {0};
    if (dropped) multiply(dp, t->keep, t->keys * LANES);
    for (int j = 0; j < t->keys; j++)
        for (int l = 0; l < LANES; l++) mean[l] += p[j * LANES + l] * dp[j * LANES + l];
    for (int j = 0; j < t->keys; j++)
        for (int l = 0; l < LANES; l++) dp[j * LANES + l] = scale * p[j * LANES + l] * (dp[j * LANES + l] - mean[l]);
    if (adjusted)
        scores_adjust_tile_backward(dp, t->dcap, LANES, s, head->b, head->h, t->first, t->queries, t->key, t->keys);
    if (dropped) multiply(p, t->keep, t->keys * LANES);
}

VECTOR_HELPER void backward_tile(const struct fused_gradients *g, const struct tile *t, const struct fused_head *head) {
    const int d_head = head->scores->d_head;
    const real *dout = g->dout + row_at(t, 0, head->ldo);
    bool dropped = take_weights(t, head);
    rows_to_lanes(t->dout_lanes, LANES, dout, head->ldo, t->queries, d_head, 1);
    rows_times_lanes(t->dp, head->v + key_at(t, head->ldv), head->ldv, t->keys, t->dout_lanes, d_head);
    backward_weights(t, head, dropped);
    static const real one[LANES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    to_queries(g->dq + row_at(t, 0, head->ldq), head->ldq, one, t->dp, head->k + key_at(t, head->ldk), head->ldk, t,
               d_head);
    to_keys(g->dk + key_at(t, head->ldk), head->ldk, t->dp, head->q + row_at(t, 0, head->ldq), head->ldq, t, d_head);
    to_keys(g->dv + key_at(t, head->ldv), head->ldv, t->p, dout, head->ldo, t, d_head);
}

VECTORISED static void backward(const struct fused_gradients *g, const struct fused_head *head) {
    struct tile t = first_tile(head);
    if (head->scores->soft_cap != 0) t.dcap = t.keep + whole_blocks(head->keys) * LANES;
    for (; next_queries(&t, head); t.first += LANES) backward_tile(g, &t, head);
}

/* ---- maps ---- */

VECTORISED static void map(real *weights, const struct fused_head *head) {
    for (struct tile t = first_tile(head); next_queries(&t, head); t.first += LANES) {
        weights_again(&t, head);
        for (int i = 0; i < t.queries; i++)
            for (int j = 0; j < head->keys; j++)
                weights[row_at(&t, i, head->keys) + (size_t)j] =
                    t.key <= j && j < t.key + t.keys ? t.p[(j - t.key) * LANES + i] : 0;
    }
}

const struct fused_path fused_short = {scratch_size, forward, backward, map};
