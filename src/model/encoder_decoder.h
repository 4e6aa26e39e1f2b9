/*
 * The encoder-decoder of Vaswani et al. 2017, as the lesson builds it:
 *   memory = encoder(embed(source)),  hidden = decoder(embed(target), memory),  logits = generator(hidden)
 */
#ifndef CH_MODEL_ENCODER_DECODER_H
#define CH_MODEL_ENCODER_DECODER_H

#include "model/stack.h"

struct encoder_decoder {
    int width, vocab;
    struct position position;
    struct stack encoder, decoder;
    struct linear generator;
};

/* What backward needs of a forward pass. */
struct encoder_decoder_saved {
    struct stack_saved encoder, decoder;
    const real *hidden;
};

ch_status encoder_decoder_declare(struct encoder_decoder *net, struct params *params, const struct config *config,
                                  ch_error *error);
void encoder_decoder_free(struct encoder_decoder *net);

bool encoder_decoder_saved_new(struct encoder_decoder_saved *saved, const struct encoder_decoder *net);
void encoder_decoder_saved_free(struct encoder_decoder_saved *saved);

/* memory (M, D) */
real *encoder_forward(struct pass *pass, const struct encoder_decoder *net, const int *token, const struct batch *batch,
                      struct encoder_decoder_saved *saved);
/* hidden (N, D). caches: NULL: none. */
real *decoder_forward(struct pass *pass, const struct encoder_decoder *net, const int *token, const struct batch *batch,
                      struct memory memory, const struct stack_caches *caches, struct encoder_decoder_saved *saved);
/* logits (N, V) */
real *generator_forward(struct pass *pass, const struct encoder_decoder *net, const real *hidden,
                        const struct batch *batch);
/* The three forwards, read upwards. */
void encoder_decoder_backward(struct pass *pass, const struct encoder_decoder *net, const real *dlogits,
                              const struct encoder_decoder_saved *saved);

#endif
