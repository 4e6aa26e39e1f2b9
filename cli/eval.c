/* eval: how good a model is on freshly drawn examples. */
#include "command.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "words.h"

#include <inttypes.h>
#include <math.h>

static bool put(const struct arguments *arguments, const ch_evaluation *e, bool text) {
    if (arguments_has(arguments, "json"))
        return out_json(json_pack("{s:o, s:o, s:o, s:I, s:I}", "loss", json_number(e->loss), "bits_per_character",
                                  json_number(e->bits_per_character), "token_accuracy", json_number(e->token_accuracy),
                                  "exact", (json_int_t)e->exact, "total", (json_int_t)e->total));
    if (!isnan(e->bits_per_character) && !out("bits per character %.4f\n", e->bits_per_character)) return false;
    return out("loss %.4f\ntoken accuracy %.2f %%\n", words_plain(e->loss), 100.0 * e->token_accuracy) &&
           (text || out("exact %" PRId64 "/%" PRId64 "\n", e->exact, e->total));
}

static int evaluate(const struct arguments *arguments, const ch_model *model, ch_recipe *recipe) {
    int examples;
    if (!arguments_number(arguments, "examples", 1, 1000000, &examples)) return EXIT_USAGE;
    int code = model_task(arguments, arguments->positional, model, recipe);
    if (!code) code = model_recipe(arguments, arguments->positional, model, recipe);
    if (code) return code;
    ch_evaluation result;
    ch_error error;
    if (ch_evaluate(model, recipe, (size_t)examples, &result, &error)) return report(NULL, &error);
    return put(arguments, &result, *ch_recipe_get(recipe, "text")) && out_flush() ? EXIT_DONE : EXIT_FAILED;
}

static int run(const struct arguments *arguments) {
    ch_recipe *recipe;
    ch_error error;
    if (arguments_recipe(arguments, &recipe, &error)) return report(NULL, &error);
    ch_model *model = NULL;
    int code = model_open(arguments, &model);
    if (!code) code = evaluate(arguments, model, recipe);
    ch_model_free(model);
    ch_recipe_free(recipe);
    return code;
}

static const ch_option options[] = {
    {"examples", "N", "500", "how many fresh examples", NULL},
    {"heads", "N", "0", "heads, for a file that does not say; 0: as the file says", NULL},
    {0},
};
static const char *const recipe[] = {"task", "text", "held-out",  "min-len", "max-len",
                                     "seed", "rng",  "attention", "threads", NULL};

const struct command command_eval = {
    .name = "eval",
    .usage = "MODEL [options]",
    .help = "measure a model: loss, token accuracy and whole answers right, over fresh examples",
    .about = MODEL_ABOUT
    "The task is the one that the model was trained on, unless --task says another; of a model that learned from\n"
    "a text, all that was held out of it, unless --text names another.\n",
    .example = "clearhead eval runs/reverse",
    .positional = "MODEL",
    .positional_needed = true,
    .options = options,
    .recipe = recipe,
    .run = run,
};
