/* log.jsonl and its like: one JSON object a line, for each logged step. */
#ifndef CH_IO_LOG_H
#define CH_IO_LOG_H

#include "base/json.h"

struct log {
    int descriptor; /* -1: none */
    char *path;
};

/* Opens for appending, after cutting the file back to the lines whose "step" is at most `last_step`: what a run wrote
 * after the checkpoint that it continues from. A missing file is made: at once by a run from its start, by one that
 * goes on with its first line, so that until then it is known to be missing. */
ch_status log_open(struct log *log, const char *path, int64_t last_step, ch_error *error);
/* Appends the object as one line. Frees it, also on failure. */
ch_status log_line(struct log *log, struct js_value *object, ch_error *error);
void log_close(struct log *log);

/* Takes one line; `where` names file and line for its sentences. Returning anything but CH_OK ends the reading. */
typedef ch_status (*log_take)(const struct js_value *line, int64_t step, const char *where, void *context,
                              ch_error *error);

/* Refuses a log that is not what a run leaves that has taken `last_step` steps and has written the line of step
 * `sure_step`: a line up to there that cannot be read, or none. A last line without its end is what a killed run left,
 * and fine; after last_step only a step from before it is refused; a missing file is no fault. Changes nothing. take:
 * what each line up to there must pass; NULL: nothing more. */
ch_status log_check(const char *path, int64_t last_step, int64_t sure_step, log_take take, void *context,
                    ch_error *error);
/* Reads a whole log. Every line must be an object of schema 1 whose "step" is more than the one before; a last line
 * without its end is one that is being written, or that a dead run left, and is passed over. Fails on a log without
 * lines. */
ch_status log_read(const char *path, log_take take, void *context, ch_error *error);

/* A loss, a norm, a rate: a number that is not below 0. */
ch_status log_size(const struct js_value *value, const char *where, const char *key, double *out, ch_error *error);

#endif
