/* Completion of the command's words in a shell, made from the tables. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

/* Writes the script of a shell (bash, zsh, fish) to standard output. Returns the exit code. */
int completion_write(const char *shell);

#endif
