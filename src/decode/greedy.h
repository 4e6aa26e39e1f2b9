/* Greedy decoding of one batch: the most likely token at every step, until EOS or the limit. */
#ifndef CH_DECODE_GREEDY_H
#define CH_DECODE_GREEDY_H

#include "decode/session.h"

struct greedy_answer {
    int *tokens;  /* room for `limit` */
    real *logits; /* (limit, V), or NULL: not asked for */
    int limit;    /* most tokens, EOS included */
    int length;   /* tokens generated, EOS included */
    bool ended;   /* the last one is EOS */
};

/* active: scratch, (count). Sequences that ended drop out of the batch. */
void greedy(struct session *session, const ch_sequence *source, int count, struct greedy_answer *answer, int *active);

#endif
