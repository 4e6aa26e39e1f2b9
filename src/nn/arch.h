/* Families arch and head: which stacks a model is assembled of, and what is read off the rows of the last. */
#ifndef CH_NN_ARCH_H
#define CH_NN_ARCH_H

#include "base/family.h"

#include <stdbool.h>

struct arch {
    ch_variant variant;
    bool encoder, decoder; /* with both, the decoder attends to what the encoder made */
};

extern const struct arch arch_encoder_decoder, arch_decoder_only, arch_encoder_only;
const ch_variant *arch_row(size_t i);

/* What it is follows from the assembly and from what there is to learn, so no option chooses it. */
struct head {
    ch_variant variant;
    const char *parameter; /* the name of its linear layer */
    bool decodes;          /* the logits of a row are those of the token behind it */
    bool classes;          /* one row of logits for a sequence, from its first row, for classes and not for tokens */
};

extern const struct head head_next_token, head_masked_token, head_classification;
const ch_variant *head_row(size_t i);

#endif
