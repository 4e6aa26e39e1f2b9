#include "options.h"
#include "output.h"
#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const every_option[] = {NULL};

static const ch_option common[] = {
    {"json", NULL, NULL, "write JSON, with \"schema\": 1", NULL},
    {"help", NULL, NULL, "show this help", NULL},
    {0},
};

/* ---- tables ----------------------------------------------------------------------------------- */

static const ch_option *table_find(const struct option_table *table, const char *name, size_t length) {
    for (size_t i = 0; i < table->count; i++)
        if (strlen(table->row[i]->name) == length && strncmp(table->row[i]->name, name, length) == 0)
            return table->row[i];
    return NULL;
}

/* A row whose name the table has already is left out: a command's own meaning comes first. */
static void table_add(struct option_table *table, const ch_option *row) {
    if (table->count < MOST_OPTIONS && !table_find(table, row->name, strlen(row->name)))
        table->row[table->count++] = row;
}

static bool takes(const struct command *command, const char *name) {
    if (command->recipe == every_option) return true;
    for (const char *const *taken = command->recipe; taken && *taken; taken++)
        if (strcmp(*taken, name) == 0) return true;
    return false;
}

void option_table(const struct command *command, struct option_table *table) {
    const ch_option *recipe;
    table->count = 0;
    for (const ch_option *row = command->options; row && row->name; row++) table_add(table, row);
    for (const ch_option *row = common; row->name; row++) table_add(table, row);
    for (size_t i = 0; (recipe = ch_recipe_option(i)); i++)
        if (takes(command, recipe->name)) table_add(table, recipe);
}

static bool is_of_recipes(const ch_option *row) {
    const ch_option *recipe;
    for (size_t i = 0; (recipe = ch_recipe_option(i)); i++)
        if (row == recipe) return true;
    return false;
}

/* ---- parsing ---------------------------------------------------------------------------------- */

static int unknown_option(const struct command *command, const struct option_table *table, const char *name,
                          size_t length) {
    const char *names[MOST_OPTIONS];
    char word[64], list[1536] = "", near[96] = "";
    size_t used = 0;
    for (size_t i = 0; i < table->count; i++) {
        names[i] = table->row[i]->name;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s--%s", i ? ", " : "", names[i]);
    }
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), name);
    int nearest = words_nearest(word + strspn(word, "-"), names, table->count);
    if (nearest >= 0) snprintf(near, sizeof near, "did you mean --%s? ", names[nearest]);
    return complain(EXIT_USAGE, "unknown option '%s'; %s%s has %s", word, near, command->name, list);
}

struct parser {
    struct arguments *arguments;
    struct option_table table;
    char **words;
    int count, next;
};

static int take_option(struct parser *parser, const char *word) {
    const struct command *command = parser->arguments->command;
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const ch_option *row = length > 2 && word[1] == '-' ? table_find(&parser->table, word + 2, length - 2) : NULL;
    if (!row) return unknown_option(command, &parser->table, word, length);
    const char *value = equals ? equals + 1 : NULL;
    /* A switch of recipes may be on in the recipe's file: "=off" takes it back. */
    if (!row->value && value && !is_of_recipes(row))
        return complain(EXIT_USAGE, "--%s takes no value, but was given '%s'", row->name, value);
    if (row->value && !value) {
        bool missing = parser->next == parser->count || strncmp(parser->words[parser->next], "--", 2) == 0;
        if (missing) return complain(EXIT_USAGE, "--%s needs a value: --%s %s", row->name, row->name, row->value);
        value = parser->words[parser->next++];
    }
    parser->arguments->given[parser->arguments->count++] = (struct given){row, value};
    return 0;
}

static int take_positional(struct arguments *arguments, const char *word) {
    const struct command *command = arguments->command;
    if (!command->positional)
        return complain(EXIT_USAGE, "unexpected '%s': %s takes options only", word, command->name);
    size_t most = command->most_positionals ? command->most_positionals : 1;
    if (arguments->word_count == most && most == 1)
        return complain(EXIT_USAGE, "unexpected '%s': %s takes one %s, and that is '%s'", word, command->name,
                        command->positional, arguments->positional);
    if (arguments->word_count == most)
        return complain(EXIT_USAGE, "unexpected '%s': %s takes at most %zu of %s", word, command->name, most,
                        command->positional);
    arguments->words[arguments->word_count++] = word;
    arguments->positional = arguments->words[0];
    return 0;
}

/* Help is given whatever else is wrong with the line. */
static bool asks_help(int count, char **words) {
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) return true;
    return false;
}

int arguments_parse(struct arguments *arguments, const struct command *command, int count, char **words) {
    struct parser parser = {.arguments = arguments, .words = words, .count = count};
    *arguments = (struct arguments){.command = command, .help = asks_help(count, words)};
    if (arguments->help) return 0;
    arguments->given = calloc((size_t)count + 1, sizeof *arguments->given);
    arguments->words = calloc((size_t)count + 1, sizeof *arguments->words);
    if (!arguments->given || !arguments->words) return report_memory();
    option_table(command, &parser.table);
    bool ended = false;
    int code = 0;
    while (!code && parser.next < count) {
        const char *word = words[parser.next++];
        if (!ended && strcmp(word, "--") == 0)
            ended = true;
        else if (!ended && word[0] == '-' && word[1])
            code = take_option(&parser, word);
        else
            code = take_positional(arguments, word);
    }
    if (!code && command->positional_needed && !arguments->positional)
        code =
            complain(EXIT_USAGE, "%s is missing: clearhead %s %s", command->positional, command->name, command->usage);
    return code;
}

void arguments_free(struct arguments *arguments) {
    free(arguments->given);
    free(arguments->words);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static const struct given *find(const struct arguments *arguments, const char *name) {
    for (size_t i = arguments->count; i > 0; i--)
        if (strcmp(arguments->given[i - 1].row->name, name) == 0) return &arguments->given[i - 1];
    return NULL;
}

bool arguments_has(const struct arguments *arguments, const char *name) {
    return find(arguments, name) != NULL;
}

const char *arguments_value(const struct arguments *arguments, const char *name) {
    const struct given *given = find(arguments, name);
    if (given) return given->value;
    for (const ch_option *row = arguments->command->options; row && row->name; row++)
        if (strcmp(row->name, name) == 0) return row->default_value;
    return NULL;
}

bool arguments_number(const struct arguments *arguments, const char *name, int least, int most, int *number) {
    const char *text = arguments_value(arguments, name);
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most) {
        if (least == most)
            complain(EXIT_USAGE, "--%s takes %d and nothing else here, not '%s'", name, least, text);
        else
            complain(EXIT_USAGE, "--%s takes a whole number from %d to %d, not '%s'", name, least, most, text);
        return false;
    }
    *number = (int)value;
    return true;
}

bool arguments_real(const struct arguments *arguments, const char *name, double *number) {
    const char *text = arguments_value(arguments, name);
    char *end;
    *number = strtod(text, &end);
    if (end != text && !*end) return true;
    complain(EXIT_USAGE, "--%s takes a number, not '%s'", name, text);
    return false;
}

size_t most_tokens(size_t bytes) {
    return bytes / 2 + 1;
}

int arguments_encode(const ch_vocab *vocab, const char *text, int **tokens, size_t *count, ch_error *error) {
    size_t length = strlen(text);
    *tokens = NULL;
    if (ch_vocab_encode_masked(vocab, text, length, NULL, 0, count, error)) return EXIT_USAGE;
    *tokens = calloc(*count + 1, sizeof **tokens);
    if (!*tokens) return report_memory();
    return ch_vocab_encode_masked(vocab, text, length, *tokens, *count, count, error) ? EXIT_USAGE : EXIT_DONE;
}

int arguments_tokens(const struct arguments *arguments, const char *name, const ch_vocab *vocab, size_t least,
                     size_t most, int **tokens, size_t *count) {
    const char *text = arguments_value(arguments, name);
    ch_error error;
    int code = arguments_encode(vocab, text, tokens, count, &error);
    if (code) return code == EXIT_USAGE ? complain(code, "--%s: %s", name, error.message) : code;
    if (*count == 0 && least > 0) return complain(EXIT_USAGE, "--%s is empty; expected at least one token", name);
    if (*count < least || *count > most)
        return complain(EXIT_USAGE, "--%s: expected %zu to %zu tokens, found %zu", name, least, most, *count);
    return 0;
}

static ch_status recipe_fill(const struct arguments *arguments, ch_recipe *recipe, ch_error *error) {
    const char *file = arguments_value(arguments, "recipe");
    ch_status status = file ? ch_recipe_read(recipe, file, error) : CH_OK;
    for (size_t i = 0; i < arguments->count && !status; i++) {
        const struct given *given = &arguments->given[i];
        if (is_of_recipes(given->row))
            status = ch_recipe_set(recipe, given->row->name, given->value ? given->value : "on", error);
    }
    return status;
}

ch_status arguments_recipe(const struct arguments *arguments, ch_recipe **recipe, ch_error *error) {
    ch_status status = ch_recipe_new(recipe, error);
    if (status) return status;
    status = recipe_fill(arguments, *recipe, error);
    if (!status) return CH_OK;
    ch_recipe_free(*recipe);
    *recipe = NULL;
    return status;
}

size_t arguments_recipe_names(const struct arguments *arguments, const char **names, size_t capacity) {
    size_t count = 0;
    for (size_t i = 0; i < arguments->count && count < capacity; i++)
        if (is_of_recipes(arguments->given[i].row)) names[count++] = arguments->given[i].row->name;
    return count;
}
