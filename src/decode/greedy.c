#include "decode/greedy.h"

#include <string.h>

/* Takes one token; whether the sequence goes on. */
static bool take(struct session *session, int sequence, struct greedy_answer *answer, const real *logits) {
    int vocab = ch_vocab_size(&session->model->vocab), token = argmax(logits, vocab);
    if (answer->logits)
        memcpy(answer->logits + (size_t)answer->length * (size_t)vocab, logits, (size_t)vocab * sizeof *logits);
    answer->tokens[answer->length++] = token;
    answer->ended = token == ch_vocab_eos(&session->model->vocab);
    if (answer->ended || answer->length == answer->limit) return false;
    session_append(session, sequence, token);
    return true;
}

/* <sos>, behind the source where nothing else reads that. */
static void begin(struct session *session, int b, ch_sequence source) {
    bool prefix = !session->model->net.arch->encoder;
    for (size_t t = 0; prefix && t < source.length; t++) session_append(session, b, source.tokens[t]);
    session_append(session, b, ch_vocab_sos(&session->model->vocab));
}

void greedy(struct session *session, const ch_sequence *source, int count, struct greedy_answer *answer, int *active) {
    int vocab = ch_vocab_size(&session->model->vocab);
    session_begin(session, source, count);
    for (int b = 0; b < count; b++) {
        active[b] = b;
        begin(session, b, source[b]);
        answer[b].length = 0;
        answer[b].ended = false;
    }
    while (count > 0) {
        const real *logits = session_logits(session, active, count);
        int left = 0;
        for (int i = 0; i < count; i++)
            if (take(session, active[i], &answer[active[i]], logits + (size_t)i * (size_t)vocab))
                active[left++] = active[i];
        count = left;
    }
}
