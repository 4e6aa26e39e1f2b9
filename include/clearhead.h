/**
 * @file
 * clearhead.h - transformers you can see into.
 *
 * The only header a user includes. Train a model, decode with it and look at its attention:
 *
 *     ch_error error;
 *     ch_recipe *recipe;   ch_recipe_new(&recipe, &error);
 *     ch_recipe_set(recipe, "task", "reverse", &error);
 *     ch_trainer *trainer; ch_trainer_new(recipe, "runs/reverse", &trainer, &error);
 *     ch_trainer_run(trainer, NULL, NULL, &error);
 *     ch_trainer_free(trainer);
 *
 * Conventions
 *   Errors     Whatever can fail because of the world (a file, an option, memory) returns a ch_status
 *              and fills the ch_error, if one is given, with one sentence that names the thing, what was
 *              expected and what was found. A bug in the caller (a NULL handle, an index out of range)
 *              stops the program with file and line. The library never prints and never exits otherwise.
 *   Ownership  What *_new, *_open, *_resume and *_look give belongs to the caller until the matching
 *              *_free, which accepts NULL. Every other pointer is borrowed and lives as long as the
 *              handle it came from, unless its function says otherwise.
 *   Threads    Handles share nothing: use different handles from different threads as you like. A
 *              ch_model is read-only once made; any number of decoders may share it. The library's own
 *              threads block all signals. A handler that may interrupt a thread of yours inside the library
 *              needs a stack of its own (sigaltstack and SA_ONSTACK): oneDNN uses what is below the stack pointer.
 *   Tokens     Integers from 0 to vocabulary size - 1.
 *   Structs    Those that a caller fills (options, views, watches, sizes, parameters) carry neither a size nor a
 *              version: start from zero, by designated initialisers ({.backward = true}) or = {0}, and zero is
 *              the default of whatever is not named (but for ch_sampling, which says so). The layout of every
 *              struct here belongs to the ABI that the shared library's soname stands for: it changes only together
 *              with the soname.
 *   Shapes     Row-major, written in the letters B batch, T target, S source, D width, H heads,
 *              Dh head width, F feed-forward width, V vocabulary, L layers.
 */
#ifndef CLEARHEAD_H
#define CLEARHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/** Marks what the shared library shows. */
#define CH_API __attribute__((visibility("default")))
#else
#define CH_API
#endif

/** The version of this header. */
#define CH_VERSION "0.1.0"

/** The version of the library that runs (CH_VERSION is that of the header it was compiled with). */
CH_API const char *ch_version(void);

/* ---- errors ---------------------------------------------------------------------------------- */

/** How a call ended. */
typedef enum ch_status {
    CH_OK = 0,        /**< done */
    CH_FAILED = 1,    /**< the world: a file, a disk, a value in a model */
    CH_USAGE = 2,     /**< an option, a name or an argument that makes no sense */
    CH_NO_MEMORY = 3, /**< refused before allocating, or the allocation failed */
    CH_STOPPED = 4    /**< stopped on request; nothing is lost */
} ch_status;

/** Why a call failed; filled only then. */
typedef struct ch_error {
    ch_status status;   /**< what the call returned */
    char message[1024]; /**< one sentence, no newline */
} ch_error;

/** Replaces the allocator; all three or none (NULL, NULL, NULL restores the C library's). Call it before
 * anything else. An allocator that returns NULL makes the calls above it return CH_NO_MEMORY. */
CH_API void ch_set_allocator(void *(*allocate)(size_t bytes), void *(*reallocate)(void *old, size_t bytes),
                             void (*release)(void *));

/* ---- vocabulary ------------------------------------------------------------------------------ */

typedef struct ch_vocab ch_vocab; /**< always borrowed, from a model or from examples */

/** How many tokens there are, the special ones included: V. */
CH_API int ch_vocab_size(const ch_vocab *vocab);
/** Whether tokens stand for the bytes or characters of a text; else they are the numbers of a task. */
CH_API bool ch_vocab_is_text(const ch_vocab *vocab);
/** A token as a person reads it ("7", "<eos>", "a", "\n"); what cannot be seen is written as an escape. */
CH_API const char *ch_vocab_text(const ch_vocab *vocab, int token);
/** What a token stands for in a text, *length bytes without a zero behind them; a special token stands for none. */
CH_API const char *ch_vocab_bytes(const ch_vocab *vocab, int token, size_t *length);
/** The token that fills a padded batch; -1 if the vocabulary has none. */
CH_API int ch_vocab_pad(const ch_vocab *vocab);
/** The token that a target, or a line, starts with; -1 if the vocabulary has none. */
CH_API int ch_vocab_sos(const ch_vocab *vocab);
/** The token that ends an answer, or a line; -1 if the vocabulary has none. */
CH_API int ch_vocab_eos(const ch_vocab *vocab);
/** The token that hides another from a model that is to guess it; -1 if the vocabulary has none. */
CH_API int ch_vocab_mask(const ch_vocab *vocab);
/** Cuts length bytes of text into at most capacity tokens: at blanks where tokens are numbers, else every byte or
 * character is one. *count gets how many there are; tokens NULL: they are only counted. Fails with a sentence on what
 * is not in the vocabulary, on a special token, on bytes that are no UTF-8 where tokens are characters, and on more
 * than capacity. */
CH_API ch_status ch_vocab_encode(const ch_vocab *vocab, const char *text, size_t length, int *tokens, size_t capacity,
                                 size_t *count, ch_error *error);
/** The same of a text that ends with a zero. */
CH_API ch_status ch_vocab_parse(const ch_vocab *vocab, const char *text, int *tokens, size_t capacity, size_t *count,
                                ch_error *error);

/** The same of a text in which tokens may be hidden: where the vocabulary has a mask, "<mask>" stands for it. */
CH_API ch_status ch_vocab_encode_masked(const ch_vocab *vocab, const char *text, size_t length, int *tokens,
                                        size_t capacity, size_t *count, ch_error *error);

/* ---- recipes: every option has one name, one place and one check ------------------------------ */

/** The options of a run, each with a value. */
typedef struct ch_recipe ch_recipe;

/** A row of the table of options. Borrowed for ever. */
typedef struct ch_option {
    const char *name;          /**< "d-model": the key in a recipe file, "--d-model" on the command line */
    const char *value;         /**< what the value is, for help: "N", "RATE", "{fused,explicit}"; NULL: off or on */
    const char *default_value; /**< as text */
    const char *help;          /**< one line */
    const char *group;         /**< "data", "model", "training", "run" */
} ch_option;

/** Row i of the table of options, or NULL past its end. */
CH_API const ch_option *ch_recipe_option(size_t i);

/** A recipe that holds every option's default: the lesson's model and training. */
CH_API ch_status ch_recipe_new(ch_recipe **recipe, ch_error *error);
/** Frees a recipe; NULL is fine. */
CH_API void ch_recipe_free(ch_recipe *recipe);
/** Sets one option from text. CH_USAGE names the option, what it takes and what it got; an unknown name is
 * answered with the nearest one. What was set wins over what the option "preset" says, set before it or behind. */
CH_API ch_status ch_recipe_set(ch_recipe *recipe, const char *name, const char *value, ch_error *error);
/** Sets the options that a JSON file holds. Unknown keys are errors; on an error the recipe is unchanged. */
CH_API ch_status ch_recipe_read(ch_recipe *recipe, const char *path, ch_error *error);
/** Checks what concerns several options at once (heads divide the width, lengths fit the positions). */
CH_API ch_status ch_recipe_check(const ch_recipe *recipe, ch_error *error);
/** The value as text; borrowed until the option is set again. Stops on an unknown name. */
CH_API const char *ch_recipe_get(const ch_recipe *recipe, const char *name);
/** The option that was given another value than the recipe's bands (ch_band) were measured with, so that they are gone;
 * NULL: there is none. */
CH_API const char *ch_recipe_unbanded(const ch_recipe *recipe);
/** All options, and the bands, as JSON text. The caller frees it with ch_string_free. NULL if memory runs out. */
CH_API char *ch_recipe_json(const ch_recipe *recipe);

/** Frees a text that the library gave away; NULL is fine. */
CH_API void ch_string_free(char *string);

/** The variants of a family ("task", "norm", "position", "ffn", "bias", "attention", "optimizer", "schedule", "init",
 * "rng", "plot"), for listings: row i, or NULL past the end or for an unknown family. */
typedef struct ch_variant {
    const char *name; /**< what an option is set to */
    const char *help; /**< one line */
} ch_variant;
CH_API const char *ch_family_name(size_t i); /**< NULL past the end */
/** Variant i of a family, or NULL past the end or for an unknown family. Borrowed for ever. */
CH_API const ch_variant *ch_family_variant(const char *family, size_t i);

/* ---- examples --------------------------------------------------------------------------------- */

/** Tokens in a row; whoever gives one says how long it lives. */
typedef struct ch_sequence {
    const int *tokens; /**< (length) */
    size_t length;     /**< how many */
} ch_sequence;

/** Examples of a task: sources and what is to be answered. */
typedef struct ch_examples ch_examples;

/** The first count examples that training with this recipe would draw (step 1). */
CH_API ch_status ch_examples_new(const ch_recipe *recipe, size_t count, ch_examples **examples, ch_error *error);
/** Frees the examples; NULL is fine. */
CH_API void ch_examples_free(ch_examples *examples);
/** How many there are. */
CH_API size_t ch_examples_count(const ch_examples *examples);
/** Their vocabulary; lives as long as they do. */
CH_API const ch_vocab *ch_examples_vocab(const ch_examples *examples);
/** What the encoder reads in example i, from 0; lives as long as the examples. */
CH_API ch_sequence ch_examples_source(const ch_examples *examples, size_t i);
/** SOS, the answer, EOS. The decoder's input is all but the last of these, its labels are all but the first. Of a task
 * that asks for a class: its number alone, from 0. */
CH_API ch_sequence ch_examples_target(const ch_examples *examples, size_t i);
/** The class of example i in words ("balanced"); NULL if the task asks for a sequence. Lives for ever. */
CH_API const char *ch_examples_class(const ch_examples *examples, size_t i);

/* ---- models ----------------------------------------------------------------------------------- */

/** A model: its config and its weights. Read-only once made. */
typedef struct ch_model ch_model;

/** What a model is; texts live as long as the model. */
typedef struct ch_model_info {
    const char *architecture; /**< "encoder-decoder" */
    int d_model;              /**< D */
    int heads;                /**< H, of cross-attention in the first layer */
    int d_ff;                 /**< F */
    int layers;               /**< L, of the encoder and of the decoder */
    int vocab_size;           /**< V, special tokens included */
    int classes;              /**< that it tells apart; 0: it tells tokens */
    int max_positions;        /**< positions that it was made for */
    int longest;              /**< the longest sequence that it takes: where positions can extend, a longer one */
    double dropout;           /**< the share that training drops, 0 to below 1 */
    int64_t parameters;       /**< trained ones */
    const char *task;         /**< what it was trained on, "" if unknown */
} ch_model_info;

/** A named tensor; name and value live as long as what they came from. */
typedef struct ch_tensor {
    const char *name;   /**< as in the lesson's state_dict: "enc.0.attn.W_q.weight" */
    int rank;           /**< dimensions, 0 to 4 */
    int64_t shape[4];   /**< the first `rank` count; row-major */
    bool trained;       /**< false for a buffer (the sinusoidal table) */
    const float *value; /**< NULL in a build in double */
} ch_tensor;

/** A model with fresh weights, drawn by the recipe's rng from its seed. */
CH_API ch_status ch_model_new(const ch_recipe *recipe, ch_model **model, ch_error *error);
/** Opens a run folder, a checkpoint folder or a .safetensors file, one of the lesson's PyTorch code included.
 * heads: for a file that does not say how many heads it has (0: take it from the file). */
CH_API ch_status ch_model_open(const char *path, int heads, ch_model **model, ch_error *error);
/** Writes a .safetensors file: temporary name, fsync, rename. An old file survives a failure. */
CH_API ch_status ch_model_save(const ch_model *model, const char *path, ch_error *error);
/** A recipe that says what a model is: its parts, its sizes and its task, if that is one of this build's; the rest are
 * defaults. path: where it was opened, so that a run's lengths and initialisation are read from its recipe.json, if
 * there is one; NULL: nowhere. Free it with ch_recipe_free. */
CH_API ch_status ch_model_recipe(const ch_model *model, const char *path, ch_recipe **recipe, ch_error *error);
/** Frees a model; NULL is fine. Decoders must have gone before. */
CH_API void ch_model_free(ch_model *model);
/** What the model is. */
CH_API ch_model_info ch_model_get_info(const ch_model *model);
/** Its vocabulary; lives as long as the model. */
CH_API const ch_vocab *ch_model_vocab(const ch_model *model);
/** Row i of the table of tensors; false past the end. */
CH_API bool ch_model_tensor(const ch_model *model, size_t i, ch_tensor *tensor);

/* ---- summary: parameters and memory, known before anything is allocated ------------------------ */

/** A row of the table of parameters; texts live as long as the summary. */
typedef struct ch_summary_part {
    const char *part;       /**< "Attention block (each)" */
    const char *arithmetic; /**< "4 x (64 x 64 + 64)" */
    int64_t parameters;     /**< of this part */
    bool counted;           /**< false for the parts of a part: they stand in the table but not in the total */
} ch_summary_part;

/** A row of the table of memory; texts live for ever. */
typedef struct ch_summary_memory {
    const char *mode; /**< "training" or "decoding" */
    const char *part; /**< "gradients" */
    int64_t bytes;    /**< measured, not allocated */
} ch_summary_memory;

/** Parameters and memory of a model, part by part. */
typedef struct ch_summary ch_summary;

/** Of the model and the training that a recipe says. CH_USAGE if the recipe contradicts itself. */
CH_API ch_status ch_summary_new(const ch_recipe *recipe, ch_summary **summary, ch_error *error);
/** A model's own sizes; batch and sequence lengths come from the recipe. */
CH_API ch_status ch_summary_of_model(const ch_model *model, const ch_recipe *recipe, ch_summary **summary,
                                     ch_error *error);
/** Frees a summary; NULL is fine. */
CH_API void ch_summary_free(ch_summary *summary);
/** The table of parameters into *parts, which lives as long as the summary; returns how many rows. */
CH_API size_t ch_summary_parts(const ch_summary *summary, const ch_summary_part **parts);
/** The table of memory, likewise. */
CH_API size_t ch_summary_memories(const ch_summary *summary, const ch_summary_memory **memories);
/** Trained parameters in all. */
CH_API int64_t ch_summary_total(const ch_summary *summary);
/** Share of the feed-forward networks in the parameters of all layers, 0..1. */
CH_API double ch_summary_ffn_share(const ch_summary *summary);

/* ---- training --------------------------------------------------------------------------------- */

/** A training: its model, its optimiser and where it is in the stream of examples. */
typedef struct ch_trainer ch_trainer;

/** Where the validation loss of a healthy run lies at a step, ends included: from a recipe's file. */
typedef struct ch_band {
    int64_t step; /**< from 1 */
    double low;   /**< below it: better than any healthy run */
    double high;  /**< above it: learns too slowly, or not at all */
} ch_band;

/** What one step of training was. */
typedef struct ch_step {
    int64_t step;           /**< its number, from 1 */
    int64_t steps;          /**< how many there will be */
    double loss;            /**< mean cross-entropy over real target tokens, nats */
    double grad_norm;       /**< before clipping */
    double lr;              /**< of this update */
    double next_lr;         /**< of the next update: what the lesson's log prints */
    double bits_per_character; /**< the same on a text's next characters; else not a number */
    double validation_loss; /**< on held-out examples, where it was measured after this step; else not a number */
    double seconds;         /**< wall time of this step */
    bool log;               /**< step 1, every log-every steps, and the last */
    const ch_band *band;    /**< the recipe's, where validation_loss was measured; else NULL. Lives with the trainer */
} ch_step;

/** Called after every step; false asks for a clean stop with a checkpoint. */
typedef bool (*ch_step_function)(const ch_step *step, void *context);

/** Sets up a run. run_folder is made if it is missing and gets recipe.json, log.jsonl, checkpoints/ and, at the
 * end, model.safetensors; NULL keeps everything in memory. A folder that already holds a run is refused. */
CH_API ch_status ch_trainer_new(const ch_recipe *recipe, const char *run_folder, ch_trainer **trainer, ch_error *error);
/** Continues a run from its latest checkpoint, as if it had never stopped, bit for bit. A damaged log is refused, and
 * one that is lost begins anew. A run that died before its first checkpoint starts over; one that has lost its
 * checkpoints is refused. changes may set threads, log-every, save-every and, unless the schedule falls towards the
 * last, steps; it may be NULL. changed names, count of them: what to take from changes. */
CH_API ch_status ch_trainer_resume(const char *run_folder, const ch_recipe *changes, const char *const *changed,
                                   size_t count, ch_trainer **trainer, ch_error *error);
/** Takes the remaining steps. In a run folder it validates on held-out examples and writes a checkpoint every
 * save-every steps and after the last, and saves the checkpoint with the lowest validation loss as the result; of the
 * checkpoints the latest and the best stay. Validated and saved is what ch_trainer_model gives. each may be NULL.
 * CH_STOPPED if each returned false: a checkpoint is written then, and ch_trainer_resume goes on from it. */
CH_API ch_status ch_trainer_run(ch_trainer *trainer, ch_step_function each, void *context, ch_error *error);
/** One step, nothing written. A loss or gradient that is not finite leaves the parameters unchanged and fails
 * with a sentence that names the step and the first tensor that holds it. */
CH_API ch_status ch_trainer_step(ch_trainer *trainer, ch_step *step, ch_error *error);
/** The recipe that it follows; lives as long as the trainer. */
CH_API const ch_recipe *ch_trainer_recipe(const ch_trainer *trainer);
/** The model that training has made so far: with the recipe's average the mean of the weights over the last part of the
 * steps, else the weights as they are now. It lives as long as the trainer, and changes with the steps. */
CH_API const ch_model *ch_trainer_model(const ch_trainer *trainer);
/** Where the time of steps went: one operation. */
typedef struct ch_profile_row {
    const char *operation; /**< "matrix products"; lives for ever */
    double seconds;        /**< wall time in all measured steps; where threads share the work, their mean */
} ch_profile_row;
/** Measures the time of every operation of further steps. It changes no result. */
CH_API void ch_trainer_profile_start(ch_trainer *trainer);
/** Row i of what was measured; false past the last, and if nothing is measured. The rows sum to the steps' time;
 * "waiting" is threads without work, "other" what no other row names. */
CH_API bool ch_trainer_profile(const ch_trainer *trainer, size_t i, ch_profile_row *row);
/** Frees a trainer, and lets go of its run folder; NULL is fine. */
CH_API void ch_trainer_free(ch_trainer *trainer);

/* ---- decoding --------------------------------------------------------------------------------- */

/** Decodes with a model; keeps the answers of its last run. */
typedef struct ch_decoder ch_decoder;

/** How to decode; all zero: the usual way. */
typedef struct ch_decode_options {
    int max_new;           /**< most tokens of an answer, EOS included; 0: as many as the positions allow, at most the
                              source's length + 50 */
    int batch_size;        /**< sequences decoded together; 0: 64 */
    int threads;           /**< 0: as many as there are processors */
    bool no_cache;         /**< recompute every position at every step, to compare */
    bool keep_logits;      /**< for ch_decoder_logits */
    const char *attention; /**< the core's name; NULL: "fused" */
} ch_decode_options;

/** What a source was answered with. */
typedef struct ch_answer {
    const int *tokens; /**< without SOS and without EOS */
    size_t length;     /**< how many */
    bool ended;        /**< true: EOS was generated; false: max_new was reached */
} ch_answer;

/** options may be NULL. The model must outlive the decoder. */
CH_API ch_status ch_decoder_new(const ch_model *model, const ch_decode_options *options, ch_decoder **decoder,
                                ch_error *error);
/** Greedy decoding (argmax at every step) of count sources; the encoder runs once for each. answers gets count
 * rows, whose tokens live until the next run. A source that does not fit or holds a bad token fails the call
 * before anything is decoded and is named by its number, from 1. */
CH_API ch_status ch_decoder_run(ch_decoder *decoder, const ch_sequence *sources, size_t count, ch_answer *answers,
                                ch_error *error);
/** With keep_logits: the logits (*steps, V) that chose the tokens of answer i, EOS's row included. NULL in a build in
 * double. */
CH_API const float *ch_decoder_logits(const ch_decoder *decoder, size_t i, size_t *steps);
/** Frees a decoder and its answers; NULL is fine. */
CH_API void ch_decoder_free(ch_decoder *decoder);

/** How a token is chosen from its logits, in this order: repetition, temperature, top-k, top-p, min-p, one draw. Start
 * from ch_sampling_default, not from zero. */
typedef struct ch_sampling {
    double temperature;        /**< logits are divided by it; 0: the likeliest token, always */
    double top_p;              /**< above 0, up to 1: the fewest tokens that have this share; 1: all */
    double min_p;              /**< 0 to 1: tokens at least this share as likely as the likeliest; 0: all */
    double repetition_penalty; /**< above 0: what came before is made less likely by it; 1: nothing */
    int top_k;                 /**< the k likeliest tokens, and what equals the last of them; 0: all */
    int repetition_window;     /**< how many tokens back a repetition counts; 0: all */
    uint64_t seed;             /**< of the draws: the same seed gives the same text */
} ch_sampling;

/** Greedy, and nothing left out: temperature 0, top_p 1, repetition_penalty 1, the rest 0. */
CH_API ch_sampling ch_sampling_default(void);

/** Goes on with a text, token by token, with a decoder-only model. */
typedef struct ch_generator ch_generator;

/** How to go on; all zero: greedily, until the model ends. Texts are copied. */
typedef struct ch_generate_options {
    const ch_sampling *sampling; /**< NULL: ch_sampling_default */
    int tokens;                  /**< most tokens, up to a thousand million; 0: so many */
    int context;                 /**< tokens that the model sees at most, up to its `longest`; 0: its max_positions, and
                                    a longer prompt where positions can extend. A longer text slides: when the context is
                                    full, its last half is read anew as if it began there. Models with a window whose
                                    positions can extend need none: they go on for ever in constant memory. */
    const char *const *stops;    /**< (stop_count) texts before which writing ends */
    int stop_count;              /**< how many */
    bool no_cache;               /**< recompute every position at every step, to compare */
    const char *attention;       /**< the core's name; NULL: "fused" */
} ch_generate_options;

/** Whether a text goes on, or what ended it. */
typedef enum ch_ending {
    CH_GOES_ON,        /**< nothing did */
    CH_ENDED_BY_MODEL, /**< it generated EOS */
    CH_ENDED_BY_STOP,  /**< a stop string is complete */
    CH_ENDED_BY_TOKENS /**< there are as many tokens as were asked for */
} ch_ending;

/** What a step of generation gave. */
typedef struct ch_generated {
    int token;         /**< the next token; -1: there is none any more */
    const char *bytes; /**< what may be written now; lives until the next call */
    size_t length;     /**< of those; what could be the start of a stop string or is part of a character is held back */
    ch_ending ended;   /**< whether this was all */
} ch_generated;

/** A generator for a decoder-only model, which must outlive it. options may be NULL. CH_USAGE names an option that is
 * out of range. The same model, prompt and options, seed included, give the same text in the same build on the same
 * kind of machine, whatever else runs there. With and without cache logits agree to rounding, so that texts do unless
 * two tokens are that close. */
CH_API ch_status ch_generator_new(const ch_model *model, const ch_generate_options *options, ch_generator **generator,
                                  ch_error *error);
/** Begins a text with length bytes, cut as ch_vocab_encode does. A text follows SOS, if the vocabulary has it; the
 * source of a task (tokens that are numbers) is followed by SOS, as in training. What came before is forgotten.
 * CH_FAILED for what is not in the vocabulary, a prompt longer than the context, and an empty one without SOS. */
CH_API ch_status ch_generator_prompt(ch_generator *generator, const char *text, size_t length, ch_error *error);
/** Begins with tokens as they stand; special tokens are welcome, nothing is added. */
CH_API ch_status ch_generator_prompt_tokens(ch_generator *generator, ch_sequence tokens, ch_error *error);
/** The next token of what was begun. A token is written when it is complete: *generated says what of the text may be
 * written now. The call that says what ended the text gives what was held back; EOS is not among the tokens. Tokens
 * that are numbers are separated by blanks. CH_FAILED if no logit is a number; after a failure a new prompt is
 * needed. */
CH_API ch_status ch_generator_next(ch_generator *generator, ch_generated *generated, ch_error *error);
/** Frees a generator; NULL is fine. */
CH_API void ch_generator_free(ch_generator *generator);

/* ---- prediction: what an encoder alone says ---------------------------------------------------- */

/** What a model without a decoder says of a source. */
typedef struct ch_prediction ch_prediction;

/** A class, or a token for a hidden one. */
typedef struct ch_guess {
    int number;         /**< of the class, or the token, from 0 */
    const char *text;   /**< the class in words ("balanced"), NULL if nobody knows them; or ch_vocab_text. It lives with
                           the model */
    double probability; /**< 0 to 1. Those of all classes sum to 1; of tokens the special ones, which are no guess, have
                           a share, too */
} ch_guess;

/** The class of a source in words, NULL if nobody knows them; class from 0 to below the model's `classes`. Lives for
 * ever. */
CH_API const char *ch_model_class(const ch_model *model, int class_number);
/** Reads the source: a classifier tells its class, a model that finds hidden tokens the token for each ch_vocab_mask in
 * it. CH_FAILED for a model with a decoder, and for a source that is empty, too long, or without anything to find. */
CH_API ch_status ch_predict(const ch_model *model, ch_sequence source, ch_prediction **prediction, ch_error *error);
/** Frees it; NULL is fine. */
CH_API void ch_prediction_free(ch_prediction *prediction);
/** How many places there are: 1 of a classifier, else the hidden tokens. */
CH_API size_t ch_prediction_places(const ch_prediction *prediction);
/** Where place i, from 0, is in the source; 0 of a classifier. */
CH_API size_t ch_prediction_place(const ch_prediction *prediction, size_t i);
/** How many guesses there are of each place: all classes, or all tokens but the special ones. */
CH_API size_t ch_prediction_guesses(const ch_prediction *prediction);
/** Guess `rank` of place i, from 0, the likeliest; of two that are equally likely the one with the lower number. */
CH_API ch_guess ch_prediction_guess(const ch_prediction *prediction, size_t i, size_t rank);

/* ---- evaluation ------------------------------------------------------------------------------- */

/** How well a model does. */
typedef struct ch_evaluation {
    double loss;           /**< mean cross-entropy over real target tokens, dropout off, teacher forcing */
    double token_accuracy; /**< of the same tokens, teacher forcing, 0..1 */
    int64_t exact;         /**< whole answers that greedy decoding got right; of a text or classes, predictions */
    int64_t total;         /**< of how many */
    double bits_per_character; /**< of a text's next tokens; else not a number */
} ch_evaluation;

/** Freshly drawn examples of the recipe's task, lengths and seed, from another stream than training's (a short source
 * may still have been drawn there, too: there are only 10,000 of length 4). */
CH_API ch_status ch_evaluate(const ch_model *model, const ch_recipe *recipe, size_t examples, ch_evaluation *result,
                             ch_error *error);

/* ---- looking ---------------------------------------------------------------------------------- */

/** Attention of one source: cross-attention of a model with an encoder and a decoder, else self-attention of the only
 * stack. */
typedef struct ch_attention ch_attention;

/** What a map of attention looks like, in numbers and a word. Where a source is answered there may be an alignment: of
 * the rows that generate the answer with the columns of the source. Of texts, and without a decoder, there is none. */
typedef struct ch_alignment {
    bool aligned;           /**< whether there is an answer to align with its source */
    double anti_diagonal;   /**< mass on the anti-diagonal: mean over the rows that generate a source token; without an
                               alignment not a number */
    double diagonal;        /**< mass on the diagonal, same rows; likewise */
    double entropy;         /**< mean entropy of those rows, nats; without an alignment of all rows */
    double uniform_entropy; /**< what rows that attend alike to all that they may see have: of cross-attention ln S */
    const char *verdict; /**< "reversing", "copying", "not used" or "mixed"; without an alignment "focused" (up to half
                            of the uniform entropy), "diffuse" (from 0.9 of it on) or "mixed" */
} ch_alignment;

/** Keeps the attention of every layer and head of the last stack. Looking does not change what is computed. A model
 * with a decoder first answers the source greedily, max_new as in ch_decode_options; one of texts goes on with the
 * source by up to max_new tokens (0: by none). Without a decoder the source is only read, and may hold ch_vocab_mask.
 */
CH_API ch_status ch_look(const ch_model *model, ch_sequence source, int max_new, ch_attention **attention,
                         ch_error *error);
/** Frees it; NULL is fine. */
CH_API void ch_attention_free(ch_attention *attention);
/** Whether it is cross-attention: rows are generated tokens, columns the source. Else it is self-attention: rows and
 * columns are what the stack read, special tokens included; where the model hides a key, the weight is 0. */
CH_API bool ch_attention_is_cross(const ch_attention *attention);
/** L, of that stack. */
CH_API int ch_attention_layers(const ch_attention *attention);
/** Heads of a layer, from 0. */
CH_API int ch_attention_heads(const ch_attention *attention, int layer);
/** The source as it was given. Lives as long as the attention. */
CH_API ch_sequence ch_attention_source(const ch_attention *attention);
/** The generated tokens, EOS included; none without a decoder. */
CH_API ch_sequence ch_attention_generated(const ch_attention *attention);
/** The tokens that the rows of a map, its queries, go by: of cross-attention those that they generated, of
 * self-attention those that they read. */
CH_API ch_sequence ch_attention_rows(const ch_attention *attention);
/** The tokens that the columns of a map, its keys, go by. */
CH_API ch_sequence ch_attention_columns(const ch_attention *attention);
/** The weights (T, S) of one head after softmax, T the rows and S the columns. */
CH_API const float *ch_attention_map(const ch_attention *attention, int layer, int head);
/** The alignment of one head; layer and head from 0. */
CH_API ch_alignment ch_attention_alignment(const ch_attention *attention, int layer, int head);

/** The colours that a terminal has. */
typedef enum ch_colours { CH_COLOURS_NONE, CH_COLOURS_16, CH_COLOURS_256, CH_COLOURS_TRUE } ch_colours;

/** The weights of one layer (-1: the last) and one head (-1: all, one table for each) as numbers, in the lesson's
 * layout. The caller frees the text with ch_string_free. */
CH_API ch_status ch_text_numbers(const ch_attention *attention, int layer, int head, char **text, ch_error *error);

/* ---- figures ---------------------------------------------------------------------------------- */

/** Something to look at: as a picture, as text for a terminal, as numbers. It keeps a copy of what it
 * shows, but for an attention and the names of folders, which must outlive it. */
typedef struct ch_figure ch_figure;

/** Attention of one layer (-1: the last) and one head (-1: all, as a grid): heat maps of the weights. */
CH_API ch_status ch_figure_attention(const ch_attention *attention, int layer, int head, ch_figure **figure,
                                     ch_error *error);
/** The recipe's table of positions (max-positions, d-model): as a heat map, and a few of its dimensions as lines
 * over the first 128 positions. */
CH_API ch_status ch_figure_positions(const ch_recipe *recipe, ch_figure **figure, ch_error *error);

/** What to show of a training. */
typedef struct ch_training_view {
    bool layers; /**< gradient and update norms of each layer, of runs that were trained with log-gradients */
} ch_training_view;

/** The logs of one or more run folders, several in the same charts: loss, gradient norm, learning rate and validation
 * loss at every logged step. view may be NULL. A log that is missing, empty or damaged is named, with its line. */
CH_API ch_status ch_figure_training(const char *const *folders, size_t count, const ch_training_view *view,
                                    ch_figure **figure, ch_error *error);
/** How the values of each trained tensor are spread. */
CH_API ch_status ch_figure_weights(const ch_model *model, ch_figure **figure, ch_error *error);
/** Frees a figure; NULL is fine. */
CH_API void ch_figure_free(ch_figure *figure);

/** Draws to a file; the ending (.png, .pdf, .svg) chooses the format. width in pixels, 100 to 20000, 0: the figure's
 * own; letters and lines grow with it. Temporary name, then rename: an old file survives a failure. */
CH_API ch_status ch_figure_save(const ch_figure *figure, const char *path, int width, ch_error *error);
/** As text for a terminal so many columns wide (0: 80). The caller frees it with ch_string_free. */
CH_API ch_status ch_figure_text(const ch_figure *figure, ch_colours colours, int columns, char **text, ch_error *error);
/** What the figure shows as numbers: JSON on one line. The caller frees it with ch_string_free. */
CH_API ch_status ch_figure_json(const ch_figure *figure, char **text, ch_error *error);

/* ---- named tensors: dumps, and where two of them part ways ------------------------------------- */

/** Named tensors in an order. */
typedef struct ch_tensors ch_tensors;

/** What to dump; all zero: the usual pass, forward. */
typedef struct ch_dump_options {
    bool explicit_core; /**< attention that materialises scores and weights, rather than the fused core */
    bool backward;      /**< gradients too: "grad.<site>" of every intermediate and "grad.<parameter>" */
} ch_dump_options;

/** Every named intermediate of one pass with dropout off, in the order of computation: rows as (N, C), scores and
 * weights as (H, T, S). The decoder reads SOS and the target and predicts the target and EOS. A model of texts reads
 * the source and, going on with it, the target, and predicts the target (an empty one: all of the source, as in
 * training). Without a decoder the target is the class, one number, or the token at each place of the source: those
 * that ch_vocab_mask hides there are predicted, or all if it hides none. The pass's mean loss is the tensor "loss". A
 * gradient has the shape of what it belongs to; that of scores is 0 where a key is hidden, that of weights (which only
 * their product with the values makes) is not. options may be NULL. */
CH_API ch_status ch_dump(const ch_model *model, ch_sequence source, ch_sequence target, const ch_dump_options *options,
                         ch_tensors **tensors, ch_error *error);
/** Any .safetensors file whose tensors are floating-point numbers. They come in the order of computation if the file
 * states one: the metadata key "order", the tensors' names in that order, a line each ("\n" between two), as
 * ch_tensors_save and tools/dump_lesson.py write it; tensors that it does not name come last. A file that states none:
 * in the order of its header. */
CH_API ch_status ch_tensors_open(const char *path, ch_tensors **tensors, ch_error *error);
/** Writes a .safetensors file: temporary name, fsync, rename. An old dump is replaced and survives a failure; any other
 * file that is there is refused. */
CH_API ch_status ch_tensors_save(const ch_tensors *tensors, const char *path, ch_error *error);
/** Whether their order is that of computation: they come from ch_dump, or from a file that states it. */
CH_API bool ch_tensors_ordered(const ch_tensors *tensors);
/** Frees them; NULL is fine. */
CH_API void ch_tensors_free(ch_tensors *tensors);
/** How many there are. */
CH_API size_t ch_tensors_count(const ch_tensors *tensors);
/** Tensor i; false past the end. */
CH_API bool ch_tensors_get(const ch_tensors *tensors, size_t i, ch_tensor *tensor);
/** The tensor of that name; CH_USAGE names the nearest if there is none. */
CH_API ch_status ch_tensors_find(const ch_tensors *tensors, const char *name, ch_tensor *tensor, ch_error *error);
/** Copies the elements of tensor i, in a build in double as well. */
CH_API void ch_tensors_values(const ch_tensors *tensors, size_t i, double *values);

/** How two tensors of one name compare: the same, different, of different shapes, on one side only. */
typedef enum ch_match { CH_MATCH_SAME, CH_MATCH_DIFFERENT, CH_MATCH_SHAPE, CH_MATCH_ONLY_A, CH_MATCH_ONLY_B } ch_match;

/** How the tensors of one name compare. */
typedef struct ch_comparison {
    const char *name; /**< borrowed from the tensors that were compared, those of a or those of b */
    ch_match match;   /**< whether they agree */
    double worst;     /**< largest |a - b| / max(1, |b|) */
    int64_t element;  /**< where it is, counted row by row; -1: no elements */
    double a;         /**< its value in a */
    double b;         /**< its value in b */
} ch_comparison;

/** One row for each name: those of a in a's order, then what only b has; or, if only b's order is that of computation
 * (ch_tensors_ordered), those of b in b's order, then what only a has. Two numbers are the same if
 * |a - b| <= tolerance * max(1, |b|), or if both are NaN or the same infinity. *rows belongs to the caller, who frees
 * it with ch_comparison_free. */
CH_API ch_status ch_compare(const ch_tensors *a, const ch_tensors *b, double tolerance, ch_comparison **rows,
                            size_t *count, ch_error *error);
/** Frees the rows of a comparison; NULL is fine. */
CH_API void ch_comparison_free(ch_comparison *rows);

/* ---- stage checks: something to verify at each stage rather than at the end -------------------- */

/** Row i of the table of stages (data, shapes, initial-loss, masking, overfit, generalisation), or NULL past its end.
 */
CH_API const ch_variant *ch_check_stage(size_t i);

/** Whether a model that is checked at this stage must be one of the recipe's task, since the verdict depends on it; the
 * other stages take any tokens. false for an unknown stage. */
CH_API bool ch_check_needs_task(const char *stage);

/** Somebody who watches a check; each function may be NULL. */
typedef struct ch_check_watch {
    /** A line for a person, without a newline: what was seen, and why it is so. detail: one line of a long list. */
    void (*line)(const char *line, bool detail, void *context);
    /** After every step of a training that the stage needs; false stops it, and the check with CH_STOPPED. */
    ch_step_function step;
    void *context; /**< given to both */
} ch_check_watch;

/** What a check found. */
typedef struct ch_check_result {
    bool passed;      /**< whether the stage is as it should be */
    char figure[320]; /**< one line: what was measured, what was expected, and in words what is wrong if it failed */
} ch_check_result;

/** Checks one stage, of fresh weights by the recipe or, with a model, of that model; the recipe then gives examples
 * (task, lengths, seed) and threads. Overfitting is tried on fresh weights of the model's sizes; without a model,
 * generalisation first trains one by the recipe. A failed check is a result; an error is what kept it from being made:
 * CH_USAGE for an unknown stage, with the known ones and the nearest, and for a recipe that does not fit the model. */
CH_API ch_status ch_check_run(const ch_recipe *recipe, const ch_model *model, const char *stage,
                              const ch_check_watch *watch, ch_check_result *result, ch_error *error);

/** How the library was built; texts live for ever. */
typedef struct ch_build {
    const char *version; /**< as ch_version says */
    const char *gemm;    /**< who multiplies matrices: "oneDNN", "OpenBLAS", "reference" */
    const char *real;    /**< what everything is computed in: "float" or "double" */
    int threads;         /**< how many the option's 0 stands for on this machine */
} ch_build;

/** How the library that runs was built: for a report that somebody else shall understand. */
CH_API ch_build ch_build_info(void);

/* ---- attention, a function to call ------------------------------------------------------------- */

/**
 *   out = softmax(q kt / sqrt(Dh)) v                                              Vaswani et al. 2017, equation 1
 *
 * on plain arrays, for whoever brings a model of their own. mask (B, T, S) says what a query may see: 0 is hidden,
 * anything else is not, the same for every head; NULL hides nothing. A query that sees nothing gets zeros, where a
 * large negative number would give it a uniform row. A hidden key weighs 0, whatever its numbers; its value is
 * multiplied by that 0, so that a NaN or an infinity there makes the output of its queries NaN, as in PyTorch: hidden
 * rows of v (and of memory) must hold finite numbers. Nothing is kept between calls: backward runs forward again.
 * CH_USAGE if a size is below 1, CH_NO_MEMORY if the call's memory cannot be had.
 */
typedef struct ch_attention_sizes {
    int batch;   /**< B */
    int heads;   /**< H */
    int queries; /**< T */
    int keys;    /**< S */
    int d_head;  /**< Dh */
} ch_attention_sizes;

/** q (B, H, T, Dh), k and v (B, H, S, Dh); out (B, H, T, Dh) and weights (B, H, T, S), each NULL if not wanted. */
CH_API ch_status ch_scaled_dot_product_attention(const ch_attention_sizes *sizes, const float *q, const float *k,
                                                 const float *v, const unsigned char *mask, float *out, float *weights,
                                                 ch_error *error);
/** Gradients of q, k and v from dout, that of out; overwritten, each NULL if not wanted. */
CH_API ch_status ch_scaled_dot_product_attention_backward(const ch_attention_sizes *sizes, const float *q,
                                                          const float *k, const float *v, const unsigned char *mask,
                                                          const float *dout, float *dq, float *dk, float *dv,
                                                          ch_error *error);

/** Weights (D, D) with D = H * Dh, laid out as (out, in); biases (D), each NULL for none, as in the article. */
typedef struct ch_attention_parameters {
    const float *w_q; /**< (D, D) of the queries */
    const float *w_k; /**< (D, D) of the keys */
    const float *w_v; /**< (D, D) of the values */
    const float *w_o; /**< (D, D) of the output */
    const float *b_q; /**< (D) of the queries, or NULL */
    const float *b_k; /**< (D) of the keys, or NULL */
    const float *b_v; /**< (D) of the values, or NULL */
    const float *b_o; /**< (D) of the output, or NULL */
} ch_attention_parameters;

/** Where the gradients of those go; each NULL if not wanted. Overwritten. */
typedef struct ch_attention_gradients {
    float *w_q; /**< (D, D) of the queries */
    float *w_k; /**< (D, D) of the keys */
    float *w_v; /**< (D, D) of the values */
    float *w_o; /**< (D, D) of the output */
    float *b_q; /**< (D) of the queries, or NULL */
    float *b_k; /**< (D) of the keys, or NULL */
    float *b_v; /**< (D) of the values, or NULL */
    float *b_o; /**< (D) of the output, or NULL */
} ch_attention_gradients;

/** out = concat(heads) W_ot + b_o with queries from x (B, T, D) and keys and values from memory (B, S, D); memory NULL:
 * self-attention, S = T. out (B, T, D) and weights (B, H, T, S), each NULL if not wanted. */
CH_API ch_status ch_multi_head_attention(const ch_attention_sizes *sizes, const ch_attention_parameters *parameters,
                                         const float *x, const float *memory, const unsigned char *mask, float *out,
                                         float *weights, ch_error *error);
/** Gradients from dout (B, T, D); dx (B, T, D), dmemory (B, S, D) and gradients, each NULL if not wanted. */
CH_API ch_status ch_multi_head_attention_backward(const ch_attention_sizes *sizes,
                                                  const ch_attention_parameters *parameters, const float *x,
                                                  const float *memory, const unsigned char *mask, const float *dout,
                                                  float *dx, float *dmemory, const ch_attention_gradients *gradients,
                                                  ch_error *error);

#ifdef __cplusplus
}
#endif
#endif
