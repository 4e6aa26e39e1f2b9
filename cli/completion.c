/*
 * Completion scripts: commands, options, and what may stand for a value. What a value may be follows from what help
 * calls it: {a,b} are words, the option of a family takes its variants, FILE and MODEL are files, DIR is a folder; for
 * anything else (numbers, tokens) nothing is offered.
 */
#include "completion.h"
#include "command.h"
#include "options.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

/* ---- what may stand for a value ---------------------------------------------------------------- */

enum paths { NO_PATHS, FILES, FOLDERS };

struct choices {
    char words[512]; /* separated by blanks */
    enum paths paths;
};

static const char *command_name(size_t i) {
    return command_row(i) ? command_row(i)->name : NULL;
}

static const char *stage_name(size_t i) {
    return ch_check_stage(i) ? ch_check_stage(i)->name : NULL;
}

static const char *task_name(size_t i) {
    const ch_variant *task = ch_family_variant("task", i);
    return task ? task->name : NULL;
}

static const struct meaning {
    const char *value; /* as help calls it */
    const char *(*word)(size_t i);
    enum paths paths;
} meanings[] = {
    {"TASK", task_name, NO_PATHS}, {"STAGE", stage_name, NO_PATHS}, {"COMMAND", command_name, NO_PATHS},
    {"PLOT", plot_name, FILES}, /* the RUN and the MODEL behind it */
    {"MODEL", NULL, FILES},        {"FILE", NULL, FILES},           {"DIR", NULL, FOLDERS},
};

static void add_word(struct choices *choices, const char *word, size_t length) {
    size_t used = strlen(choices->words);
    if (used + length + 2 > sizeof choices->words) return;
    snprintf(choices->words + used, sizeof choices->words - used, "%s%.*s", used ? " " : "", (int)length, word);
}

static void add_listed(struct choices *choices, const char *list) {
    for (const char *word = list + 1; *word && *word != '}';) {
        size_t length = strcspn(word, ",}");
        add_word(choices, word, length);
        word += length + (word[length] == ',');
    }
}

static struct choices choices_of(const char *value) {
    struct choices choices = {.paths = NO_PATHS};
    if (value[0] == '{') add_listed(&choices, value);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        const struct meaning *meaning = &meanings[i];
        if (strcmp(meaning->value, value) != 0) continue;
        choices.paths = meaning->paths;
        for (size_t w = 0; meaning->word && meaning->word(w); w++)
            add_word(&choices, meaning->word(w), strlen(meaning->word(w)));
    }
    return choices;
}

static struct choices choices_of_option(const ch_option *row) {
    const ch_variant *variant = ch_family_variant(row->name, 0);
    if (!variant || strcmp(row->value, "NAME") != 0) return choices_of(row->value);
    struct choices choices = {.paths = NO_PATHS};
    for (size_t i = 0; (variant = ch_family_variant(row->name, i)); i++)
        add_word(&choices, variant->name, strlen(variant->name));
    return choices;
}

/* ---- bash -------------------------------------------------------------------------------------- */

static void put_bash_names(void) {
    for (size_t i = 0; command_row(i); i++) out("%s ", command_row(i)->name);
    out("--help --version");
}

static void put_bash_choices(const struct choices *choices) {
    static const char *const paths[] = {[NO_PATHS] = "", [FILES] = " paths=-f", [FOLDERS] = " paths=-d"};
    if (choices->words[0]) out(" words='%s'", choices->words);
    out("%s ;;\n", paths[choices->paths]);
}

static void put_bash_values(const struct command *command, const struct option_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        if (!table->row[i]->value) continue;
        struct choices choices = choices_of_option(table->row[i]);
        out("        '%s --%s')", command->name, table->row[i]->name);
        put_bash_choices(&choices);
    }
}

static void put_bash_words(const struct command *command, const struct option_table *table) {
    struct choices choices = choices_of(command->positional ? command->positional : "");
    out("        %s) options='", command->name);
    for (size_t i = 0; i < table->count; i++) out("%s--%s", i ? " " : "", table->row[i]->name);
    out("'");
    put_bash_choices(&choices);
}

/* bash hands over --out=x as the three words --out, = and x. */
static const char bash_begin[] = "# clearhead: completion for bash.\n"
                                 "_clearhead() {\n"
                                 "    local at=$COMP_CWORD word=${COMP_WORDS[COMP_CWORD]} options= words= paths=\n"
                                 "    COMPREPLY=()\n"
                                 "    if [ \"$word\" = = ]; then\n"
                                 "        word=\n"
                                 "    elif [ \"$at\" -gt 2 ] && [ \"${COMP_WORDS[at - 1]}\" = = ]; then\n"
                                 "        at=$((at - 1))\n"
                                 "    fi\n"
                                 "    if [ \"$at\" -le 1 ]; then\n"
                                 "        mapfile -t COMPREPLY < <(compgen -W '";
static const char bash_values[] = "' -- \"$word\")\n"
                                  "        return\n"
                                  "    fi\n"
                                  "    case \"${COMP_WORDS[1]} ${COMP_WORDS[at - 1]}\" in\n";
static const char bash_commands[] = "        *)\n"
                                    "            case ${COMP_WORDS[1]} in\n";
static const char bash_end[] = "            esac ;;\n"
                               "    esac\n"
                               "    case $word in -*) words=$options paths= ;; esac\n"
                               "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
                               "    [ -n \"$paths\" ] || return 0\n"
                               "    compopt -o filenames 2>/dev/null\n"
                               "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen \"$paths\" -- \"$word\")\n"
                               "}\n"
                               "complete -F _clearhead clearhead\n";

static void write_bash(void) {
    struct option_table table;
    out("%s", bash_begin);
    put_bash_names();
    out("%s", bash_values);
    for (size_t i = 0; command_row(i); i++) {
        option_table(command_row(i), &table);
        put_bash_values(command_row(i), &table);
    }
    out("%s", bash_commands);
    for (size_t i = 0; command_row(i); i++) {
        option_table(command_row(i), &table);
        out("        ");
        put_bash_words(command_row(i), &table);
    }
    out("%s", bash_end);
}

/* ---- zsh --------------------------------------------------------------------------------------- */

/* The message and the action of a specification of _arguments. */
static void put_zsh_choices(const char *value, const struct choices *choices) {
    out(":%s:", value[0] == '{' ? "value" : value);
    if (choices->words[0] && choices->paths)
        out("{_alternative \"words:word:(%s)\" \"files:file:_files\"}", choices->words);
    else if (choices->words[0])
        out("(%s)", choices->words);
    else if (choices->paths)
        out("_files%s", choices->paths == FOLDERS ? " -/" : "");
    else
        out(" ");
}

/* A quote ends the quoted word, so it stands outside of it. */
static void put_zsh_help(const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            out("'\\''");
        else
            out("%s%c", strchr("[]\\", *text) ? "\\" : "", *text);
    }
}

static void put_zsh_option(const ch_option *row) {
    out(" \\\n            '--%s%s[", row->name, row->value ? "=" : "");
    put_zsh_help(row->help);
    out("]");
    if (row->value) {
        struct choices choices = choices_of_option(row);
        put_zsh_choices(row->value, &choices);
    }
    out("'");
}

static void put_zsh_command(const struct command *command) {
    struct option_table table;
    option_table(command, &table);
    out("        %s)\n            _arguments -s", command->name);
    for (size_t i = 0; i < table.count; i++) put_zsh_option(table.row[i]);
    if (command->positional) {
        struct choices choices = choices_of(command->positional);
        out(" \\\n            '%s", command->most_positionals > 1 ? "*" : "1");
        put_zsh_choices(command->positional, &choices);
        out("'");
    }
    out(" ;;\n");
}

static void write_zsh(void) {
    out("#compdef clearhead\n# clearhead: completion for zsh.\n_clearhead() {\n    local -a commands\n    "
        "commands=(\n");
    for (size_t i = 0; command_row(i); i++) {
        out("        '%s:", command_row(i)->name);
        put_zsh_help(command_row(i)->help);
        out("'\n");
    }
    out("    )\n"
        "    if (( CURRENT == 2 )); then\n"
        "        _describe command commands\n"
        "        compadd -- --help --version\n"
        "        return\n"
        "    fi\n"
        "    local command=$words[2]\n"
        "    shift words\n"
        "    (( CURRENT-- ))\n"
        "    case $command in\n");
    for (size_t i = 0; command_row(i); i++) put_zsh_command(command_row(i));
    out("    esac\n}\n"
        "if [[ $funcstack[1] = _clearhead ]]; then _clearhead \"$@\"; else compdef _clearhead clearhead; fi\n");
}

/* ---- fish -------------------------------------------------------------------------------------- */

/* Within single quotes. */
static void put_fish_help(const char *text) {
    for (; *text; text++) out("%s%c", strchr("'\\", *text) ? "\\" : "", *text);
}

static void put_fish_choices(const struct choices *choices) {
    if (choices->words[0]) out(" -a '%s'", choices->words);
    if (choices->paths == FILES) out(" -F");
    if (choices->paths == FOLDERS) out(" -a '(__fish_complete_directories)'");
}

static void put_fish_option(const struct command *command, const ch_option *row) {
    out("complete -c clearhead -n '__clearhead_is %s' -l %s -d '", command->name, row->name);
    put_fish_help(row->help);
    out("'");
    if (row->value) {
        struct choices choices = choices_of_option(row);
        out(choices.paths == FILES ? " -r" : " -x");
        put_fish_choices(&choices);
    }
    out("\n");
}

static void put_fish_command(const struct command *command) {
    struct option_table table;
    struct choices choices = choices_of(command->positional ? command->positional : "");
    option_table(command, &table);
    out("complete -c clearhead -n __clearhead_bare -a %s -d '", command->name);
    put_fish_help(command->help);
    out("'\n");
    for (size_t i = 0; i < table.count; i++) put_fish_option(command, table.row[i]);
    if (!choices.words[0] && !choices.paths) return;
    out("complete -c clearhead -n '__clearhead_is %s'", command->name);
    put_fish_choices(&choices);
    out("\n");
}

static void write_fish(void) {
    out("# clearhead: completion for fish.\n"
        "function __clearhead_bare\n    test (count (commandline -opc)) -eq 1\nend\n"
        "function __clearhead_is\n    set -l words (commandline -opc)\n"
        "    test (count $words) -gt 1; and test $words[2] = $argv[1]\nend\n"
        "complete -c clearhead -f\n"
        "complete -c clearhead -n __clearhead_bare -l help -d 'show the commands'\n"
        "complete -c clearhead -n __clearhead_bare -l version -d 'say which version this is'\n");
    for (size_t i = 0; command_row(i); i++) put_fish_command(command_row(i));
}

/* ---- shells ------------------------------------------------------------------------------------ */

int completion_write(const char *shell) {
    static const struct {
        const char *name;
        void (*write)(void);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) != 0) continue;
        shells[i].write();
        return out_flush() ? EXIT_DONE : EXIT_FAILED;
    }
    return complain(EXIT_USAGE, "--completion takes bash, zsh or fish, not '%s'", shell);
}
