#include "base/batch.h"
#include "base/error.h"
#include "base/memory.h"

struct batch batch_sizes(int sequences, int longest) {
    int rows;
    if (__builtin_mul_overflow(sequences, longest, &rows)) rows = INT32_MAX;
    return (struct batch){.sequences = sequences, .rows = rows, .longest = longest};
}

bool batch_buffer_new(struct batch_buffer *buffer, int max_sequences, int max_rows) {
    size_t sequences = (size_t)max_sequences, rows = (size_t)max_rows;
    *buffer = (struct batch_buffer){
        .token = mem_new(rows, sizeof(int)),
        .offset = mem_new(sequences, sizeof(int)),
        .length = mem_new(sequences, sizeof(int)),
        .position = mem_new(rows, sizeof(int)),
        .sequence = mem_new(rows, sizeof(int)),
        .example = mem_new(sequences, sizeof(uint32_t)),
        .max_sequences = max_sequences,
        .max_rows = max_rows,
    };
    buffer->view = (struct batch){.offset = buffer->offset,
                                  .length = buffer->length,
                                  .example = buffer->example,
                                  .position = buffer->position,
                                  .sequence = buffer->sequence};
    if (buffer->token && buffer->offset && buffer->length && buffer->position && buffer->sequence && buffer->example)
        return true;
    batch_buffer_free(buffer);
    return false;
}

void batch_buffer_free(struct batch_buffer *buffer) {
    mem_free(buffer->token);
    mem_free(buffer->offset);
    mem_free(buffer->length);
    mem_free(buffer->position);
    mem_free(buffer->sequence);
    mem_free(buffer->example);
    *buffer = (struct batch_buffer){0};
}

void batch_clear(struct batch_buffer *buffer) {
    buffer->view.sequences = buffer->view.rows = buffer->view.longest = 0;
}

int *batch_add(struct batch_buffer *buffer, int length, int position, uint32_t example) {
    struct batch *view = &buffer->view;
    ch_assert(view->sequences < buffer->max_sequences && length <= buffer->max_rows - view->rows);
    int b = view->sequences++, first = view->rows;
    buffer->offset[b] = first;
    buffer->length[b] = length;
    buffer->example[b] = example;
    for (int i = 0; i < length; i++) {
        buffer->position[first + i] = position + i;
        buffer->sequence[first + i] = b;
    }
    view->rows += length;
    if (length > view->longest) view->longest = length;
    return buffer->token + first;
}
