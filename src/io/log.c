#include "io/log.h"
#include "base/memory.h"
#include "io/disk.h"
#include "io/file.h"
#include "io/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_LOG = 1 << 30 };

/* Whether a line is a whole JSON object of a step up to last_step. */
static ch_status keep_line(const char *line, size_t length, int64_t last_step, bool *keep, ch_error *error) {
    struct js_value *object;
    int64_t step = INT64_MAX;
    *keep = false;
    ch_status status = js_parse(line, length, "", &object, NULL);
    if (status == CH_NO_MEMORY) return fail_memory(error, "a line of the log"); /* which may be a good one */
    if (status != CH_OK) return CH_OK;
    *keep = js_int(js_find(object, "step"), "", "step", &step, NULL) == CH_OK && step <= last_step;
    js_free(object);
    return CH_OK;
}

/* Length of the leading lines that are kept. */
static ch_status measure_kept(const char *text, size_t length, int64_t last_step, size_t *kept, ch_error *error) {
    bool keep;
    *kept = 0;
    for (const char *end; (end = memchr(text + *kept, '\n', length - *kept));) {
        ch_status status = keep_line(text + *kept, (size_t)(end - text) - *kept, last_step, &keep, error);
        if (status != CH_OK || !keep) return status;
        *kept = (size_t)(end - text) + 1;
    }
    return CH_OK;
}

/* Asked without opening it: a pipe would wait for its other end. */
static bool is_empty(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

static ch_status cut_back(const char *path, int64_t last_step, ch_error *error) {
    if (!run_exists(path) || is_empty(path)) return CH_OK;
    char *text;
    size_t length;
    ch_status status = file_read(path, LARGEST_LOG, &text, &length, error);
    if (status != CH_OK) return status;
    size_t kept;
    status = measure_kept(text, length, last_step, &kept, error);
    if (status == CH_OK && kept < length) status = file_write(path, text, kept, error);
    mem_free(text);
    return status;
}

static ch_status open_file(struct log *log, ch_error *error) {
    log->descriptor = open(log->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return log->descriptor >= 0 ? CH_OK : fail_errno(error, "cannot write %s", log->path);
}

ch_status log_open(struct log *log, const char *path, int64_t last_step, ch_error *error) {
    *log = (struct log){.descriptor = -1};
    ch_status status = cut_back(path, last_step, error);
    if (status != CH_OK) return status;
    log->path = mem_copy_string(path);
    if (!log->path) return fail_memory(error, "the log");
    if (last_step > 0 && !run_exists(path)) return CH_OK;
    status = open_file(log, error);
    if (status != CH_OK) log_close(log);
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
    ch_status status = log->descriptor < 0 ? open_file(log, error) : CH_OK;
    if (status == CH_OK) status = append(log, text, length + 1, error);
    mem_free(text);
    return status;
}

void log_close(struct log *log) {
    if (log->descriptor >= 0) close(log->descriptor);
    mem_free(log->path);
    *log = (struct log){.descriptor = -1};
}

/* ---- reading ---- */

enum { LOG_SCHEMA = 1, WHERE = 512, WORD = 48 };

struct reading {
    const char *path;
    int64_t line, step; /* the last ones */
    log_take take;      /* NULL: none */
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

/* Whether a word is a number that JSON cannot hold, and what it should have been: NaN, 1e999, 99999999999999999999. */
static const char *expected_of(const char *word) {
    char *end;
    double value = strtod(word, &end);
    if (end != word && !isfinite(value)) return "a finite number";
    errno = 0;
    (void)strtoll(word, &end, 10);
    return errno == ERANGE && !*end ? "a whole number below 2^63" : NULL;
}

/* Bytes of the string at the start of a text, with its quotes. */
static size_t string_length(const char *text, size_t length) {
    size_t i = 1;
    while (i < length && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    return i < length ? i + 1 : length;
}

/* The word behind a colon, cut to what a sentence has room for. */
static void word_at(const char *text, size_t length, char word[WORD]) {
    size_t from = 0, used = 0;
    while (from < length && (text[from] == ' ' || text[from] == '\t')) from++;
    while (from + used < length && used + 1 < WORD && !strchr(", \t\r}]", text[from + used])) used++;
    memcpy(word, text + from, used);
    word[used] = '\0';
}

/* The sentence for a line that is no JSON; it names the key whose value is why, if that is so. */
static ch_status refuse_line(const char *text, size_t length, const char *where, ch_error *error) {
    size_t key = 0, key_length = 0;
    for (size_t at = 0; at < length; at++) {
        char word[WORD];
        if (text[at] == '"') {
            key = at + 1;
            at += string_length(text + at, length - at) - 1;
            key_length = at - key;
        } else if (text[at] == ':') {
            word_at(text + at + 1, length - at - 1, word);
            const char *expected = expected_of(word);
            if (expected)
                return fail(error, CH_FAILED, "%s: '%.*s': expected %s, found %s", where,
                            (int)(key_length < WORD ? key_length : WORD), text + key, expected, word);
        }
    }
    return fail(error, CH_FAILED, "%s: expected a JSON object, found something else", where);
}

static ch_status take_line(struct reading *reading, const char *text, size_t length, ch_error *error) {
    char where[WHERE];
    struct js_value *line;
    snprintf(where, sizeof where, "%.400s, line %lld", reading->path, (long long)++reading->line);
    ch_status status = js_parse(text, length, where, &line, NULL);
    if (status == CH_NO_MEMORY) return fail_memory(error, "a line of the log");
    if (status != CH_OK) return refuse_line(text, length, where, error);
    int64_t step = 0;
    status = check_line(reading, line, where, &step, error);
    if (status == CH_OK && reading->take) status = reading->take(line, step, where, reading->context, error);
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

ch_status log_size(const struct js_value *value, const char *where, const char *key, double *out, ch_error *error) {
    ch_status status = js_double(value, where, key, out, error);
    if (status != CH_OK || *out >= 0) return status;
    return fail(error, CH_FAILED, "%s: '%s': expected 0 or more, found %g", where, key, *out);
}

/* ---- checking before a run goes on ---- */

/* Adds to the sentence what can be done. */
static ch_status refuse_log(const ch_error *why, ch_error *error) {
    return fail(error, CH_FAILED,
                "cannot go on with this log: %.700s; put the log right, or move it away to go on with a new one",
                why->message);
}

/* What comes after last_step is what a dead run left, in whatever state; but a step from before it does not stand
 * there. */
static ch_status check_rest(struct reading *reading, const char *text, size_t length, int64_t last_step,
                            ch_error *error) {
    bool early = false;
    ch_status status = CH_OK;
    for (const char *end; status == CH_OK && (end = memchr(text, '\n', length));) {
        size_t line = (size_t)(end - text);
        status = keep_line(text, line, last_step, &early, error);
        if (status == CH_OK && early) return take_line(reading, text, line, error);
        reading->line++;
        text = end + 1;
        length -= line + 1;
    }
    return status;
}

/* Reads the lines up to last_step; *reached gets the step of the last of them. */
static ch_status check_lines(const char *path, int64_t last_step, log_take take, void *context, int64_t *reached,
                             ch_error *error) {
    struct reading reading = {.path = path, .take = take, .context = context};
    char *text;
    size_t length, at = 0;
    *reached = 0;
    if (is_empty(path)) return CH_OK;
    ch_status status = file_read(path, LARGEST_LOG, &text, &length, error);
    if (status != CH_OK) return status;
    for (const char *end; reading.step < last_step && (end = memchr(text + at, '\n', length - at));) {
        status = take_line(&reading, text + at, (size_t)(end - text) - at, error);
        if (status != CH_OK) break;
        if (reading.step <= last_step) *reached = reading.step;
        at = (size_t)(end - text) + 1;
    }
    if (status == CH_OK) status = check_rest(&reading, text + at, length - at, last_step, error);
    mem_free(text);
    return status;
}

ch_status log_check(const char *path, int64_t last_step, int64_t sure_step, log_take take, void *context,
                    ch_error *error) {
    ch_error why;
    int64_t reached;
    if (last_step == 0 || !run_exists(path)) return CH_OK;
    ch_status status = check_lines(path, last_step, take, context, &reached, &why);
    if (status == CH_OK && reached >= sure_step) return CH_OK;
    if (status == CH_NO_MEMORY) return fail_memory(error, "the log");
    if (status == CH_OK && reached)
        status = fail(&why, CH_FAILED, "%.400s: expected the lines of a run up to step %lld, found the last at %lld",
                      path, (long long)sure_step, (long long)reached);
    else if (status == CH_OK)
        status = fail(&why, CH_FAILED, "%.400s: expected the lines of a run up to step %lld, found none", path,
                      (long long)sure_step);
    return refuse_log(&why, error);
}
