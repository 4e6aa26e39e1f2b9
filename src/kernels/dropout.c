/*
 * Dropout, Srivastava et al. 2014:  y = x * keep / (1 - rate),  dx = dy * keep / (1 - rate).
 * keep is drawn from Philox, so it is the same whatever the layout, the shard or the thread. A counter (block and head,
 * position, example, site) gives 128 bits: 16 for each of BLOCK neighbouring elements, so the rate is met to 2^-17.
 */
#include "kernels/kernels.h"
#include "base/vector.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = KEY_BLOCK, DRAWN = BLOCK * PHILOX_LANES }; /* elements of one counter, and of all lanes */
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

VECTORISED static void keep_below(uint8_t *keep, const uint32_t *word, uint32_t threshold) {
    for (int i = 0; i < DRAWN / 2; i++) {
        keep[2 * i] = (word[i] & 0xFFFF) < threshold;
        keep[2 * i + 1] = word[i] >> 16 < threshold;
    }
}

/* keep (DRAWN): lane after lane, as the elements follow each other. */
static void draw(uint8_t *keep, const struct dropout *dropout, const struct philox_words *counter) {
    struct philox_words drawn;
    uint32_t in_order[4 * PHILOX_LANES];
    philox_lanes(dropout->key, counter, &drawn);
    philox_in_order(&drawn, in_order);
    keep_below(keep, in_order, threshold_of(dropout));
}

/* The counters of neighbouring blocks of one row, in `count` lanes. */
static void count_blocks(struct philox_words *counter, int lane, int count, const struct dropout *dropout,
                         uint32_t position, uint32_t example, uint32_t word) {
    for (int l = lane; l < lane + count; l++) {
        counter->word[0][l] = word + (uint32_t)(l - lane);
        counter->word[1][l] = position;
        counter->word[2][l] = example;
        counter->word[3][l] = dropout->site;
    }
}

const uint8_t *dropout_row(const struct dropout *dropout, uint32_t example, uint32_t position, uint32_t head,
                           size_t packed, int n, uint8_t *keep) {
    if (dropout->drawn) return dropout->drawn + packed;
    for (int first = 0; first < n; first += DRAWN) {
        struct philox_words counter;
        uint8_t drawn[DRAWN];
        count_blocks(&counter, 0, PHILOX_LANES, dropout, position, example, first_word(head, first / BLOCK));
        draw(drawn, dropout, &counter);
        memcpy(keep + first, drawn, (size_t)(n - first < DRAWN ? n - first : DRAWN));
    }
    return keep;
}

/* Rows of whole blocks lie one behind the other: the lanes go through them without regard for where one ends. */
static void draw_rows(uint8_t *keep, const struct dropout *dropout, const struct batch *batch, int channels) {
    int blocks = channels / BLOCK, row = 0, block = 0;
    size_t count = (size_t)batch->rows * (size_t)channels;
    struct philox_words counter = {0};
    for (size_t first = 0; first < count; first += DRAWN) {
        uint8_t drawn[DRAWN];
        for (int lane = 0; lane < PHILOX_LANES && row < batch->rows;) {
            int run = blocks - block < PHILOX_LANES - lane ? blocks - block : PHILOX_LANES - lane;
            count_blocks(&counter, lane, run, dropout, (uint32_t)batch->position[row],
                         batch->example[batch->sequence[row]], first_word(0, block));
            lane += run;
            block += run;
            if (block == blocks) block = 0, row++;
        }
        draw(drawn, dropout, &counter);
        memcpy(keep + first, drawn, count - first < DRAWN ? count - first : DRAWN);
    }
}

static void mask_rows(uint8_t *keep, const struct dropout *dropout, const struct batch *batch, int channels) {
    if (!dropout->drawn && channels % BLOCK == 0) {
        draw_rows(keep, dropout, batch, channels);
        return;
    }
    for (int row = 0; row < batch->rows; row++) {
        size_t packed = (size_t)row * (size_t)channels;
        const uint8_t *from = dropout_row(dropout, batch->example[batch->sequence[row]], (uint32_t)batch->position[row],
                                          0, packed, channels, keep + packed);
        if (from != keep + packed) memcpy(keep + packed, from, (size_t)channels);
    }
}

VECTORISED static void keep_scaled(real *y, const real *x, const uint8_t *keep, real factor, size_t count) {
    for (size_t i = 0; i < count; i++) y[i] = x[i] * ((real)keep[i] * factor);
}

void dropout_forward(real *y, uint8_t *keep, const real *x, const struct dropout *dropout, const struct batch *batch,
                     int channels) {
    mask_rows(keep, dropout, batch, channels);
    keep_scaled(y, x, keep, dropout_factor(dropout), (size_t)batch->rows * (size_t)channels);
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
