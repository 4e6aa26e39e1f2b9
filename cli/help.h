/* Help texts, made from the tables. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"

/* Both return the exit code. */
int help_of_all(void);
int help_of_command(const struct command *command);

#endif
