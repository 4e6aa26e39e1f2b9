/*
 * Manual pages: what --help says, in the language of man(7). Text from the tables is escaped, so that roff sees no
 * request in it, and minus, quotes and grave come out as the characters that a person may copy into a shell.
 */
#include "manual.h"
#include "help.h"
#include "options.h"
#include "output.h"

#include <ctype.h>
#include <string.h>

/* ---- roff -------------------------------------------------------------------------------------- */

static void put_letter(char letter) {
    switch (letter) {
    case '\\':
        out("\\e");
        break;
    case '-':
        out("\\-");
        break;
    case '\'':
        out("\\(aq");
        break;
    case '`':
        out("\\(ga");
        break;
    case '^':
        out("\\(ha");
        break;
    case '~':
        out("\\(ti");
        break;
    default:
        out("%c", letter);
    }
}

/* So many bytes; a dot at the start of a line would be a request. */
static void put(const char *text, size_t length) {
    if (length && text[0] == '.') out("\\&");
    for (size_t i = 0; i < length; i++) put_letter(text[i]);
}

static void put_text(const char *text) {
    put(text, strlen(text));
}

static void put_in(const char *font, const char *text) {
    out("\\f%s", font);
    put_text(text);
    out("\\fR");
}

/* ---- paragraphs -------------------------------------------------------------------------------- */

/* A line of a table in a text has two blanks in a row between what it names and what it says of it. */
static bool put_item(const char *line, size_t length) {
    while (length && *line == ' ') line++, length--;
    for (size_t gap = 0; gap + 1 < length; gap++) {
        if (line[gap] != ' ' || line[gap + 1] != ' ') continue;
        size_t text = gap;
        while (text < length && line[text] == ' ') text++;
        out(".TP\n.B ");
        put(line, gap);
        out("\n");
        put(line + text, length - text);
        out("\n");
        return true;
    }
    return false;
}

/* Lines that flow into each other, and tables among them. */
static void put_paragraphs(const char *text) {
    bool apart = true; /* the next line does not go on with what is above it */
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        bool item = put_item(line, length);
        if (!item) {
            if (apart) out(".PP\n");
            put(line, length);
            out("\n");
        }
        apart = item;
        line += length + (line[length] == '\n');
    }
}

/* Lines as they stand. */
static void put_lines(const char *text) {
    out(".nf\n");
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        put(line, length);
        out("\n");
        line += length + (line[length] == '\n');
    }
    out(".fi\n");
}

/* ---- sections ---------------------------------------------------------------------------------- */

/* "CLEARHEAD-TRAIN"; no date, so that the same source gives the same page. */
static void put_head(const char *command, const char *help) {
    out(".TH CLEARHEAD");
    if (command) out("\\-");
    for (const char *c = command; c && *c; c++) out("%c", toupper((unsigned char)*c));
    out(" 1 \"\" \"clearhead %s\" \"User Commands\"\n.SH NAME\nclearhead", ch_version());
    if (command) out("\\-%s", command);
    out(" \\- ");
    put_text(help);
    out("\n.SH SYNOPSIS\n");
}

static void put_option(const ch_option *row) {
    char standard[HELP_DEFAULT];
    help_default(row, standard);
    out(".TP\n\\fB\\-\\-");
    put_text(row->name);
    out("\\fR");
    if (row->value) {
        out(" ");
        put_in("I", row->value);
    }
    out("\n");
    put_text(row->help);
    put_text(standard);
    out(".\n");
}

static void put_options(const struct command *command) {
    struct option_table table;
    option_table(command, &table);
    const char *group = "";
    for (size_t i = 0; i < table.count; i++) {
        const char *its = help_group(table.row[i]);
        if (i == 0) out(".SH OPTIONS\n");
        if (strcmp(its, group) != 0 && i) out(".SS %c%s\n", toupper((unsigned char)its[0]), its + 1);
        group = its;
        put_option(table.row[i]);
    }
}

static void put_exit_codes(void) {
    out(".SH EXIT STATUS\n");
    for (const struct exit_code *row = exit_codes; row->code; row++) {
        out(".TP\n.B %s\n", row->code);
        put_text(row->meaning);
        out(".\n");
    }
}

static void put_examples(const char *lines) {
    out(".SH EXAMPLES\n");
    put_lines(lines);
}

/* ---- pages ------------------------------------------------------------------------------------- */

int manual_of_all(void) {
    put_head(NULL, "transformers you can see into");
    out("\\fBclearhead\\fR \\fICOMMAND\\fR [\\fIarguments\\fR]\n.br\n\\fBclearhead \\-\\-help\\fR\n.br\n"
        "\\fBclearhead \\-\\-version\\fR\n"
        ".SH DESCRIPTION\nTrains, runs and opens up transformers. ");
    put_text(help_streams);
    out("\n.SH COMMANDS\n");
    for (size_t i = 0; command_row(i); i++) {
        out(".TP\n\\fBclearhead\\-%s\\fR(1)\n", command_row(i)->name);
        put_text(command_row(i)->help);
        out(".\n");
    }
    put_exit_codes();
    put_examples(help_example);
    return out_flush() ? EXIT_DONE : EXIT_FAILED;
}

int manual_of_command(const struct command *command) {
    put_head(command->name, command->help);
    out("\\fBclearhead %s\\fR ", command->name);
    put_text(command->usage);
    out("\n.SH DESCRIPTION\n");
    put_letter((char)toupper((unsigned char)command->help[0]));
    put_text(command->help + 1);
    out(".\n");
    if (command->about) put_paragraphs(command->about);
    put_options(command);
    put_exit_codes();
    put_examples(command->example);
    out(".SH SEE ALSO\n\\fBclearhead\\fR(1)\n");
    return out_flush() ? EXIT_DONE : EXIT_FAILED;
}
