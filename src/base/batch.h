/*
 * Batch descriptor: which rows of a matrix belong to which sequence.
 *
 * Packed is the normal form: rows = sum of lengths, and nothing is computed for padding. Offsets and lengths
 * are separate, so a padded layout (offset b * T, fewer real rows than T) and the slots of a KV cache are legal
 * batches too. Every sequence carries its example number, which does not change when a batch is cut into
 * shards: dropout masks are a function of it.
 */
#ifndef CH_BASE_BATCH_H
#define CH_BASE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

struct batch {
    int sequences;           /* B */
    int rows;                /* N */
    int longest;             /* max of length */
    const int *offset;       /* (B) first row of each sequence */
    const int *length;       /* (B) its real rows */
    const uint32_t *example; /* (B) its number within the step */
    const int *position;     /* (N) of each row in its sequence */
    const int *sequence;     /* (N) which sequence each row belongs to */
};

/* What a measuring pass sees: sizes without arrays. */
struct batch batch_sizes(int sequences, int longest);

/* A batch with the memory behind it, and a token for each row. */
struct batch_buffer {
    struct batch view;
    int *token; /* (N) */
    int *offset, *length, *position, *sequence;
    uint32_t *example;
    int max_sequences, max_rows;
};

bool batch_buffer_new(struct batch_buffer *buffer, int max_sequences, int max_rows);
void batch_buffer_free(struct batch_buffer *buffer);
void batch_clear(struct batch_buffer *buffer);
/* Appends a packed sequence whose first row stands at `position`; returns where its tokens go (length of them). */
int *batch_add(struct batch_buffer *buffer, int length, int position, uint32_t example);

#endif
