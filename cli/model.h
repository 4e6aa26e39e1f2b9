/* The argument MODEL, which several commands take. */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include "options.h"

#define MODEL_ABOUT "MODEL is a run folder, a checkpoint folder or a .safetensors file.\n"

/* Opens MODEL with --heads. Returns 0, or the exit code after a sentence; *model is NULL then. */
int model_open(const struct arguments *arguments, ch_model **model);

/* The most tokens that a text of so many bytes can hold: each takes a byte, and a blank stands between two. */
size_t model_most_tokens(size_t bytes);

#endif
