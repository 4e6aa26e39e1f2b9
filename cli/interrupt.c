#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

/* A handler has nowhere else to leave its word. */
static volatile sig_atomic_t stop_signal;

static void ask_to_stop(int number) {
    stop_signal = number;
    signal(SIGINT, SIG_DFL); /* a second one kills */
    signal(SIGTERM, SIG_DFL);
}

/* Products of oneDNN for AVX-512 keep numbers further below the stack pointer than the system allows, just where a
 * handler would be put: it gets a stack of its own, unless there is one. */
static void set_stack_aside(void) {
    static char room[1 << 16];
    stack_t old, stack = {.ss_sp = room, .ss_size = sizeof room};
    if (sigaltstack(NULL, &old) == 0 && old.ss_flags & SS_DISABLE) sigaltstack(&stack, NULL);
}

/* A signal that the caller chose to ignore (nohup, a script's background job) stays ignored. */
static void watch(int number) {
    struct sigaction old, action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART | SA_ONSTACK};
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(number, &action, NULL);
}

void interrupt_watch(void) {
    set_stack_aside();
    watch(SIGINT);
    watch(SIGTERM);
}

int interrupt_signal(void) {
    return (int)stop_signal;
}
