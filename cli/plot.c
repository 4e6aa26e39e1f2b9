/* plot: what is worth seeing of a recipe, of runs and of a model, drawn into a file or small onto the terminal. */
#include "command.h"
#include "figure.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

enum { MOST_RUNS = 64 };

/* A kind of plot: what it is called, how many words it takes behind its name, and which of the options below. */
struct plot {
    const char *name, *takes;
    size_t least, most;
    const char *const *options; /* ended by NULL */
    int (*make)(const struct arguments *arguments, ch_figure **figure);
};

/* ---- the kinds --------------------------------------------------------------------------------- */

static int make_positions(const struct arguments *arguments, ch_figure **figure) {
    ch_recipe *recipe;
    ch_error error;
    if (arguments_recipe(arguments, &recipe, &error)) return report(NULL, &error);
    int code = ch_figure_positions(recipe, figure, &error) ? report(NULL, &error) : EXIT_DONE;
    ch_recipe_free(recipe);
    return code;
}

static int make_training(const struct arguments *arguments, ch_figure **figure) {
    ch_error error;
    ch_training_view view = {.layers = arguments_has(arguments, "layers")};
    return ch_figure_training(arguments->words + 1, arguments->word_count - 1, &view, figure, &error)
               ? report(NULL, &error)
               : EXIT_DONE;
}

static int make_weights(const struct arguments *arguments, ch_figure **figure) {
    ch_model *model;
    ch_error error;
    int code = model_open_path(arguments, arguments->words[1], &model);
    if (!code && ch_figure_weights(model, figure, &error)) code = report(NULL, &error);
    ch_model_free(model);
    return code;
}

/* Options of the recipe that say what a table of positions is. */
#define POSITION_OPTIONS "d-model", "d-head", "max-positions", "position", "rope-base", "rope-scaling", "rope-factor"

static const char *const of_positions[] = {"recipe", POSITION_OPTIONS, NULL};
static const char *const of_training[] = {"layers", NULL};
static const char *const of_weights[] = {"heads", NULL};
static const char *const of_every[] = {"out", "width", "colour", "json", "help", NULL};

static const struct plot plots[] = {
    {"positions", "no argument", 0, 0, of_positions, make_positions},
    {"training", "one RUN or more", 1, MOST_RUNS, of_training, make_training},
    {"weights", "one MODEL", 1, 1, of_weights, make_weights},
};

enum { PLOTS = sizeof plots / sizeof *plots };

const char *plot_name(size_t i) {
    return i < PLOTS ? plots[i].name : NULL;
}

static const struct plot *plot_find(const char *name) {
    const char *names[PLOTS];
    char list[128] = "", near[64] = "";
    for (size_t i = 0, used = 0; i < PLOTS; i++) {
        names[i] = plots[i].name;
        if (strcmp(name, names[i]) == 0) return &plots[i];
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    int nearest = words_nearest(name, names, PLOTS);
    if (nearest >= 0) snprintf(near, sizeof near, "did you mean '%s'? ", names[nearest]);
    complain(EXIT_USAGE, "unknown plot '%s'; %sthe plots are %s", name, near, list);
    return NULL;
}

/* ---- the command ------------------------------------------------------------------------------- */

static bool listed(const char *const *names, const char *name) {
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* Every kind takes its own words and options; others would be a misunderstanding. */
static int check(const struct arguments *arguments, const struct plot *plot) {
    size_t count = arguments->word_count - 1;
    if (count < plot->least || count > plot->most)
        return complain(EXIT_USAGE, "plot %s takes %s, found %zu", plot->name, plot->takes, count);
    for (size_t i = 0; i < arguments->count; i++) {
        const char *name = arguments->given[i].row->name;
        if (!listed(of_every, name) && !listed(plot->options, name))
            return complain(EXIT_USAGE, "--%s is not an option of `plot %s`", name, plot->name);
    }
    return EXIT_DONE;
}

static int show(const struct arguments *arguments, const ch_figure *figure, ch_colours colours) {
    int code = figure_save(arguments, figure);
    if (!code && arguments_has(arguments, "json")) return figure_json(figure);
    return code || arguments_has(arguments, "out") ? code : figure_text(figure, colours);
}

static int run(const struct arguments *arguments) {
    const struct plot *plot = plot_find(arguments->positional);
    ch_figure *figure = NULL;
    ch_colours colours;
    if (!plot) return EXIT_USAGE;
    int code = check(arguments, plot);
    if (!code) code = figure_options(arguments, &colours);
    if (!code) code = plot->make(arguments, &figure);
    if (!code) code = show(arguments, figure, colours);
    ch_figure_free(figure);
    return code;
}

static const ch_option options[] = {
    FIGURE_OUT("draw a picture instead of text"),
    FIGURE_WIDTH,
    FIGURE_COLOUR,
    {"layers", NULL, NULL, "training: gradient and update norms of each layer, of runs with --log-gradients", NULL},
    {"heads", "N", "0", "weights: heads, for a file that does not say; 0: as the file says", NULL},
    {"recipe", "FILE", NULL, "positions: a JSON file of the options below; the command line wins over it", NULL},
    {0},
};
static const char *const recipe[] = {POSITION_OPTIONS, NULL};

const struct command command_plot = {
    .name = "plot",
    .usage = "positions | training RUN... | weights MODEL [options]",
    .help = "draw positions, the course of runs, or a model's weights",
    .about = "positions  the table that tells a model where a token stands, as a map and as lines\n"
             "training   loss, gradient norm, learning rate and validation loss of one run or several\n"
             "weights    how the values of each tensor are spread\n"
             "RUN is a run folder. " MODEL_ABOUT "With --out there is a picture; without, small, text.\n",
    .example = "clearhead plot positions --d-model 64 --max-positions 64 --out positions.png\n"
               "clearhead plot training runs/reverse\n"
               "clearhead plot weights runs/reverse --out weights.pdf --width 1200",
    .positional = "PLOT",
    .positional_needed = true,
    .most_positionals = MOST_RUNS + 1,
    .options = options,
    .recipe = recipe,
    .run = run,
};
