/*
 * Run folder: what a training run leaves behind, and where.
 *   recipe.json               the resolved options, written before step 1
 *   log.jsonl                 one line for each logged step
 *   gradients.jsonl           with --log-gradients: norms of each tensor at the same steps
 *   checkpoints/<step>/       model.safetensors and trainer.safetensors
 *   checkpoints/latest        the name of the newest complete one (a folder under its number is complete)
 *   checkpoints/best          the name of the one with the lowest validation loss
 *   model.safetensors         the result
 */
#ifndef CH_IO_RUN_FOLDER_H
#define CH_IO_RUN_FOLDER_H

#include "base/error.h"

enum { RUN_PATH = 4096 };

#define RUN_RECIPE "recipe.json"
#define RUN_LOG "log.jsonl"
#define RUN_GRADIENTS "gradients.jsonl"
#define RUN_CHECKPOINTS "checkpoints"
#define RUN_LATEST "latest"
#define RUN_BEST "best"
#define RUN_MODEL "model.safetensors"
#define RUN_TRAINER "trainer.safetensors"

/* "<folder>/<name>" into out (RUN_PATH). */
ch_status run_path(char *out, const char *folder, const char *name, ch_error *error);
bool run_exists(const char *path);

/* Keeps other processes from training in the folder until the descriptor is closed, or this process ends. A file
 * system without locks is taken as it is. */
ch_status run_lock(const char *folder, int *descriptor, ch_error *error);

/* The folder of a step's checkpoint. */
ch_status run_checkpoint(char *out, const char *folder, int64_t step, ch_error *error);

/* The step that a checkpoint's folder is named for, or -1. */
int64_t run_step_of(const char *name);
/* The folder of the latest checkpoint: the one that `latest` names, or, where that is lost, the newest there is. Empty
 * if there is no checkpoint. */
ch_status run_latest(char *out, const char *folder, ch_error *error);

/* Makes MODEL of the command line a file: a run folder's result or latest checkpoint, a checkpoint folder's model, or
 * the file itself. */
ch_status run_model_file(char *out, const char *path, ch_error *error);

#endif
