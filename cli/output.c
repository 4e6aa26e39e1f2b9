#include "output.h"
#include "command.h"
#include "words.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- standard output -------------------------------------------------------------------------- */

static bool failed(int reason) {
    if (reason != EPIPE) complain(EXIT_FAILED, "cannot write to standard output: %s", strerror(reason));
    return false;
}

bool out(const char *format, ...) {
    if (ferror(stdout)) return false;
    va_list list;
    va_start(list, format);
    int written = vprintf(format, list);
    va_end(list);
    return written >= 0 || failed(errno);
}

bool out_flush(void) {
    if (ferror(stdout)) return false;
    return fflush(stdout) == 0 || failed(errno);
}

bool out_close(void) {
    bool whole = out_flush();
    /* Some file systems report a full disk only here. */
    if (fclose(stdout) != 0 && whole) return failed(errno);
    return whole;
}

bool out_bytes(const char *bytes, size_t length) {
    if (ferror(stdout)) return false;
    return fwrite(bytes, 1, length, stdout) == length || failed(errno);
}

bool out_tokens(const ch_vocab *vocab, const int *tokens, size_t count) {
    bool whole = true;
    for (size_t i = 0; i < count && whole; i++) whole = out("%s%s", i ? " " : "", ch_vocab_text(vocab, tokens[i]));
    return whole;
}

/* What a token adds to a line. */
static const char *shown(const ch_vocab *vocab, int token, size_t *length) {
    const char *bytes = ch_vocab_bytes(vocab, token, length), *text = ch_vocab_text(vocab, token);
    bool control = *length == 1 && ((unsigned char)bytes[0] < ' ' || bytes[0] == 0x7f);
    if (*length == 0 || control) {
        *length = strlen(text);
        return text;
    }
    return bytes;
}

bool out_text(const ch_vocab *vocab, const int *tokens, size_t count) {
    size_t length = 0, capacity = 1;
    for (size_t i = 0; i < count; i++, capacity += length) shown(vocab, tokens[i], &length);
    char *line = malloc(capacity), *at = line;
    if (!line) {
        report_memory();
        return false;
    }
    for (size_t i = 0; i < count; i++, at += length) {
        const char *text = shown(vocab, tokens[i], &length);
        memcpy(at, text, length);
    }
    *at = '\0';
    if (isatty(STDOUT_FILENO)) words_clean(line); /* it must not be steered by bytes that are no text */
    bool written = out_bytes(line, (size_t)(at - line));
    free(line);
    return written;
}

/* ---- JSON ------------------------------------------------------------------------------------- */

bool out_json(json_t *object) {
    json_t *whole = json_pack("{s:i}", "schema", 1);
    bool packed = whole && object && json_object_update(whole, object) == 0;
    char *text = packed ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    json_decref(object);
    if (!text) {
        report_memory();
        return false;
    }
    bool written = out("%s\n", text);
    free(text);
    return written;
}

json_t *json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_words(const char *text) {
    json_t *words = json_string(text);
    return words ? words : json_null();
}

json_t *json_text(const char *bytes, size_t length) {
    static const char replacement[] = "\xEF\xBF\xBD";
    json_t *whole = json_stringn(bytes, length);
    char *text = whole ? NULL : malloc(length * (sizeof replacement - 1) + 1);
    if (!text) return whole;
    size_t used = 0;
    for (size_t at = 0, character; at < length; at += character ? character : 1) {
        character = words_character(bytes + at, length - at);
        const char *from = character ? bytes + at : replacement;
        size_t count = character ? character : sizeof replacement - 1;
        memcpy(text + used, from, count);
        used += count;
    }
    whole = json_stringn(text, used);
    free(text);
    return whole;
}

json_t *json_tokens(const int *tokens, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_integer(tokens[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* ---- standard error --------------------------------------------------------------------------- */

/* One call, so that lines of several writers do not mix. Nobody is left to tell when it fails. */
static void put_line(const char *prefix, const char *format, va_list list) {
    char text[2048];
    int length = vsnprintf(text, sizeof text, format, list);
    if (length < 0) return;
    words_clean(text);
    fprintf(stderr, "%s%s\n", prefix, text);
}

void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_line("", format, list);
    va_end(list);
}

int complain(int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    put_line("clearhead: ", format, list);
    va_end(list);
    return code;
}

int report(const char *where, const ch_error *error) {
    int code = error->status == CH_USAGE ? EXIT_USAGE : EXIT_FAILED;
    return complain(code, "%s%s%s", where ? where : "", where ? ": " : "", error->message);
}

int report_memory(void) {
    return complain(EXIT_FAILED, "out of memory");
}
