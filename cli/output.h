/*
 * What the command writes: data on standard output, every write of it checked; talk and errors on standard error.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "clearhead.h"

#include <jansson.h>

/* False as soon as standard output has failed. The first failure is said on standard error, except a reader that
 * went away, which is no news. */
bool out(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool out_flush(void);
/* Flushes and closes. */
bool out_close(void);

/* Bytes as they are. */
bool out_bytes(const char *bytes, size_t length);
/* Tokens as text, separated by spaces. */
bool out_tokens(const ch_vocab *vocab, const int *tokens, size_t count);

/* Tokens of a text as the text: control characters as escapes, so that it stays on one line, and special tokens by
 * their names. */
bool out_text(const ch_vocab *vocab, const int *tokens, size_t count);

/* One object on one line, with "schema" added; takes it over. NULL (memory ran out) is said and gives false. */
bool out_json(json_t *object);
json_t *json_number(double value);    /* null if it is not finite: JSON has no other word for it */
json_t *json_words(const char *text); /* null if it is not UTF-8 */
/* A text of bytes; where it is no UTF-8, each byte that begins no character becomes U+FFFD. */
json_t *json_text(const char *bytes, size_t length);
json_t *json_tokens(const int *tokens, size_t count);

/* A line on standard error, control characters replaced: a name or a word from a file must not steer a terminal. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* An error: "clearhead: ..."; returns the exit code. */
int complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* An error of the library, behind "where: " unless that is NULL; returns the exit code that its status stands for. */
int report(const char *where, const ch_error *error);
int report_memory(void);

#endif
