/* Ctrl-C and its like: a command that works for long ends cleanly at the next place where it can. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

/* From now on SIGINT and SIGTERM only ask to stop; a second one kills. Whoever started the command with one of them
 * ignored keeps it ignored. */
void interrupt_watch(void);
/* The signal that asked to stop; 0: none did. */
int interrupt_signal(void);

#endif
