#include "figure.h"
#include "output.h"
#include "terminal.h"

enum { LEAST_WIDTH = 100, MOST_WIDTH = 20000 };

static bool width_of(const struct arguments *arguments, int *width) {
    *width = 0;
    return !arguments_has(arguments, "width") || arguments_number(arguments, "width", LEAST_WIDTH, MOST_WIDTH, width);
}

int figure_options(const struct arguments *arguments, ch_colours *colours) {
    int width;
    const char *colour = arguments_value(arguments, "colour");
    if (!terminal_colours(colour, colours))
        return complain(EXIT_USAGE, "--colour takes auto, always or never, not '%s'", colour);
    if (!width_of(arguments, &width)) return EXIT_USAGE;
    if (width && !arguments_has(arguments, "out"))
        return complain(EXIT_USAGE, "--width is that of a picture: it needs --out FILE");
    return EXIT_DONE;
}

int figure_save(const struct arguments *arguments, const ch_figure *figure) {
    int width;
    ch_error error;
    const char *path = arguments_value(arguments, "out");
    if (!path) return EXIT_DONE;
    if (!width_of(arguments, &width)) return EXIT_USAGE;
    if (ch_figure_save(figure, path, width, &error)) return report(NULL, &error);
    say("the picture is in %s", path);
    return EXIT_DONE;
}

static int put(char *text, const char *end) {
    bool written = out("%s%s", text, end) && out_flush();
    ch_string_free(text);
    return written ? EXIT_DONE : EXIT_FAILED;
}

int figure_text(const ch_figure *figure, ch_colours colours) {
    char *text;
    ch_error error;
    if (ch_figure_text(figure, colours, terminal_columns(), &text, &error)) return report(NULL, &error);
    return put(text, "");
}

int figure_json(const ch_figure *figure) {
    char *text;
    ch_error error;
    if (ch_figure_json(figure, &text, &error)) return report(NULL, &error);
    return put(text, "\n");
}
