/* clearhead: the command. It uses the library through its public header alone. */
#include "command.h"
#include "help.h"
#include "options.h"
#include "output.h"
#include "words.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
    &command_train, &command_decode,  &command_generate, &command_predict, &command_eval, &command_look, &command_check,
    &command_dump,  &command_compare, &command_plot,     &command_summary, &command_data, &command_list, &command_help,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

const struct command *command_row(size_t i) {
    return i < COMMANDS ? commands[i] : NULL;
}

const struct command *command_find(const char *name) {
    const char *names[COMMANDS];
    char list[256] = "", near[64] = "";
    for (size_t i = 0, used = 0; i < COMMANDS; i++) {
        names[i] = commands[i]->name;
        if (strcmp(name, names[i]) == 0) return commands[i];
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    int nearest = words_nearest(name, names, COMMANDS);
    if (nearest >= 0) snprintf(near, sizeof near, "did you mean '%s'? ", names[nearest]);
    complain(EXIT_USAGE, "unknown command '%s'; %sthe commands are %s", name, near, list);
    return NULL;
}

/* A standard stream that came closed would be given to the next file that is opened, and that file would then get
 * what is meant for the stream. So each is opened in the direction in which it cannot be used. */
static void occupy_standard_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            _exit(EXIT_FAILED);
}

static int run_command(const struct command *command, int count, char **words) {
    struct arguments arguments;
    int code = arguments_parse(&arguments, command, count, words);
    if (!code) code = arguments.help ? help_of_command(command) : command->run(&arguments);
    arguments_free(&arguments);
    return code;
}

static int run(int count, char **words) {
    if (count == 0) {
        say("usage: clearhead COMMAND ...");
        say("`clearhead help` lists the commands; the first to try: clearhead train reverse --out runs/reverse");
        return EXIT_USAGE;
    }
    const char *word = words[0];
    if (strcmp(word, "--version") == 0) return out("clearhead %s\n", ch_version()) ? EXIT_DONE : EXIT_FAILED;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return help_of_all();
    const struct command *command = command_find(word);
    return command ? run_command(command, count - 1, words + 1) : EXIT_USAGE;
}

int main(int count, char **words) {
    occupy_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is seen where it was written to, */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow */
    int code = run(count > 0 ? count - 1 : 0, words + 1);
    return out_close() || code ? code : EXIT_FAILED;
}
