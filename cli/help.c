/* help [COMMAND]; and --help anywhere. */
#include "help.h"
#include "completion.h"
#include "manual.h"
#include "options.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

const struct exit_code exit_codes[] = {
    {"0", "done"},
    {"1", "failed: a file, a disk, a value, a check, a comparison, a reader of the output that went away"},
    {"2", "wrong usage: an option, a name or an argument"},
    {"130", "SIGINT (Ctrl-C) stopped train, which wrote a checkpoint, or generate; 143: SIGTERM did"},
    {0},
};

const char help_example[] = "clearhead train reverse --out runs/reverse\n"
                            "echo \"3 1 4 1 5\" | clearhead decode runs/reverse";
const char help_streams[] = "Data goes to standard output, talk to standard error. Every command has --json.";

static void put_exit_codes(void) {
    out("\nExit codes:\n");
    for (const struct exit_code *row = exit_codes; row->code; row++) out("  %-4s %s\n", row->code, row->meaning);
}

/* Lines, indented. */
static void put_lines(const char *text) {
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        out("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void help_default(const ch_option *row, char text[HELP_DEFAULT]) {
    bool has = row->default_value && *row->default_value;
    snprintf(text, HELP_DEFAULT, has ? " (default %s)" : "%s", has ? row->default_value : "");
}

const char *help_group(const ch_option *row) {
    return row->group ? row->group : "options";
}

int help_of_all(void) {
    out("clearhead %s: transformers you can see into\n\n"
        "Usage: clearhead COMMAND [arguments]\n\nCommands:\n",
        ch_version());
    for (size_t i = 0; command_row(i); i++) out("  %-9s %s\n", command_row(i)->name, command_row(i)->help);
    out("\n`clearhead help COMMAND` shows what a command takes; `clearhead --version` says which this is.\n%s\n",
        help_streams);
    put_exit_codes();
    out("\nExample:\n");
    put_lines(help_example);
    return out_flush() ? EXIT_DONE : EXIT_FAILED;
}

static void put_option(const ch_option *row) {
    char left[96], right[HELP_DEFAULT];
    snprintf(left, sizeof left, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
    help_default(row, right);
    out("  %-26s %s%s\n", left, row->help, right);
}

static void put_options(const struct command *command) {
    struct option_table table;
    option_table(command, &table);
    const char *group = "";
    for (size_t i = 0; i < table.count; i++) {
        const char *its = help_group(table.row[i]);
        if (strcmp(its, group) != 0) out("\n%c%s:\n", (its[0] & ~0x20), its + 1);
        group = its;
        put_option(table.row[i]);
    }
}

int help_of_command(const struct command *command) {
    out("Usage: clearhead %s %s\n\n%s.\n", command->name, command->usage, command->help);
    if (command->about) out("\n%s", command->about);
    put_options(command);
    put_exit_codes();
    out("\nExample:\n");
    put_lines(command->example);
    return out_flush() ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the same as JSON ------------------------------------------------------------------------- */

static json_t *option_object(const ch_option *row) {
    return json_pack("{s:s, s:s?, s:s?, s:s}", "name", row->name, "value", row->value, "default", row->default_value,
                     "help", row->help);
}

static json_t *command_object(const struct command *command) {
    struct option_table table;
    option_table(command, &table);
    json_t *options = json_array();
    for (size_t i = 0; i < table.count; i++) json_array_append_new(options, option_object(table.row[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", command->name, "usage", command->usage, "help", command->help,
                     "example", command->example, "options", options);
}

static int help_as_json(const struct command *only) {
    json_t *commands = json_array();
    for (size_t i = 0; command_row(i); i++)
        if (!only || only == command_row(i)) json_array_append_new(commands, command_object(command_row(i)));
    return out_json(json_pack("{s:s, s:o}", "version", ch_version(), "commands", commands)) ? EXIT_DONE : EXIT_FAILED;
}

static int run(const struct arguments *arguments) {
    const struct command *command = arguments->positional ? command_find(arguments->positional) : NULL;
    if (arguments->positional && !command) return EXIT_USAGE;
    const char *shell = arguments_value(arguments, "completion");
    if (shell) return completion_write(shell);
    if (arguments_has(arguments, "man")) return command ? manual_of_command(command) : manual_of_all();
    if (arguments_has(arguments, "json")) return help_as_json(command);
    return command ? help_of_command(command) : help_of_all();
}

static const ch_option options[] = {
    {"man", NULL, NULL, "write it as a manual page", NULL},
    {"completion", "{bash,zsh,fish}", NULL, "write what completes the command's words in that shell", NULL},
    {0},
};

const struct command command_help = {
    .name = "help",
    .usage = "[COMMAND] [options]",
    .help = "show the commands, or what one of them takes",
    .about = "With --man and --completion it writes what `cmake --install` puts where man and the shells look.\n",
    .example = "clearhead help train\nclearhead help train --man | man -l -\n"
               "eval \"$(clearhead help --completion bash)\"",
    .positional = "COMMAND",
    .options = options,
    .run = run,
};
