/* A model: its config, its vocabulary, its parameters and the assembly that walks them. Read-only once made. */
#ifndef CH_MODEL_MODEL_H
#define CH_MODEL_MODEL_H

#include "data/vocab.h"
#include "model/frame.h"

struct ch_model {
    struct config config;
    struct ch_vocab vocab;
    struct params params;
    struct assembly net;
    real *turned; /* weights of linear layers as params_turn leaves them, of a model that was opened; else NULL */
};

/* Declares everything and allocates no values. The config is taken over, on failure too. */
ch_status model_build(struct config *config, struct ch_model **model, ch_error *error);
/* Values, zero, and buffers; refused if they do not fit the machine. */
ch_status model_allocate(struct ch_model *model, ch_error *error);

/* Keeps the weights turned, for decoding, where that pays. */
ch_status model_turn(struct ch_model *model, ch_error *error);

/* A model without values and one with fresh ones; torch: PyTorch's draws, NULL: Philox. */
ch_status model_of_recipe(const ch_recipe *recipe, const struct vocab_plan *vocab, struct ch_model **model,
                          ch_error *error);
/* The same where nobody has the material open. */
ch_status model_of_recipe_alone(const ch_recipe *recipe, struct ch_model **model, ch_error *error);
ch_status model_fill(struct ch_model *model, const ch_recipe *recipe, struct torch_rng *torch, ch_error *error);

/* Whether it goes on with texts: one stack that writes them. With an encoder a text is answered as any source is. */
bool model_continues(const struct ch_model *model);
/* Fails with a sentence if the model has no decoder. */
ch_status model_decodes(const struct ch_model *model, ch_error *error);

/* Fails with a sentence if `bytes` is more than the machine has. what: "training this recipe needs". */
ch_status memory_check(const char *what, uint64_t bytes, ch_error *error);

/* A pass with its memory: an arena that fits the largest batch it was made for, and what backward needs. */
struct workspace {
    struct arena arena;
    struct assembly_saved saved;
};

/* Bytes of arena for a whole pass, forward and, if `backward`, backward: over batches of the most and longest
 * sequences, or over those that are given. */
size_t workspace_measure(const struct ch_model *model, const struct pass *pass, const struct batch_limits *limits,
                         bool backward, struct assembly_saved *saved);
size_t workspace_measure_batches(const struct ch_model *model, const struct pass *pass, const struct batch *sources,
                                 const struct batch *targets, bool backward, struct assembly_saved *saved);
ch_status workspace_new(struct workspace *workspace, const struct ch_model *model, const struct pass *pass,
                        const struct batch_limits *limits, bool backward, ch_error *error);
void workspace_free(struct workspace *workspace);

#endif
