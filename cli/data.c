/* data: examples of a task or of a text, as a person reads them and as tensors hold them. */
#include "command.h"
#include "options.h"
#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The padded tensors, as PyTorch would hold them: decoder input and label are the target without its last and without
 * its first column. (So the end of a shorter example stands in the decoder input, over a label that is padding. Padding
 * is never computed here: see the lengths.)
 */
struct tensor {
    const char *name;
    bool of_target;
    size_t first, less; /* which column it starts with, and how many it leaves out in all */
};

static const struct tensor source = {"source", false, 0, 0}, target = {"target", true, 0, 0},
                           input = {"decoder input", true, 0, 1}, label = {"label", true, 1, 1};

static ch_sequence row_of(const ch_examples *examples, const struct tensor *tensor, size_t i) {
    return tensor->of_target ? ch_examples_target(examples, i) : ch_examples_source(examples, i);
}

static size_t columns(const ch_examples *examples, const struct tensor *tensor) {
    size_t most = 0;
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        size_t length = row_of(examples, tensor, i).length;
        if (length > most) most = length;
    }
    return most - tensor->less;
}

static int element(const ch_examples *examples, const struct tensor *tensor, size_t i, size_t column) {
    ch_sequence row = row_of(examples, tensor, i);
    size_t at = tensor->first + column;
    return at < row.length ? row.tokens[at] : ch_vocab_pad(ch_examples_vocab(examples));
}

/* ---- as a person reads them --------------------------------------------------------------------- */

static int text_width(const ch_vocab *vocab, ch_sequence sequence) {
    int width = 0;
    for (size_t i = 0; i < sequence.length; i++)
        width += (int)strlen(ch_vocab_text(vocab, sequence.tokens[i])) + (i > 0);
    return width;
}

/* Of a text: what is read and predicted, or what is read and what it hides. */
static void put_texts(const ch_examples *examples) {
    const ch_vocab *vocab = ch_examples_vocab(examples);
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        ch_sequence from = ch_examples_source(examples, i), to = ch_examples_target(examples, i);
        out(from.length ? "reads " : "text ");
        if (from.length)
            out_text(vocab, from.tokens, from.length);
        else
            out_text(vocab, to.tokens, to.length);
        if (from.length) out("   hidden");
        for (size_t t = 0; t < to.length && from.length; t++)
            if (to.tokens[t] >= 0) out(" %s", ch_vocab_text(vocab, to.tokens[t]));
        out("\n");
    }
}

static void put_pairs(const ch_examples *examples) {
    const ch_vocab *vocab = ch_examples_vocab(examples);
    int widest = 0;
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        int width = text_width(vocab, ch_examples_source(examples, i));
        if (width > widest) widest = width;
    }
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        ch_sequence from = ch_examples_source(examples, i), to = ch_examples_target(examples, i);
        const char *class = ch_examples_class(examples, i);
        out("source ");
        out_tokens(vocab, from.tokens, from.length);
        out("%*s   %s ", widest - text_width(vocab, from), "", class ? "->" : "target");
        if (class)
            out("%s", class);
        else
            out_tokens(vocab, to.tokens, to.length);
        out("\n");
    }
}

/* The lesson's table: each position sees the tokens up to itself and must predict the next one. */
static void put_shift(const ch_examples *examples) {
    const ch_vocab *vocab = ch_examples_vocab(examples);
    ch_sequence whole = ch_examples_target(examples, 0);
    size_t count = whole.length - 1;
    out("\nThe first example, position by position\n%-16s", "position");
    for (size_t i = 0; i < count; i++) out(" %5zu", i);
    out("\n%-16s", "decoder input");
    for (size_t i = 0; i < count; i++) out(" %5s", ch_vocab_text(vocab, whole.tokens[i]));
    out("\n%-16s", "label to predict");
    for (size_t i = 0; i < count; i++) out(" %5s", ch_vocab_text(vocab, whole.tokens[i + 1]));
    out("\n");
}

/* ---- as tensors hold them ------------------------------------------------------------------------ */

/* Columns of text that one number takes, the blank before it included; -1 says that there is none. */
static int number_width(const ch_examples *examples) {
    int least = snprintf(NULL, 0, " %d", -1),
        width = snprintf(NULL, 0, " %d", ch_vocab_size(ch_examples_vocab(examples)) - 1);
    return width > least ? width : least;
}

static int put_heading(const ch_examples *examples, const struct tensor *tensor, char *text, size_t size) {
    int numbers = (int)columns(examples, tensor) * number_width(examples);
    int words =
        snprintf(text, size, "%s (%zu, %zu)", tensor->name, ch_examples_count(examples), columns(examples, tensor));
    return words > numbers ? words : numbers;
}

/* Up to two tensors side by side; beside may be NULL. */
static void put_tensors(const ch_examples *examples, const struct tensor *tensor, const struct tensor *beside) {
    char heading[64], other[64] = "";
    int width = put_heading(examples, tensor, heading, sizeof heading), each = number_width(examples);
    if (beside) put_heading(examples, beside, other, sizeof other);
    if (beside)
        out("\n%-*s    %s\n", width, heading, other);
    else
        out("\n%s\n", heading);
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        size_t count = columns(examples, tensor);
        for (size_t c = 0; c < count; c++) out("%*d", each, element(examples, tensor, i, c));
        if (beside) out("%*s", width - (int)count * each + 4, "");
        for (size_t c = 0; beside && c < columns(examples, beside); c++)
            out("%*d", each, element(examples, beside, i, c));
        out("\n");
    }
}

/* What a task that asks for a class holds: one number for each example. */
static void put_classes(const ch_examples *examples) {
    out("\nclass (%zu)\n", ch_examples_count(examples));
    for (size_t i = 0; i < ch_examples_count(examples); i++) out(" %d", ch_examples_target(examples, i).tokens[0]);
    out("\n");
}

/* Hidden tokens have no input beside the source, and their target is the label, -1 where nothing is asked. */
static bool put_text_tensors(const ch_examples *examples) {
    bool hidden = ch_examples_source(examples, 0).length > 0;
    put_texts(examples);
    if (hidden) put_tensors(examples, &source, NULL);
    put_tensors(examples, &target, NULL);
    if (!hidden) put_tensors(examples, &input, &label);
    return out_flush();
}

static bool put_text(const ch_examples *examples) {
    if (ch_vocab_is_text(ch_examples_vocab(examples))) return put_text_tensors(examples);
    put_pairs(examples);
    put_tensors(examples, &source, NULL);
    if (ch_examples_class(examples, 0)) {
        put_classes(examples);
        return out_flush();
    }
    put_tensors(examples, &target, NULL);
    put_tensors(examples, &input, &label);
    put_shift(examples);
    return out_flush();
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static json_t *tensor_array(const ch_examples *examples, const struct tensor *tensor) {
    size_t count = columns(examples, tensor);
    json_t *rows = json_array();
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        json_t *row = json_array();
        for (size_t c = 0; c < count; c++) json_array_append_new(row, json_integer(element(examples, tensor, i, c)));
        json_array_append_new(rows, row);
    }
    return rows;
}

static bool put_json_classes(const ch_examples *examples) {
    json_t *pairs = json_array(), *classes = json_array();
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        ch_sequence from = ch_examples_source(examples, i);
        int class = ch_examples_target(examples, i).tokens[0];
        json_array_append_new(pairs, json_pack("{s:o, s:i, s:s}", "source", json_tokens(from.tokens, from.length),
                                               "class", class, "name", ch_examples_class(examples, i)));
        json_array_append_new(classes, json_integer(class));
    }
    return out_json(json_pack("{s:o, s:i, s:o, s:o}", "examples", pairs, "pad",
                              ch_vocab_pad(ch_examples_vocab(examples)), "source", tensor_array(examples, &source),
                              "class", classes)) &&
           out_flush();
}

static bool put_json_text(const ch_examples *examples) {
    bool hidden = ch_examples_source(examples, 0).length > 0;
    json_t *object = json_pack("{s:i, s:o}", "pad", ch_vocab_pad(ch_examples_vocab(examples)), "target",
                               tensor_array(examples, &target));
    json_object_set_new(object, hidden ? "source" : "decoder_input", tensor_array(examples, hidden ? &source : &input));
    if (!hidden) json_object_set_new(object, "label", tensor_array(examples, &label));
    return out_json(object) && out_flush();
}

static bool put_json(const ch_examples *examples) {
    if (ch_vocab_is_text(ch_examples_vocab(examples))) return put_json_text(examples);
    if (ch_examples_class(examples, 0)) return put_json_classes(examples);
    json_t *pairs = json_array();
    for (size_t i = 0; i < ch_examples_count(examples); i++) {
        ch_sequence from = ch_examples_source(examples, i), to = ch_examples_target(examples, i);
        json_array_append_new(pairs, json_pack("{s:o, s:o}", "source", json_tokens(from.tokens, from.length), "target",
                                               json_tokens(to.tokens, to.length)));
    }
    return out_json(json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "examples", pairs, "pad",
                              ch_vocab_pad(ch_examples_vocab(examples)), "source", tensor_array(examples, &source),
                              "target", tensor_array(examples, &target), "decoder_input",
                              tensor_array(examples, &input), "label", tensor_array(examples, &label))) &&
           out_flush();
}

/* ---- the command --------------------------------------------------------------------------------- */

static int show(const struct arguments *arguments, ch_recipe *recipe) {
    ch_examples *examples;
    ch_error error;
    int count;
    if (!arguments_number(arguments, "show", 1, 10000, &count)) return EXIT_USAGE;
    bool text = arguments_has(arguments, "text");
    if (text == (arguments->positional != NULL))
        return text ? complain(EXIT_USAGE, "TASK and --text exclude each other: examples come from one of them")
                    : complain(EXIT_USAGE, "TASK is missing: clearhead data TASK, or data --text FILE");
    if ((!text && ch_recipe_set(recipe, "task", arguments->positional, &error)) ||
        ch_examples_new(recipe, (size_t)count, &examples, &error))
        return report(NULL, &error);
    bool written = arguments_has(arguments, "json") ? put_json(examples) : put_text(examples);
    ch_examples_free(examples);
    return written ? EXIT_DONE : EXIT_FAILED;
}

static int run(const struct arguments *arguments) {
    ch_recipe *recipe;
    ch_error error;
    if (arguments_recipe(arguments, &recipe, &error)) return report(NULL, &error);
    int code = show(arguments, recipe);
    ch_recipe_free(recipe);
    return code;
}

static const ch_option options[] = {
    {"show", "N", "5", "how many examples", NULL},
    {0},
};
static const char *const recipe[] = {"text",    "tokens",  "framing",       "held-out", "arch", "symbols",
                                     "min-len", "max-len", "max-positions", "seed",     "rng",  NULL};

const struct command command_data = {
    .name = "data",
    .usage = "TASK|--text FILE [options]",
    .help = "show examples of a task or a text, as text and as padded tensors",
    .about =
        "They are the first examples that training with the same options draws. Of a text they are windows as long as\n"
        "--max-positions, or lines; with --arch encoder-only some of their tokens are hidden, and -1 stands where\n"
        "nothing is asked.\n",
    .example = "clearhead data reverse --show 5\n"
               "clearhead data --text shakespeare.txt --tokens characters --max-positions 16",
    .positional = "TASK",
    .options = options,
    .recipe = recipe,
    .run = run,
};
