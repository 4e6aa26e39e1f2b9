/*
 * The command as a child process, for the tests of the command line. Every script runs in a shell where $C is the
 * command, $M a trained model and $D an empty folder, which goes away with the tests.
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct result {
    int code; /* exit code, or 1000 + the signal that killed */
    char out[65536], err[16384];
};

extern struct result last; /* of the last script that ran to its end */
extern char *folder;       /* $D */

/* For the whole group of tests; both return 0, as cmocka wants it. data: the folder of the tests' data. */
int child_set_up(const char *command, const char *data);
int child_tear_down(void);

struct child {
    pid_t pid;
    int in, out, err; /* our ends of the pipes on its three streams */
};

struct child start(const char *script);
/* Ends its input, takes what it still writes, and waits for it. */
void finish(struct child child);
int wait_for(pid_t pid);
/* start and finish; returns last.code. */
int run(const char *script);
/* Everything that a script writes to a terminal of 72 columns; kept in last.out. */
int run_on_terminal(const char *script);
/* A line of at most size - 1 bytes, its end included; "" at the end. */
void read_line(int descriptor, char *line, size_t size);

/* ---- checks, which fail the test that calls them ---- */

void holds(const char *text, const char *part);
void lacks(const char *text, const char *part);
json_t *parse(const char *text);
/* last.out as JSON with "schema": 1. */
json_t *parse_output(void);
/* A file of $D, a zero byte behind it; the caller frees it. */
char *slurp(const char *name, size_t *size);
void assert_same_file(const char *a, const char *b);

#endif
