#include "model.h"
#include "output.h"

#include <string.h>

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

/* Of what a model is made; heads may be told of a file that does not say them, and the rest changes nothing in it. */
static bool is_part(const ch_option *row) {
    static const char *const others[] = {"heads", "dropout", "attention"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(row->name, others[i]) == 0) return false;
    return strcmp(row->group, "model") == 0 || strcmp(row->name, "symbols") == 0 || strcmp(row->name, "tokens") == 0;
}

int model_refuse_parts(const struct arguments *arguments, const char *path) {
    const ch_option *row;
    for (size_t i = 0; (row = ch_recipe_option(i)); i++)
        if (is_part(row) && arguments_has(arguments, row->name))
            return complain(EXIT_USAGE, "--%s and MODEL exclude each other: %s has its own parts and sizes", row->name,
                            path);
    return EXIT_DONE;
}

/* Whether an option is the model's to say, and not the recipe's that is given beside it. */
static bool is_models(const struct arguments *arguments, const ch_option *row) {
    static const char *const data[] = {"min-len", "max-len", "init", "text", "tokens", "framing", "held-out"};
    static const char *const others[] = {"attention", "preset"};
    if (arguments_has(arguments, row->name)) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(row->name, others[i]) == 0) return false;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        if (strcmp(row->name, data[i]) == 0) return !arguments_has(arguments, "recipe");
    return strcmp(row->group, "model") == 0 || strcmp(row->name, "symbols") == 0;
}

int model_recipe(const struct arguments *arguments, const char *path, const ch_model *model, ch_recipe *recipe) {
    ch_recipe *own;
    ch_error error;
    const ch_option *row;
    if (ch_model_recipe(model, path, &own, &error)) return report(path, &error);
    ch_status status = CH_OK;
    for (size_t i = 0; !status && (row = ch_recipe_option(i)); i++)
        if (is_models(arguments, row)) status = ch_recipe_set(recipe, row->name, ch_recipe_get(own, row->name), &error);
    ch_recipe_free(own);
    return status ? report(path, &error) : EXIT_DONE;
}

int model_task(const struct arguments *arguments, const char *path, const ch_model *model, ch_recipe *recipe) {
    const char *task = ch_model_get_info(model).task;
    ch_error error;
    bool text = strcmp(task, "text") == 0;
    if (text && arguments_has(arguments, "task"))
        return complain(EXIT_USAGE, "--task and MODEL exclude each other: %s learned from a text (see --text)", path);
    if (text || arguments_has(arguments, "text") || arguments_has(arguments, "task")) return 0;
    if (!*task) return complain(EXIT_USAGE, "%s does not say what it was trained on: give --task", path);
    return ch_recipe_set(recipe, "task", task, &error) ? report(path, &error) : 0;
}
