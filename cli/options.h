/*
 * The options of a command line, parsed by the tables of its command: --name value or --name=value, anywhere among
 * the other words, the last of a repeated option wins, `--` ends them.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "command.h"

enum { MOST_OPTIONS = 128 };

/* All that a command takes: its own options, those of every command, those of recipes. */
struct option_table {
    const ch_option *row[MOST_OPTIONS];
    size_t count;
};

struct given {
    const ch_option *row;
    const char *value; /* NULL for a flag */
};

struct arguments {
    const struct command *command;
    const char *positional; /* the first word without dashes; NULL if it was left out */
    const char **words;     /* all of them */
    size_t word_count;
    struct given *given; /* in the order of the words */
    size_t count;
    bool help; /* --help is among them: nothing else was checked */
};

void option_table(const struct command *command, struct option_table *table);

/* Parses the words behind the command's name. Returns 0, or the exit code after a sentence. */
int arguments_parse(struct arguments *arguments, const struct command *command, int count, char **words);
void arguments_free(struct arguments *arguments);

/* What an option was given, else its default; NULL if it has none. */
const char *arguments_value(const struct arguments *arguments, const char *name);
bool arguments_has(const struct arguments *arguments, const char *name);
/* A whole number in least..most; false after a sentence. */
bool arguments_number(const struct arguments *arguments, const char *name, int least, int most, int *number);
/* A number; false after a sentence. */
bool arguments_real(const struct arguments *arguments, const char *name, double *number);
/* Tokens, least..most of them, for the caller to free. Returns 0, or the exit code after a sentence. */
int arguments_tokens(const struct arguments *arguments, const char *name, const ch_vocab *vocab, size_t least,
                     size_t most, int **tokens, size_t *count);
/* All tokens of a text, <mask> included where the vocabulary has it, for the caller to free. Returns 0, EXIT_USAGE with
 * the error filled, or the exit code after a sentence. */
int arguments_encode(const ch_vocab *vocab, const char *text, int **tokens, size_t *count, ch_error *error);
/* The most numbers that a text of so many bytes can hold: each takes a byte, and a blank stands between two. */
size_t most_tokens(size_t bytes);

/* A new recipe from defaults, then the file of --recipe (if the command has that option), then the command line. */
ch_status arguments_recipe(const struct arguments *arguments, ch_recipe **recipe, ch_error *error);
/* The options of recipes that were given by name; at most capacity names. Returns how many there are. */
size_t arguments_recipe_names(const struct arguments *arguments, const char **names, size_t capacity);

#endif
