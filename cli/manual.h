/* Manual pages in the language of man(7), made from the tables. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "command.h"

/* clearhead(1) and clearhead-COMMAND(1) on standard output; both return the exit code. */
int manual_of_all(void);
int manual_of_command(const struct command *command);

#endif
