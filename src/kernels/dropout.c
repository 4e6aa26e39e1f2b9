/*
 * Dropout, Srivastava et al. 2014:  y = x * keep / (1 - rate),  dx = dy * keep / (1 - rate).
 * keep is drawn from Philox, so it is the same whatever the layout, the shard or the thread. A counter (block and head,
 * position, example, site) gives 128 bits: 16 for each of BLOCK neighbouring elements, so the rate is met to 2^-17.
 */
#include "kernels/kernels.h"
#include "base/philox_lanes.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = KEY_BLOCK }; /* elements of one counter */
static_assert((int)PHILOX_LANES == (int)LANES, "a lane of a tile has a lane of the generator");

/* The head shares a word with the block, see MOST_HEADS. */
static uint32_t first_word(uint32_t head, int block) {
    return (head << 20) + (uint32_t)block;
}

/* An element is kept where its 16 bits are below this. */
static uint32_t threshold_of(const struct dropout *dropout) {
    return (uint32_t)lround((1.0 - (double)dropout->rate) * 65536);
}

real dropout_factor(const struct dropout *dropout) {
    return RC(1) / (RC(1) - dropout->rate);
}

/* ---- rows ---- */

enum { DRAWN = BLOCK * PHILOX_WIDE }; /* neighbouring elements drawn at a time */

/* One row of a tensor, as the generator sees it. */
struct drawn_row {
    uint32_t head, position, example;
};

/* keep (DRAWN), from the first element of a block on. A lane's words are its block's elements, lower half first. */
VECTOR_HELPER void draw(uint8_t *keep, const struct dropout *dropout, const struct drawn_row *row, int block,
                        uint32_t threshold) {
    typedef uint32_t words __attribute__((vector_size(PHILOX_WIDE * sizeof(uint32_t))));
    typedef uint32_t mixed __attribute__((vector_size(2 * PHILOX_WIDE * sizeof(uint32_t))));
    typedef uint16_t halves __attribute__((vector_size(PHILOX_WIDE * sizeof(uint64_t))));
    typedef uint8_t bytes __attribute__((vector_size(PHILOX_WIDE * sizeof(uint32_t))));
    wide c0 = (wide){0, 1, 2, 3, 4, 5, 6, 7} + first_word(row->head, block), c1 = (wide){0} + row->position;
    wide c2 = (wide){0} + row->example, c3 = (wide){0} + dropout->site;
    philox_wide(&c0, &c1, &c2, &c3, dropout->key.word[0], dropout->key.word[1]);
    halves low = (halves)((c0 & 0xFFFFFFFFu) | c1 << 32), high = (halves)((c2 & 0xFFFFFFFFu) | c3 << 32);
    halves limit = (halves){0} + (uint16_t)(threshold - 1); /* a threshold of 2^16 fits no half */
    words first = (words) __builtin_convertvector(low <= limit, bytes);
    words second = (words) __builtin_convertvector(high <= limit, bytes);
    mixed both = __builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    both &= 0x01010101u;
    memcpy(keep, &both, sizeof both);
}

/* keep (n): elements of one row from the first on. */
VECTOR_HELPER void draw_row(uint8_t *keep, const struct dropout *dropout, const struct drawn_row *row, int n,
                            uint32_t threshold) {
    int i = 0;
    for (; i + DRAWN <= n; i += DRAWN) draw(keep + i, dropout, row, i / BLOCK, threshold);
    if (i == n) return;
    uint8_t rest[DRAWN];
    draw(rest, dropout, row, i / BLOCK, threshold);
    memcpy(keep + i, rest, (size_t)(n - i));
}

VECTORISED static void draw_one(uint8_t *keep, const struct dropout *dropout, const struct drawn_row *row, int n) {
    uint32_t threshold = threshold_of(dropout);
    if (threshold == 0)
        memset(keep, 0, (size_t)n);
    else
        draw_row(keep, dropout, row, n, threshold);
}

const uint8_t *dropout_row(const struct dropout *dropout, uint32_t example, uint32_t position, uint32_t head,
                           size_t packed, int n, uint8_t *keep) {
    if (dropout->drawn) return dropout->drawn + packed;
    draw_one(keep, dropout, &(struct drawn_row){head, position, example}, n);
    return keep;
}

VECTORISED static void draw_rows(uint8_t *keep, const struct dropout *dropout, const struct batch *batch,
                                 int channels) {
    uint32_t threshold = threshold_of(dropout);
    if (threshold == 0) memset(keep, 0, (size_t)batch->rows * (size_t)channels);
    for (int n = 0; n < batch->rows && threshold > 0; n++) {
        struct drawn_row row = {0, (uint32_t)batch->position[n], batch->example[batch->sequence[n]]};
        draw_row(keep + (size_t)n * (size_t)channels, dropout, &row, channels, threshold);
    }
}

static void mask_rows(uint8_t *keep, const struct dropout *dropout, const struct batch *batch, int channels) {
    if (dropout->drawn)
        memcpy(keep, dropout->drawn, (size_t)batch->rows * (size_t)channels);
    else
        draw_rows(keep, dropout, batch, channels);
}

VECTORISED static void keep_scaled(real *y, const real *x, const uint8_t *keep, real factor, size_t count) {
    for (size_t i = 0; i < count; i++) y[i] = x[i] * ((real)keep[i] * factor);
}

VECTORISED static void keep_added(real *y, const real *x, const real *to, const uint8_t *keep, real factor,
                                  size_t count) {
    for (size_t i = 0; i < count; i++) y[i] = to[i] + x[i] * ((real)keep[i] * factor);
}

void dropout_forward(real *y, uint8_t *keep, const real *x, const struct dropout *dropout, const struct batch *batch,
                     int channels) {
    mask_rows(keep, dropout, batch, channels);
    keep_scaled(y, x, keep, dropout_factor(dropout), (size_t)batch->rows * (size_t)channels);
}

void dropout_add_forward(real *y, uint8_t *keep, const real *x, const real *residual, const struct dropout *dropout,
                         const struct batch *batch, int channels) {
    mask_rows(keep, dropout, batch, channels);
    keep_added(y, x, residual, keep, dropout_factor(dropout), (size_t)batch->rows * (size_t)channels);
}

void dropout_backward(real *dx, const real *dy, const uint8_t *keep, const struct dropout *dropout, size_t count) {
    keep_scaled(dx, dy, keep, dropout_factor(dropout), count);
}

/* ---- weights of attention ---- */

/* kept (BLOCK, LANES), rows ld apart: factor where the 16 bits of an element are below the threshold, else 0. */
VECTORISED static void kept_of_block(real *kept, size_t ld, const struct philox_words *drawn, uint32_t threshold,
                                     real factor) {
    for (int w = 0; w < 4; w++)
        for (int l = 0; l < LANES; l++) {
            kept[(size_t)(2 * w) * ld + (size_t)l] = (drawn->word[w][l] & 0xFFFF) < threshold ? factor : 0;
            kept[(size_t)(2 * w + 1) * ld + (size_t)l] = drawn->word[w][l] >> 16 < threshold ? factor : 0;
        }
}

static void kept_from_drawn(real *kept, size_t ld, const uint8_t *drawn, int queries, int row, int keys, real factor) {
    for (int j = 0; j < keys; j++)
        for (int i = 0; i < LANES; i++)
            kept[(size_t)j * ld + (size_t)i] =
                i < queries ? factor * (real)drawn[(size_t)i * (size_t)row + (size_t)j] : 0;
}

void dropout_weights(real *kept, int ld, const struct dropout *dropout, uint32_t example, const int *position,
                     int queries, uint32_t head, size_t packed, int row, int first, int keys) {
    real factor = dropout_factor(dropout);
    if (dropout->drawn) {
        kept_from_drawn(kept, (size_t)ld, dropout->drawn + packed, queries, row, keys, factor);
        return;
    }
    struct philox_words counter, drawn;
    for (int i = 0; i < PHILOX_LANES; i++) {
        counter.word[1][i] = (uint32_t)position[i < queries ? i : 0];
        counter.word[2][i] = example;
        counter.word[3][i] = dropout->site;
    }
    for (int j = 0; j < keys; j += BLOCK) {
        for (int i = 0; i < PHILOX_LANES; i++) counter.word[0][i] = first_word(head, (first + j) / BLOCK);
        philox_lanes(dropout->key, &counter, &drawn);
        kept_of_block(kept + (size_t)j * (size_t)ld, (size_t)ld, &drawn, threshold_of(dropout), factor);
    }
}
