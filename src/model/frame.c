#include "model/frame.h"
#include "base/memory.h"

#include <string.h>

struct batch_limits frame_limits(const struct config *config, int sequences, int source, int target) {
    if (!config->arch->encoder) return (struct batch_limits){sequences, 0, source + target - 1};
    if (config->arch->decoder) return (struct batch_limits){sequences, source, target - 1};
    return (struct batch_limits){sequences, source + config->head->classes, 0};
}

bool frame_new(struct frame *frame, const struct config *config, const struct batch_limits *limits) {
    size_t sequences = (size_t)limits->sequences, longest = (size_t)(limits->target ? limits->target : limits->source);
    *frame = (struct frame){.config = config,
                            .sos = config_place_vocab(config).sos,
                            .label = mem_new(sequences * longest, sizeof *frame->label)};
    return frame->label &&
           (!limits->source ||
            batch_buffer_new(&frame->source, limits->sequences, limits->sequences * limits->source)) &&
           (!limits->target || batch_buffer_new(&frame->target, limits->sequences, limits->sequences * limits->target));
}

void frame_free(struct frame *frame) {
    batch_buffer_free(&frame->source);
    batch_buffer_free(&frame->target);
    mem_free(frame->label);
    *frame = (struct frame){0};
}

void frame_clear(struct frame *frame) {
    batch_clear(&frame->source);
    batch_clear(&frame->target);
    frame->labels = frame->counted = 0;
}

static void copy_tokens(int *to, const int *from, size_t count) {
    if (count) memcpy(to, from, count * sizeof *to);
}

static void add_label(struct frame *frame, int label) {
    frame->label[frame->labels++] = label;
    frame->counted += label >= 0;
}

static void add_source(struct frame *frame, ch_sequence source, uint32_t example) {
    int first = frame->config->head->classes;
    int *token = batch_add(&frame->source, (int)source.length + first, 0, example);
    if (first) token[0] = frame->sos;
    copy_tokens(token + first, source.tokens, source.length);
}

/* before: tokens of the same rows that come before the target; nobody is asked for those. */
static void add_target(struct frame *frame, ch_sequence before, ch_sequence target, uint32_t example) {
    int *token = batch_add(&frame->target, (int)(before.length + target.length) - 1, 0, example);
    copy_tokens(token, before.tokens, before.length);
    copy_tokens(token + before.length, target.tokens, target.length - 1);
    for (size_t i = 0; i < before.length; i++) add_label(frame, -1);
    for (size_t i = 1; i < target.length; i++) add_label(frame, target.tokens[i]);
}

void frame_add(struct frame *frame, ch_sequence source, ch_sequence target, uint32_t example) {
    const struct arch *arch = frame->config->arch;
    if (arch->encoder) add_source(frame, source, example);
    if (arch->decoder)
        add_target(frame, arch->encoder ? (ch_sequence){0} : source, target, example);
    else
        for (size_t i = 0; i < target.length; i++) add_label(frame, target.tokens[i]);
}

struct assembly_input frame_input(const struct frame *frame) {
    return (struct assembly_input){frame->source.token, &frame->source.view, frame->target.token, &frame->target.view};
}

const struct batch *frame_last(const struct frame *frame) {
    return frame->config->arch->decoder ? &frame->target.view : &frame->source.view;
}
