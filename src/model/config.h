/* Config: what a model is, enough to build it. Travels in the metadata of its file, as JSON. */
#ifndef CH_MODEL_CONFIG_H
#define CH_MODEL_CONFIG_H

#include "base/json.h"
#include "data/tokens.h"
#include "io/safetensors.h"
#include "nn/arch.h"
#include "nn/bias.h"
#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/ffn.h"
#include "nn/limits.h"
#include "nn/norm.h"
#include "nn/position.h"
#include "recipe/recipe.h"

#define CONFIG_TEXT_TASK "text" /* what a model was trained on that learned from a text */

enum { CONFIG_SCHEMA = 1, CONFIG_TASK = 32, CONFIG_ATTENTION_NAME = 48 };

struct config {
    const struct arch *arch;
    const struct head *head;
    int classes; /* that a classifier tells apart; 0 elsewhere */
    const struct norm_variant *norm;
    const struct position_variant *position;
    const struct ffn_variant *ffn;
    const struct norm_placement *placement;
    const struct embedding_scale *embedding_scale;
    const struct tie *tie;
    const struct bias_variant *bias;
    int d_model, d_ff, layers, max_positions;
    int symbols;                 /* of the vocabulary; its special tokens come on top */
    const struct tokens *tokens; /* what they are; NULL: numbers, and the lesson's special tokens */
    unsigned specials;           /* a set of enum vocab_special */
    char *characters;            /* of tokens_characters: all of them, as vocab_plan has them; else NULL */
    double dropout;
    struct rope_settings rope;
    bool qk_norm;    /* queries and keys of each head normalised */
    int window;      /* of self-attentions; 0: none */
    double soft_cap; /* of their scores; 0: none */
    /* (config_attentions) of each kind that the assembly has, those of all layers: shapes are per attention */
    struct attention_shape *shape;
    char task[CONFIG_TASK]; /* what it was trained on; empty: unknown */
};

enum config_attention { CONFIG_ENCODER_SELF, CONFIG_DECODER_SELF, CONFIG_DECODER_CROSS, CONFIG_ATTENTIONS };

/* Whether the assembly has attentions of a kind; how many it has in all; their names in layer 0 (with %d for it). */
bool config_has(const struct config *config, enum config_attention which);
int config_attentions(const struct config *config);
const char *config_attention_name(const struct config *config, enum config_attention which);

struct attention_shape *config_shape(const struct config *config, enum config_attention which, int layer);
/* The one that stands for all in tables: of layer 0, cross-attention if there is any. */
const struct attention_shape *config_shape_of_all(const struct config *config);

/* What its positions need to know; positions that turn pairs have one head width in all self-attentions. */
struct position_sizes config_position(const struct config *config);
/* The longest sequence that it takes. */
int config_longest(const struct config *config);

/* All attentions alike: H heads of Dh, K of keys and values; and the plain kind, K = H heads of D / H. */
ch_status config_shapes(struct config *config, int heads, int kv_heads, int d_head, ch_error *error);
ch_status config_uniform(struct config *config, int heads, ch_error *error);
/* vocab: of the recipe's material, which is copied. */
ch_status config_of_recipe(struct config *config, const ch_recipe *recipe, const struct vocab_plan *vocab,
                           ch_error *error);
ch_status config_copy(struct config *to, const struct config *from, ch_error *error);
void config_free(struct config *config);
/* The vocabulary; the plan lives as long as the config. And another one in its place, which is copied. */
struct vocab_plan config_vocab(const struct config *config);
struct ch_vocab config_place_vocab(const struct config *config); /* sizes and special tokens, without memory */
ch_status config_set_vocab(struct config *config, const struct vocab_plan *plan, ch_error *error);
/* Gives those parts that a file may leave out what leaving them out means. */
void config_fill_absent(struct config *config);
/* Whether both build the same model. */
bool config_same(const struct config *a, const struct config *b);

struct js_value *config_to_json(const struct config *config);
/* where: the file, for sentences. A name or key that this build does not know is refused. */
ch_status config_from_json(struct config *config, const char *text, const char *where, ch_error *error);
/* The keys of the vocabulary, of a config as JSON; what is read is checked against config->symbols. */
bool config_vocab_to_json(const struct config *config, struct js_value *object);
ch_status config_vocab_from_json(struct config *config, const struct js_value *object, const char *where,
                                 ch_error *error);
/* For a file that tells nothing but its tensors: sizes from the shapes, heads from the caller. */
ch_status config_from_shapes(struct config *config, const struct st_file *file, int heads, const char *where,
                             ch_error *error);

#endif
