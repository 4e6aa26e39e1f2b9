/*
 * Material: what a recipe's examples are made of, a task or a text. Whoever trains or measures asks it and need not
 * know which.
 */
#ifndef CH_RECIPE_MATERIAL_H
#define CH_RECIPE_MATERIAL_H

#include "data/corpus.h"
#include "recipe/recipe.h"

struct material {
    const ch_recipe *recipe;
    struct vocab_plan vocab;
    char *characters;     /* those of the vocabulary */
    struct corpus corpus; /* of a text; else empty */
    int held_out;         /* examples for validation */
    double share;         /* predictions for each character of the part held out: bits per character are made of it */
    uint64_t mark;        /* of a text's tokens: a resumed run must find them again; 0 for a task */
};

/* Reads the text, if there is one. The recipe must live as long. vocab: of a model that is to read it; NULL: the
 * text's own. */
ch_status material_open(struct material *material, const ch_recipe *recipe, const struct vocab_plan *vocab,
                        ch_error *error);
void material_free(struct material *material);

/* A loss in nats for each prediction of what is held out, as bits for each character; NaN for a task, and where hidden
 * tokens are asked for. */
double material_bits(const struct material *material, double loss);

/* Room for so many of its examples. */
ch_status material_examples(const struct material *material, struct ch_examples *examples, int capacity,
                            ch_error *error);
/* Examples 0..count - 1 of a step; torch: drawn by PyTorch's generator, NULL: by Philox. */
void material_draw(const struct material *material, struct ch_examples *examples, enum philox_use use,
                   struct torch_rng *torch, uint64_t step, int count);
/* All that are held out: the last part of a text, or as many of a task as the recipe says. */
void material_hold_out(const struct material *material, struct ch_examples *examples);

#endif
