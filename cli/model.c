#include "model.h"
#include "output.h"

#include <stdio.h>

int model_open_path(const struct arguments *arguments, const char *path, ch_model **model) {
    int heads = 0;
    ch_error error;
    *model = NULL;
    if (arguments_has(arguments, "heads") && !arguments_number(arguments, "heads", 0, 65536, &heads)) return EXIT_USAGE;
    return ch_model_open(path, heads, model, &error) ? report(NULL, &error) : 0;
}

int model_open(const struct arguments *arguments, ch_model **model) {
    return model_open_path(arguments, arguments->positional, model);
}

int model_refuse_sizes(const struct arguments *arguments, const char *path) {
    static const char *const sizes[] = {"symbols", "d-model", "d-ff", "layers", "max-positions"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (arguments_has(arguments, sizes[i]))
            return complain(EXIT_USAGE, "--%s and MODEL exclude each other: %s has its own sizes", sizes[i], path);
    return EXIT_DONE;
}

int model_symbols(const char *path, const ch_model *model, ch_recipe *recipe) {
    char symbols[32];
    ch_error error;
    snprintf(symbols, sizeof symbols, "%d", ch_vocab_pad(ch_model_vocab(model))); /* the first that is none */
    return ch_recipe_set(recipe, "symbols", symbols, &error) ? report(path, &error) : EXIT_DONE;
}

int model_task(const struct arguments *arguments, const char *path, const ch_model *model, ch_recipe *recipe) {
    const char *task = ch_model_get_info(model).task;
    ch_error error;
    if (arguments_has(arguments, "task")) return 0;
    if (!*task) return complain(EXIT_USAGE, "%s does not say what it was trained on: give --task", path);
    return ch_recipe_set(recipe, "task", task, &error) ? report(path, &error) : 0;
}
