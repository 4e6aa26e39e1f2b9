#include "child.h"
#include "runs.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- children ----------------------------------------------------------------------------------- */

struct result last;

_Noreturn static void become(const char *script) {
    signal(SIGINT, SIG_DFL); /* what is ignored here would stay ignored there */
    signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    _exit(127);
}

/* Pipes that the parent keeps are not inherited by the next child. */
struct child start(const char *script) {
    int in[2], output[2], err[2];
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(output, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        become(script);
    }
    close(in[0]);
    close(output[1]);
    close(err[1]);
    return (struct child){pid, in[1], output[0], err[0]};
}

static void read_all(int descriptor, char *text, size_t size) {
    size_t used = 0;
    ssize_t got;
    while (used + 1 < size && (got = read(descriptor, text + used, size - 1 - used)) > 0) used += (size_t)got;
    text[used] = '\0';
    close(descriptor);
}

int wait_for(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0) assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* What the child still writes, and its exit code. The talk on standard error fits in its pipe. */
void finish(struct child child) {
    close(child.in);
    read_all(child.out, last.out, sizeof last.out);
    read_all(child.err, last.err, sizeof last.err);
    last.code = wait_for(child.pid);
}

int run(const char *script) {
    finish(start(script));
    return last.code;
}

int run_on_terminal(const char *script) {
    int terminal;
    struct winsize size = {.ws_row = 24, .ws_col = 72};
    pid_t pid = forkpty(&terminal, NULL, NULL, &size);
    assert_true(pid >= 0);
    if (pid == 0) become(script);
    read_all(terminal, last.out, sizeof last.out);
    return last.code = wait_for(pid);
}

void read_line(int descriptor, char *line, size_t size) {
    size_t used = 0;
    while (used + 1 < size && read(descriptor, line + used, 1) == 1)
        if (line[used++] == '\n') break;
    line[used] = '\0';
}

/* ---- checks ------------------------------------------------------------------------------------- */

void holds(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("expected '%s' in:\n%s", part, text);
}

void lacks(const char *text, const char *part) {
    if (strstr(text, part)) fail_msg("did not expect '%s' in:\n%s", part, text);
}

json_t *parse(const char *text) {
    json_error_t error;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!value) fail_msg("%s in:\n%s", error.text, text);
    return value;
}

json_t *parse_output(void) {
    json_t *value = parse(last.out);
    assert_int_equal(json_integer_value(json_object_get(value, "schema")), 1);
    return value;
}

char *slurp(const char *name, size_t *size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("cannot open %s", path);
    char *bytes = calloc(1, 1 << 20);
    *size = fread(bytes, 1, (1 << 20) - 1, file);
    fclose(file);
    return bytes;
}

void assert_same_file(const char *a, const char *b) {
    size_t a_size, b_size;
    char *a_bytes = slurp(a, &a_size), *b_bytes = slurp(b, &b_size);
    assert_true(a_size > 0);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a_bytes, b_bytes, a_size);
    free(a_bytes);
    free(b_bytes);
}

/* ---- around all of them ----------------------------------------------------------------------------------- */

int child_set_up(const char *command, const char *data) {
    make_folder(NULL);
    signal(SIGPIPE, SIG_IGN);
    static const char *const unset[] = {"NO_COLOR", "COLORTERM", "COLUMNS"};
    for (size_t i = 0; i < 3; i++) unsetenv(unset[i]);
    char model[512], leaks[512];
    snprintf(model, sizeof model, "%s/lesson_tiny_model.safetensors", data);
    snprintf(leaks, sizeof leaks, "suppressions=%s/libraries.supp:print_suppressions=0", data);
    return setenv("C", command, 1) | setenv("D", folder, 1) | setenv("M", model, 1) | setenv("TERM", "xterm", 1) |
           setenv("LSAN_OPTIONS", leaks, 0);
}

int child_tear_down(void) {
    return drop_folder(NULL);
}
