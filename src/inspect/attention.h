/*
 * Attention of one source: every layer's and head's map, and what it says. With an encoder and a decoder it is
 * cross-attention, whose rows are the generated tokens and whose columns are the source; with a single stack it is
 * self-attention, whose rows and columns are the tokens that the stack read.
 */
#ifndef CH_INSPECT_ATTENTION_H
#define CH_INSPECT_ATTENTION_H

#include "model/model.h"

struct ch_attention {
    const ch_vocab *vocab;
    enum config_attention which;
    int window; /* of self-attention; 0: none */
    int layers;
    int *heads;    /* (layers) */
    size_t *first; /* (layers) map number of a layer's first head */
    int *source;   /* (sources) what was given */
    int sources;
    int *generated; /* (generations) what was generated, EOS included */
    int generations;
    int *sequence;     /* (rows) what a single stack read; else NULL */
    bool answers;      /* what was generated answers the source, token by token */
    int rows, columns; /* T, S */
    float *map;        /* (maps, T, S) */
};

/* The row that generated token t. */
int attention_row(const struct ch_attention *attention, int t);

/* What masses and entropies say, those of one map or means over several; its own verdict is not read. */
const char *alignment_verdict(const ch_alignment *alignment);

#endif
