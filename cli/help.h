/* Help texts, made from the tables; and the parts of them that manual pages share. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"

/* Both return the exit code. */
int help_of_all(void);
int help_of_command(const struct command *command);

struct exit_code {
    const char *code, *meaning;
};
extern const struct exit_code exit_codes[]; /* ended by a row without a code */
extern const char help_example[], help_streams[];

enum { HELP_DEFAULT = 64 };
/* " (default 64)", or nothing. */
void help_default(const ch_option *row, char text[HELP_DEFAULT]);
/* What an option stands under: "options" are the command's own and those of every command. */
const char *help_group(const ch_option *row);

#endif
