/*
 * The commands of clearhead. A command is a file that ends in a constant row of this type, and a place in the table
 * of main.c. What a command takes stands in its row: parsing, help and error sentences walk it.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "clearhead.h"

/* Exit codes. A run that a signal stopped ends with 128 + the number of the signal, as the shell counts. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

struct arguments;

struct command {
    const char *name;
    const char *usage;         /* what follows the name: "TASK --out DIR [options]" */
    const char *help;          /* one line */
    const char *about;         /* more lines for its own help, or NULL */
    const char *example;       /* commands that work as they stand, a line each */
    const char *positional;    /* the name of its argument without dashes, or NULL: it takes none */
    bool positional_needed;    /* whether it can do without */
    size_t most_positionals;   /* how many of them it takes; 0: one */
    const ch_option *options;  /* its own, ended by a row without a name; value NULL: a flag */
    const char *const *recipe; /* which options of recipes it takes, ended by NULL; every_option; or NULL: none */
    int (*run)(const struct arguments *arguments);
};

/* For `recipe`: the whole table. */
extern const char *const every_option[];

extern const struct command command_train, command_decode, command_generate, command_predict, command_eval,
    command_look, command_check, command_dump, command_compare, command_plot, command_summary, command_data,
    command_list, command_help;

/* Row i of the table of commands, or NULL past its end. */
const struct command *command_row(size_t i);
/* The command of that name; NULL after a sentence that has the known ones. */
const struct command *command_find(const char *name);

/* Kind i of `plot`, or NULL past the last. */
const char *plot_name(size_t i);

#endif
