/*
 * Session: one timeline of decoding over a read-only model with a decoder. It owns the tokens so far, the encoded
 * sources and, with a cache, the keys and values of every earlier position, so that each step computes one position.
 * A sequence may be longer than the room that it has: session_slide drops its beginning.
 */
#ifndef CH_DECODE_SESSION_H
#define CH_DECODE_SESSION_H

#include "model/pad_cuts.h"

struct session_limits {
    int sequences;
    int source; /* tokens of the longest source; 0 without an encoder */
    int prompt; /* most tokens of a sequence that are computed at once; without an encoder there may come more */
    int target; /* room for the tokens of a sequence, its beginning included */
};

struct session {
    const struct ch_model *model;
    const struct attention_core *core;
    struct session_limits limits;
    bool cached;
    struct arena arena;
    struct assembly_saved saved;
    struct batch_buffer sources, step; /* step: the rows that this step computes */
    struct batch_buffer last;          /* the last row of each: what predicts the next token */
    real *memory;                      /* (rows of sources, D) */
    int *token, *length;               /* (sequences, target), (sequences): the tokens that are kept */
    int *done;                         /* (sequences) how many of those have their keys and values in the caches */
    int *first;                        /* (sequences) the position of the first that is kept */
    int *place;                        /* (rows of step) where each stands among those kept of its sequence */
    struct pad_cuts pads;
    struct stack_caches caches;
    real *cache_block;                                            /* all caches */
    int *self_offset, *self_length, *cross_offset, *cross_length; /* where the keys of the active ones lie */
};

ch_status session_new(struct session *session, const struct ch_model *model, const struct attention_core *core,
                      const struct session_limits *limits, bool cached, ch_error *error);
void session_free(struct session *session);
/* What session_new would take, in bytes: the caches, and everything else. */
void session_measure(const struct ch_model *model, const struct attention_core *core,
                     const struct session_limits *limits, bool cached, uint64_t *caches, uint64_t *rest);

/* Starts so many empty sequences; with an encoder, encodes their sources, once. */
void session_begin(struct session *session, const ch_sequence *source, int count);
void session_append(struct session *session, int sequence, int token);
/* Of a sequence without end, cached or not: what a later row may still look back on of the tokens so far, if all
 * self-attentions have a window and positions can extend. -1: all of them. */
int session_looks_back(const struct ch_model *model, bool cached);
/* Makes room in a sequence that is full. What looks back so far and no further loses nothing: with a cache the rest
 * keeps its positions, keys and values. Otherwise the last half of the tokens begins anew at position 0 and is read
 * once more. */
void session_slide(struct session *session, int sequence);
/* Logits (count, V) of the next token of each active sequence; valid until the next call. With a cache all
 * are active in the first step, and the active ones have been active in every step so far. */
const real *session_logits(struct session *session, const int *active, int count);

#endif
