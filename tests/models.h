/*
 * What the tests of whole models share: recipes in a line, sentences that must say something, a batch with the memory
 * for its pass, golden tensors, files as bytes.
 */
#ifndef TESTS_MODELS_H
#define TESTS_MODELS_H

#include "io/safetensors.h"
#include "support.h"
#include "train/trainer.h"

/* ---- builds: what is too slow, or not possible, under the sanitizers ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#ifdef CH_DOUBLE
#define IN_DOUBLE 1
#else
#define IN_DOUBLE 0
#endif

/* ---- recipes, sentences ---- */

/* Defaults, then pairs of an option and its value; ends with NULL. */
ch_recipe *recipe_of(const char *option, ...) __attribute__((sentinel));
void set_option(ch_recipe *recipe, const char *option, const char *value);

/* "option=value option=value" */
void set_options(ch_recipe *recipe, const char *settings);
/* Walks the parts of a model: sets row i of the families norm, position, ffn, tie ..., counted through, and gives
 * its name; behind them numbers, switches and several at once, and last the other assemblies, each with a task that it
 * can do. NULL past that. */
const char *set_part(ch_recipe *recipe, size_t i);

/* Fails the test with the sentence unless the status is CH_OK. */
void check_ok(ch_status status, const ch_error *error);
/* Fails the test unless the status is the expected one and its sentence holds each part; ends with NULL. */
void check_sentence(ch_status status, ch_status expected, const ch_error *error, ...) __attribute__((sentinel));

ch_model *model_of(const ch_recipe *recipe);
/* A model of an encoder alone that finds hidden tokens; of a recipe that tells classes, since no task hides any. */
ch_model *masked_model_of(const ch_recipe *recipe);
ch_model *open_model(const char *path);
ch_trainer *trainer_of(const ch_recipe *recipe, const char *folder);
/* So many steps; the last one. */
ch_step take_steps(ch_trainer *trainer, int count);

/* A row's values; fails the test if there is no such row. */
real *values_of(const struct ch_model *model, const char *name);

/* ---- a batch of examples in its own memory, a model's pass over it, and a block of gradients ---- */

struct lab {
    struct ch_model *model; /* not owned */
    struct shard shard;
    struct pass pass; /* with gradients until grad is set to NULL */
    real *grad;
    size_t block; /* elements of grad */
};

/* Fresh examples of the recipe's task: batch-size of them. With gradients and the recipe's dropout. */
struct lab lab_new(struct ch_model *model, const ch_recipe *recipe, const struct capture *capture);
void lab_free(struct lab *lab);
/* Clears the gradients, walks forward and backward; the mean loss. */
double lab_step(struct lab *lab);
/* The logits of one walk forward with lab->pass; free() them. *count gets how many. */
real *lab_logits(struct lab *lab, size_t *count);

/* Sequences first..first + count - 1 of another frame of the same model. */
void frame_take(struct frame *to, const struct frame *from, int first, int count);

/* ---- golden tensors ---- */

struct st_file *open_golden(const char *name);
/* The numbers of "<prefix><name>", NULL if there is none; free() them. The tensor may be NULL. */
real *golden(const struct st_file *file, const char *prefix, const char *name, const struct st_tensor **tensor);

/* ---- files ---- */

/* "<folder>/<name>" in a ring of static buffers: good for a few calls. */
const char *path_in(const char *folder, const char *name);
bool is_there(const char *folder, const char *name);
/* The whole file, a zero byte behind it; fails the test if it is not there. free() it. */
char *file_bytes(const char *path, size_t *size);
void put_bytes(const char *path, const void *bytes, size_t size);
void check_same_file(const char *folder_a, const char *folder_b, const char *name);

#endif
