/*
 * Recipe: every option of a run, in one table (recipe.c): name, type, limits, default, help. The command line, recipe
 * files, help texts and the run folder walk it. Values are kept typed here and as the text they were given in.
 */
#ifndef CH_RECIPE_RECIPE_H
#define CH_RECIPE_RECIPE_H

#include "base/family.h"
#include "base/json.h"
#include "data/examples.h"
#include "data/framing.h"
#include "data/tokens.h"
#include "kernels/kernels.h"
#include "nn/arch.h"
#include "nn/bias.h"
#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/ffn.h"
#include "nn/init.h"
#include "nn/norm.h"
#include "nn/position.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "recipe/bands.h"
#include "recipe/preset.h"

enum { RECIPE_OPTIONS = 53, RECIPE_TEXT = 64, RECIPE_PATH = 4096 };

/* Who draws random numbers: Philox as a function of where, or PyTorch's generator in PyTorch's order. */
struct rng_variant {
    ch_variant variant;
    bool torch;
};
const ch_variant *rng_row(size_t i);

struct ch_recipe {
    /* data */
    const struct task *task;
    int64_t symbols, min_len, max_len;
    char text_file[RECIPE_PATH]; /* in place of a task; "": none */
    const struct tokens *tokens;
    const struct framing *framing;
    double held_out;
    /* model */
    const struct preset *preset;
    const struct arch *arch;
    int64_t d_model, heads, kv_heads, d_head, d_ff, layers, max_positions, window;
    double dropout, soft_cap;
    struct rope_settings rope;
    bool qk_norm;
    const struct norm_variant *norm;
    const struct norm_placement *placement;
    const struct bias_variant *bias;
    const struct position_variant *position;
    const struct ffn_variant *ffn;
    const struct embedding_scale *embedding_scale;
    const struct tie *tie;
    const struct attention_core *attention;
    /* training */
    int64_t batch_size, steps, warmup, average, seed;
    double lr, min_lr, clip, weight_decay;
    struct optimizer_constants constants; /* asked for; 0: the optimiser's own */
    const struct optimizer *optimizer;
    const struct schedule *schedule;
    const struct init *init;
    const struct rng_variant *rng;
    /* run */
    int64_t threads, log_every, save_every, validation;
    bool log_gradients;

    char text[RECIPE_OPTIONS][RECIPE_TEXT]; /* of each row of the table */
    bool given[RECIPE_OPTIONS];             /* by somebody, so that no preset changes it */
    struct bands bands;
};

/* The recipe as a JSON object, in the table's order; NULL when memory runs out. */
struct js_value *recipe_to_json(const ch_recipe *recipe);
/* Sets what the object holds. where: the file, for the sentence. On an error the recipe is unchanged. */
ch_status recipe_from_json(ch_recipe *recipe, const struct js_value *object, const char *where, ch_error *error);

/* What a model of this recipe is read with: it decodes, tells classes or finds hidden tokens. */
const struct head *recipe_head(const ch_recipe *recipe);

/* Whether nobody asked for anything else. */
bool recipe_is_default(const ch_recipe *recipe, const char *option);

/* For a sentence about an option's value: " of preset " and the preset that it comes from, or twice nothing. */
struct recipe_source {
    const char *word, *preset;
};
struct recipe_source recipe_source(const ch_recipe *recipe, const char *option);

/* Key/value heads and the width of a head, where the recipe leaves them to others. */
int recipe_kv_heads(const ch_recipe *recipe);
int recipe_d_head(const ch_recipe *recipe);

/* ch_recipe_check's parts: all but whether the assembly can do what the task asks for; */
ch_status recipe_check_sizes(const ch_recipe *recipe, ch_error *error);
/* what concerns the positions and the widths that they need alone. */
ch_status recipe_check_positions(const ch_recipe *recipe, ch_error *error);

/* Whether its examples come from a text and not from a task. */
bool recipe_has_text(const ch_recipe *recipe);

/* Symbols of the shortest and of the longest example; tokens of one with so many, and of the longest. */
int64_t recipe_shortest(const ch_recipe *recipe);
int64_t recipe_longest(const ch_recipe *recipe);
struct example_limits recipe_example_size(const ch_recipe *recipe, int64_t length);
struct example_limits recipe_most_tokens(const ch_recipe *recipe);

/* The recipe's examples, for one use; torch: drawn by PyTorch's generator, NULL: by Philox. */
struct example_stream example_stream(const ch_recipe *recipe, enum philox_use use, struct torch_rng *torch);

/* The threads that were asked for, or the machine's. */
int recipe_threads(const ch_recipe *recipe);

#endif
