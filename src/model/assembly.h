/*
 * Assembly: the stacks of a model and the head that reads them.
 *   encoder-decoder   memory = encoder(source),  hidden = decoder(target, memory)     Vaswani et al. 2017, the lesson
 *   decoder-only      hidden = decoder(target)                                        Radford et al. 2018
 *   encoder-only      hidden = encoder(source)                                        Devlin et al. 2019
 * and logits = generator(hidden), or, of one row for each sequence, classifier(hidden).
 */
#ifndef CH_MODEL_ASSEMBLY_H
#define CH_MODEL_ASSEMBLY_H

#include "model/stack.h"

struct assembly {
    const struct arch *arch;
    const struct head *head;
    int width, outputs; /* outputs: tokens of the vocabulary, or classes */
    struct position position;
    struct stack encoder, decoder; /* without layers where the assembly has none */
    struct linear generator;
};

/* What backward needs of a forward pass. */
struct assembly_saved {
    struct stack_saved encoder, decoder;
    const real *hidden; /* what the generator saw */
};

/* What enters: the tokens of a batch for each stack that there is; of the other nothing is read. */
struct assembly_input {
    const int *source_token;
    const struct batch *sources;
    const int *target_token;
    const struct batch *targets;
};

ch_status assembly_declare(struct assembly *net, struct params *params, const struct config *config, ch_error *error);
void assembly_free(struct assembly *net);

bool assembly_saved_new(struct assembly_saved *saved, const struct assembly *net);
void assembly_saved_free(struct assembly_saved *saved);

/* The rows of which logits are made: those of the last stack, or one for each of its sequences. */
int assembly_logit_rows(const struct assembly *net, const struct batch *last);

/* memory (M, D) */
real *encoder_forward(struct pass *pass, const struct assembly *net, const int *token, const struct batch *batch,
                      struct assembly_saved *saved);
/* hidden (N, D). memory: all NULL without an encoder. caches: NULL: none. */
real *decoder_forward(struct pass *pass, const struct assembly *net, const int *token, const struct batch *batch,
                      struct memory memory, const struct stack_caches *caches, struct assembly_saved *saved);
/* logits (rows of the batch, outputs) from hidden rows */
real *generator_forward(struct pass *pass, const struct assembly *net, const real *hidden, const struct batch *batch);

/* logits (assembly_logit_rows, outputs) of teacher forcing: all of it, once. */
real *assembly_forward(struct pass *pass, const struct assembly *net, const struct assembly_input *input,
                       struct assembly_saved *saved);
void assembly_backward(struct pass *pass, const struct assembly *net, const real *dlogits,
                       const struct assembly_saved *saved);

#endif
