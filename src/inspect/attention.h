/* Cross-attention of one decoded source: every layer's and head's map, and what it says. */
#ifndef CH_INSPECT_ATTENTION_H
#define CH_INSPECT_ATTENTION_H

#include "model/model.h"

struct ch_attention {
    const ch_vocab *vocab;
    int layers;
    int *heads;        /* (layers) */
    size_t *first;     /* (layers) map number of a layer's first head */
    int *source;       /* (columns) */
    int *generated;    /* (rows) */
    int rows, columns; /* T, S */
    float *map;        /* (maps, T, S) */
};

/* What masses and entropies say, those of one map or means over several; its own verdict is not read. */
const char *alignment_verdict(const ch_alignment *alignment);

#endif
