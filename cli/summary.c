/* summary: where the parameters and the memory are. */
#include "command.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "words.h"

#include <string.h>

/* ---- text -------------------------------------------------------------------------------------- */

static int wider(int width, const char *text) {
    int length = (int)strlen(text);
    return length > width ? length : width;
}

static void put_parts(const ch_summary *summary) {
    const ch_summary_part *part;
    size_t count = ch_summary_parts(summary, &part);
    int name = wider(0, "Component"), sum = wider(0, "Arithmetic");
    char number[WORDS];
    for (size_t i = 0; i < count; i++) {
        name = wider(name, part[i].part);
        sum = wider(sum, part[i].arithmetic);
    }
    out("%-*s  %-*s  %12s\n", name, "Component", sum, "Arithmetic", "Parameters");
    for (size_t i = 0; i < count; i++) {
        words_count(part[i].parameters, number);
        out("%-*s  %-*s  %12s\n", name, part[i].part, sum, part[i].arithmetic, number);
    }
    words_count(ch_summary_total(summary), number);
    out("%-*s  %-*s  %12s\n", name, "Total", sum, "", number);
    out("\nThe feed-forward networks have %.1f %% of the parameters of all layers.\n",
        100.0 * ch_summary_ffn_share(summary));
}

static int64_t add(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Rows of one mode stand together. */
static void put_memory(const ch_summary *summary) {
    const ch_summary_memory *memory;
    size_t count = ch_summary_memories(summary, &memory);
    char amount[WORDS];
    int name = wider(0, "total");
    for (size_t i = 0; i < count; i++) name = wider(name, memory[i].part);
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || strcmp(memory[i].mode, memory[i - 1].mode) != 0;
        bool last = i + 1 == count || strcmp(memory[i].mode, memory[i + 1].mode) != 0;
        if (first) out("\nMemory for %s\n", memory[i].mode);
        total = first ? memory[i].bytes : add(total, memory[i].bytes);
        words_bytes(memory[i].bytes, amount);
        out("  %-*s  %12s\n", name, memory[i].part, amount);
        words_bytes(total, amount);
        if (last) out("  %-*s  %12s\n", name, "total", amount);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static bool put_json(const ch_summary *summary) {
    const ch_summary_part *part;
    const ch_summary_memory *memory;
    size_t part_count = ch_summary_parts(summary, &part), memory_count = ch_summary_memories(summary, &memory);
    json_t *parts = json_array(), *memories = json_array();
    for (size_t i = 0; i < part_count; i++)
        json_array_append_new(parts,
                              json_pack("{s:s, s:s, s:I, s:b}", "part", part[i].part, "arithmetic", part[i].arithmetic,
                                        "parameters", (json_int_t)part[i].parameters, "counted", (int)part[i].counted));
    for (size_t i = 0; i < memory_count; i++)
        json_array_append_new(memories, json_pack("{s:s, s:s, s:I}", "mode", memory[i].mode, "part", memory[i].part,
                                                  "bytes", (json_int_t)memory[i].bytes));
    return out_json(json_pack("{s:o, s:I, s:o, s:o}", "parts", parts, "total", (json_int_t)ch_summary_total(summary),
                              "ffn_share", json_number(ch_summary_ffn_share(summary)), "memory", memories));
}

/* ---- the command ------------------------------------------------------------------------------- */

static int summarise_model(const struct arguments *arguments, const ch_recipe *recipe, ch_summary **summary) {
    ch_model *model;
    ch_error error;
    int code = model_refuse_parts(arguments, arguments->positional);
    if (code || (code = model_open(arguments, &model))) return code;
    if (ch_summary_of_model(model, recipe, summary, &error)) code = report(NULL, &error);
    ch_model_free(model);
    return code;
}

static int summarise_recipe(const ch_recipe *recipe, ch_summary **summary) {
    ch_error error;
    return ch_summary_new(recipe, summary, &error) ? report(NULL, &error) : EXIT_DONE;
}

static int put(const struct arguments *arguments, const ch_summary *summary) {
    if (arguments_has(arguments, "json"))
        put_json(summary);
    else {
        put_parts(summary);
        put_memory(summary);
    }
    return out_flush() ? EXIT_DONE : EXIT_FAILED;
}

static int run(const struct arguments *arguments) {
    ch_recipe *recipe;
    ch_summary *summary = NULL;
    ch_error error;
    if (arguments_recipe(arguments, &recipe, &error)) return report(NULL, &error);
    int code =
        arguments->positional ? summarise_model(arguments, recipe, &summary) : summarise_recipe(recipe, &summary);
    if (!code) code = put(arguments, summary);
    ch_summary_free(summary);
    ch_recipe_free(recipe);
    return code;
}

static const ch_option options[] = {
    {"recipe", "FILE", NULL, "a JSON file of the options below; the command line wins over it", NULL},
    {0},
};

const struct command command_summary = {
    .name = "summary",
    .usage = "[MODEL] [options]",
    .help = "count parameters and memory, before anything is allocated",
    .about = MODEL_ABOUT "Without it, the sizes come from the options; with it, only the batch and the lengths do\n"
                         "(and --heads, for a file that does not say how many it has).\n",
    .example = "clearhead summary\nclearhead summary --d-model 256 --layers 4 --batch-size 400",
    .positional = "MODEL",
    .options = options,
    .recipe = every_option,
    .run = run,
};
