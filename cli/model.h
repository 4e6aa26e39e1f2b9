/* The argument MODEL, which several commands take, and what goes with it. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "options.h"

#define MODEL_ABOUT "MODEL is a run folder, a checkpoint folder or a .safetensors file.\n"

/* Opens MODEL with --heads. Returns 0, or the exit code after a sentence; *model is NULL then. */
int model_open(const struct arguments *arguments, ch_model **model);
/* The same for a MODEL that is given in another way. */
int model_open_path(const struct arguments *arguments, const char *path, ch_model **model);

/* A model has its own parts and sizes; one given beside it would be a misunderstanding. Returns 0, or the exit code. */
int model_refuse_parts(const struct arguments *arguments, const char *path);
/* Sets what the model says of itself, and what its run was told of its data unless the command line says another.
 * Returns 0, or the exit code. */
int model_recipe(const struct arguments *arguments, const char *path, const ch_model *model, ch_recipe *recipe);
/* Sets the recipe's task: that of --task, else the one that the model was trained on. Returns 0, or the exit code. */
int model_task(const struct arguments *arguments, const char *path, const ch_model *model, ch_recipe *recipe);

#endif
