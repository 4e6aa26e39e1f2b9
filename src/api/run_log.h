/* What a run's log says, as columns for a chart. */
#ifndef CH_API_RUN_LOG_H
#define CH_API_RUN_LOG_H

#include "io/log.h"
#include "recipe/recipe.h"

struct column {
    int count;
    double *x, *y; /* step, value */
    size_t x_capacity, y_capacity;
};

enum run_signal { RUN_LOSS, RUN_GRAD_NORM, RUN_LR, RUN_VALIDATION, RUN_SIGNALS };

struct run_log {
    struct column column[RUN_SIGNALS];
    bool has_recipe; /* the folder holds one */
    ch_recipe recipe;
};

/* Reads log.jsonl, and recipe.json if it is there. Whatever happens, free with run_log_free. */
ch_status run_log_read(const char *folder, struct run_log *log, ch_error *error);
void run_log_free(struct run_log *log);

/* The path of a file that a run's folder must hold; `unless` says why it may not. */
ch_status run_file(char *path, const char *folder, const char *name, const char *unless, ch_error *error);

bool column_add(struct column *column, double x, double y);
void column_free(struct column *column);

#endif
