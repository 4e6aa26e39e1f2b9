#include "io/log.h"
#include "base/memory.h"
#include "io/disk.h"
#include "io/file.h"
#include "io/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_LOG = 1 << 30 };

/* Whether a line is a whole JSON object of a step up to last_step. */
static bool keep_line(const char *line, size_t length, int64_t last_step) {
    struct js_value *object;
    int64_t step = INT64_MAX;
    if (js_parse(line, length, "", &object, NULL) != CH_OK) return false;
    bool known = js_int(js_find(object, "step"), "", "step", &step, NULL) == CH_OK;
    js_free(object);
    return known && step <= last_step;
}

/* Length of the leading lines that are kept. */
static size_t kept_length(const char *text, size_t length, int64_t last_step) {
    size_t kept = 0;
    while (kept < length) {
        const char *end = memchr(text + kept, '\n', length - kept);
        if (!end || !keep_line(text + kept, (size_t)(end - text) - kept, last_step)) break;
        kept = (size_t)(end - text) + 1;
    }
    return kept;
}

static bool is_empty(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    off_t size = lseek(descriptor, 0, SEEK_END);
    close(descriptor);
    return size == 0;
}

static ch_status cut_back(const char *path, int64_t last_step, ch_error *error) {
    if (!run_exists(path) || is_empty(path)) return CH_OK;
    char *text;
    size_t length;
    ch_status status = file_read(path, LARGEST_LOG, &text, &length, error);
    if (status != CH_OK) return status;
    size_t kept = kept_length(text, length, last_step);
    if (kept < length) status = file_write(path, text, kept, error);
    mem_free(text);
    return status;
}

ch_status log_open(struct log *log, const char *path, int64_t last_step, ch_error *error) {
    *log = (struct log){.descriptor = -1};
    ch_status status = cut_back(path, last_step, error);
    if (status != CH_OK) return status;
    log->path = mem_copy_string(path);
    if (!log->path) return fail_memory(error, "the log");
    log->descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log->descriptor >= 0) return CH_OK;
    status = fail_errno(error, "cannot write %s", path);
    log_close(log);
    return status;
}

static ch_status append(struct log *log, const char *text, size_t length, ch_error *error) {
    for (size_t done = 0; done < length;) {
        ssize_t written = disk_write(log->descriptor, text + done, length - done);
        if (written < 0 && errno != EINTR) return fail_errno(error, "cannot write %s", log->path);
        if (written > 0) done += (size_t)written;
    }
    return CH_OK;
}

ch_status log_line(struct log *log, struct js_value *object, ch_error *error) {
    char *text = object ? js_dump(object, 0) : NULL;
    js_free(object);
    if (!text) return fail_memory(error, "a line of the log");
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the terminator: one write, so that a line is there whole or not */
    ch_status status = append(log, text, length + 1, error);
    mem_free(text);
    return status;
}

void log_close(struct log *log) {
    if (log->descriptor >= 0) close(log->descriptor);
    mem_free(log->path);
    *log = (struct log){.descriptor = -1};
}

/* ---- reading ---- */

enum { LOG_SCHEMA = 1, WHERE = 512 };

struct reading {
    const char *path;
    int64_t line, step; /* the last ones */
    log_take take;
    void *context;
};

static ch_status check_line(const struct reading *reading, const struct js_value *line, const char *where,
                            int64_t *step, ch_error *error) {
    int64_t schema;
    ch_status status = js_expect(line, JS_OBJECT, where, "the line", error);
    if (status == CH_OK) status = js_int(js_find(line, "schema"), where, "schema", &schema, error);
    if (status == CH_OK && schema != LOG_SCHEMA)
        status = fail(error, CH_FAILED, "%s: 'schema': expected %d, found %lld", where, LOG_SCHEMA, (long long)schema);
    if (status == CH_OK) status = js_int(js_find(line, "step"), where, "step", step, error);
    if (status == CH_OK && *step <= reading->step)
        status = fail(error, CH_FAILED, "%s: 'step': expected more than %lld, found %lld", where,
                      (long long)reading->step, (long long)*step);
    return status;
}

static ch_status take_line(struct reading *reading, const char *text, size_t length, ch_error *error) {
    char where[WHERE];
    struct js_value *line;
    snprintf(where, sizeof where, "%.400s, line %lld", reading->path, (long long)++reading->line);
    ch_status status = js_parse(text, length, where, &line, NULL);
    if (status == CH_NO_MEMORY) return fail_memory(error, "a line of the log");
    if (status != CH_OK) return fail(error, CH_FAILED, "%s: expected a JSON object, found something else", where);
    int64_t step = 0;
    status = check_line(reading, line, where, &step, error);
    if (status == CH_OK) status = reading->take(line, step, where, reading->context, error);
    js_free(line);
    reading->step = step;
    return status;
}

ch_status log_read(const char *path, log_take take, void *context, ch_error *error) {
    struct reading reading = {.path = path, .take = take, .context = context};
    char *text;
    size_t length, at = 0;
    if (is_empty(path))
        return fail(error, CH_FAILED, "%s: expected a line for each logged step, and it is empty", path);
    ch_status status = file_read(path, LARGEST_LOG, &text, &length, error);
    if (status != CH_OK) return status;
    for (const char *end; status == CH_OK && (end = memchr(text + at, '\n', length - at));) {
        status = take_line(&reading, text + at, (size_t)(end - text) - at, error);
        at = (size_t)(end - text) + 1;
    }
    mem_free(text);
    if (status == CH_OK && reading.line == 0)
        status =
            fail(error, CH_FAILED, "%s: expected a line for each logged step, and it has not one whole line", path);
    return status;
}
