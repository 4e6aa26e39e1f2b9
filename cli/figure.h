/* What commands do with a figure: --out FILE and --width, text for the terminal, JSON. */
#ifndef CLI_FIGURE_H
#define CLI_FIGURE_H

#include "options.h"

#define FIGURE_OUT(what)                                                                                               \
    { "out", "FILE", NULL, what ": .png, .pdf or .svg", NULL }
#define FIGURE_WIDTH                                                                                                   \
    { "width", "PIXELS", NULL, "width of the picture; letters and lines grow with it", NULL }
#define FIGURE_COLOUR                                                                                                  \
    { "colour", "{auto,always,never}", "auto", "colours; auto: on a terminal, unless NO_COLOR is set", NULL }

/* Checks --width and --colour before there is anything to draw. Returns 0, or the exit code after a sentence. */
int figure_options(const struct arguments *arguments, ch_colours *colours);

/* Writes the picture of --out, if there is one, and says where it is. */
int figure_save(const struct arguments *arguments, const ch_figure *figure);
/* To standard output. */
int figure_text(const ch_figure *figure, ch_colours colours);
int figure_json(const ch_figure *figure);

#endif
