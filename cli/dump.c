/* dump: every intermediate of one pass, by name, as a list, as numbers, or into a file that compare reads. */
#include "command.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "tensors.h"
#include "words.h"

#include <stdlib.h>
#include <string.h>

/* ---- one tensor ---------------------------------------------------------------------------------- */

/* The elements of tensor i; NULL after a sentence if memory runs out. */
static double *values_of(const ch_tensors *tensors, size_t i) {
    ch_tensor tensor;
    ch_tensors_get(tensors, i, &tensor);
    double *value = calloc(tensor_count(&tensor) + 1, sizeof *value);
    if (value)
        ch_tensors_values(tensors, i, value);
    else
        report_memory();
    return value;
}

static json_t *tensor_object(const ch_tensor *tensor, const double *value) {
    struct tensor_figures f = tensor_figures(value, tensor_count(tensor));
    return json_pack("{s:o, s:o, s:o, s:o}", "name", json_words(tensor->name), "shape", tensor_shape_json(tensor),
                     "mean", json_number(f.mean), "deviation", json_number(f.deviation));
}

static bool put_tensor(const ch_tensor *tensor, const double *value) {
    char shape[TENSOR_SHAPE];
    struct tensor_figures f = tensor_figures(value, tensor_count(tensor));
    tensor_shape(tensor, shape);
    out("%s %s  mean %.6g  deviation %.6g\n", tensor->name, shape, words_plain(f.mean), words_plain(f.deviation));
    return tensor_put(tensor, value);
}

static int show(const ch_tensors *tensors, const char *name, bool json) {
    ch_tensor tensor;
    size_t i = 0;
    ch_tensors_find(tensors, name, &tensor, NULL);
    for (ch_tensor other; ch_tensors_get(tensors, i, &other) && strcmp(other.name, name) != 0;) i++;
    double *value = values_of(tensors, i);
    if (!value) return EXIT_FAILED;
    bool written;
    if (json) {
        json_t *object = tensor_object(&tensor, value);
        json_object_set_new(object, "values", tensor_json(&tensor, value));
        written = out_json(object);
    } else
        written = put_tensor(&tensor, value);
    free(value);
    return written && out_flush() ? EXIT_DONE : EXIT_FAILED;
}

/* ---- all of them --------------------------------------------------------------------------------- */

static int wider(int width, const char *text) {
    int length = (int)strlen(text);
    return length > width ? length : width;
}

static bool put_line(const ch_tensors *tensors, size_t i, int name, int shape) {
    ch_tensor tensor;
    char text[TENSOR_SHAPE];
    ch_tensors_get(tensors, i, &tensor);
    double *value = values_of(tensors, i);
    if (!value) return false;
    struct tensor_figures f = tensor_figures(value, tensor_count(&tensor));
    free(value);
    tensor_shape(&tensor, text);
    return out("%-*s  %-*s  mean %11.4g  deviation %11.4g\n", name, tensor.name, shape, text, words_plain(f.mean),
               words_plain(f.deviation));
}

static bool put_list(const ch_tensors *tensors) {
    ch_tensor tensor;
    char text[TENSOR_SHAPE];
    int name = 0, shape = 0;
    for (size_t i = 0; ch_tensors_get(tensors, i, &tensor); i++) {
        tensor_shape(&tensor, text);
        name = wider(name, tensor.name);
        shape = wider(shape, text);
    }
    bool written = true;
    for (size_t i = 0; i < ch_tensors_count(tensors) && written; i++) written = put_line(tensors, i, name, shape);
    return written;
}

static bool put_list_json(const ch_tensors *tensors) {
    json_t *list = json_array();
    ch_tensor tensor;
    for (size_t i = 0; ch_tensors_get(tensors, i, &tensor); i++) {
        double *value = values_of(tensors, i);
        if (value) json_array_append_new(list, tensor_object(&tensor, value));
        free(value);
    }
    return out_json(json_pack("{s:o}", "tensors", list));
}

static int save(const ch_tensors *tensors, const char *path, bool json) {
    ch_error error;
    if (ch_tensors_save(tensors, path, &error)) return report(NULL, &error);
    say("%zu tensors are in %s", ch_tensors_count(tensors), path);
    if (!json) return EXIT_DONE;
    json_int_t count = (json_int_t)ch_tensors_count(tensors);
    return out_json(json_pack("{s:o, s:I}", "file", json_words(path), "tensors", count)) && out_flush() ? EXIT_DONE
                                                                                                        : EXIT_FAILED;
}

static int put(const struct arguments *arguments, const ch_tensors *tensors) {
    const char *path = arguments_value(arguments, "out"), *name = arguments_value(arguments, "show");
    bool json = arguments_has(arguments, "json");
    int code = EXIT_DONE;
    ch_tensor shown;
    ch_error error;
    if (name && ch_tensors_find(tensors, name, &shown, &error)) return report("--show", &error);
    if (path) code = save(tensors, path, json && !name);
    if (!code && name) code = show(tensors, name, json);
    if (path || name) return code;
    return (json ? put_list_json(tensors) : put_list(tensors)) && out_flush() ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the pass ------------------------------------------------------------------------------------ */

/* The model's own greedy answer, for the caller to free. */
static int decode(const ch_model *model, ch_sequence source, int **tokens, size_t *count) {
    ch_decoder *decoder = NULL;
    ch_answer answer;
    ch_error error;
    const ch_vocab *vocab = ch_model_vocab(model);
    if (ch_decoder_new(model, NULL, &decoder, &error)) return report(NULL, &error);
    int code = ch_decoder_run(decoder, &source, 1, &answer, &error) ? report(NULL, &error) : EXIT_DONE;
    if (!code && !(*tokens = calloc(answer.length + 1, sizeof **tokens))) code = report_memory();
    for (size_t i = 0; !code && i < answer.length; i++) {
        int token = (*tokens)[i] = answer.tokens[i];
        if (token == ch_vocab_pad(vocab) || token == ch_vocab_sos(vocab))
            code = complain(EXIT_FAILED, "the model's own answer holds %s, which no target does: give --target",
                            ch_vocab_text(vocab, token));
    }
    if (!code) *count = answer.length;
    ch_decoder_free(decoder);
    return code;
}

static int dump(const struct arguments *arguments, const ch_model *model, ch_sequence source, ch_sequence target) {
    ch_dump_options options = {.explicit_core = strcmp(arguments_value(arguments, "attention"), "explicit") == 0,
                               .backward = arguments_has(arguments, "backward")};
    ch_tensors *tensors = NULL;
    ch_error error;
    if (ch_dump(model, source, target, &options, &tensors, &error)) return report(NULL, &error);
    int code = put(arguments, tensors);
    ch_tensors_free(tensors);
    return code;
}

/* A class, of a model that tells classes. */
static int class_target(const struct arguments *arguments, int classes, int **tokens, size_t *count) {
    if (!arguments_has(arguments, "target"))
        return complain(EXIT_USAGE, "--target is missing: the class of the source, from 0 to %d", classes - 1);
    *tokens = calloc(1, sizeof **tokens);
    *count = 1;
    if (!*tokens) return report_memory();
    return arguments_number(arguments, "target", 0, classes - 1, *tokens) ? EXIT_DONE : EXIT_USAGE;
}

static int target_of(const struct arguments *arguments, const ch_model *model, ch_sequence source, int **tokens,
                     size_t *count) {
    ch_model_info info = ch_model_get_info(model);
    if (info.classes) return class_target(arguments, info.classes, tokens, count);
    if (!arguments_has(arguments, "target")) {
        if (ch_vocab_mask(ch_model_vocab(model)) >= 0)
            return complain(EXIT_USAGE, "--target is missing: the tokens of the source without <mask>");
        return ch_vocab_is_text(ch_model_vocab(model)) ? EXIT_DONE : decode(model, source, tokens, count);
    }
    bool hidden = ch_vocab_mask(ch_model_vocab(model)) >= 0;
    size_t most = (size_t)info.longest - !hidden; /* a decoder reads <sos> besides */
    return arguments_tokens(arguments, "target", ch_model_vocab(model), 0, most, tokens, count);
}

static int run_on(const struct arguments *arguments, const ch_model *model) {
    int *source = NULL, *target = NULL;
    size_t sources = 0, targets = 0, positions = (size_t)ch_model_get_info(model).longest;
    int code = arguments_tokens(arguments, "source", ch_model_vocab(model), 1, positions, &source, &sources);
    if (!code) code = target_of(arguments, model, (ch_sequence){source, sources}, &target, &targets);
    if (!code) code = dump(arguments, model, (ch_sequence){source, sources}, (ch_sequence){target, targets});
    free(source);
    free(target);
    return code;
}

static int run(const struct arguments *arguments) {
    static const char gradient[] = "grad.";
    const char *attention = arguments_value(arguments, "attention"), *name = arguments_value(arguments, "show");
    if (!arguments_value(arguments, "source"))
        return complain(EXIT_USAGE, "--source is missing: the tokens to read, as --source \"7 2 9 0 4 6\"");
    if (strcmp(attention, "fused") != 0 && strcmp(attention, "explicit") != 0)
        return complain(EXIT_USAGE, "--attention takes fused or explicit, not '%s'", attention);
    if (name && strncmp(name, gradient, strlen(gradient)) == 0 && !arguments_has(arguments, "backward"))
        return complain(EXIT_USAGE, "--show %s: there are gradients only with --backward", name);
    ch_model *model;
    int code = model_open(arguments, &model);
    if (!code) code = run_on(arguments, model);
    ch_model_free(model);
    return code;
}

static const ch_option options[] = {
    {"source", "TOKENS", NULL, "what the model reads: tokens of a task, or a text", NULL},
    {"target", "TOKENS", NULL,
     "what the decoder reads and must predict; without it, the model's own greedy answer, or the next tokens of a "
     "text. "
     "Of a classifier the class, a number from 0; of hidden tokens the source without <mask>",
     NULL},
    {"out", "FILE", NULL, "write all of them: t.safetensors", NULL},
    {"show", "NAME", NULL, "print one of them as numbers", NULL},
    {"backward", NULL, NULL, "gradients, too: grad.<site> and grad.<parameter>", NULL},
    {"attention", "{fused,explicit}", "fused", "core that computes attention", NULL},
    {"heads", "N", "0", "heads, for a file that does not say; 0: as the file says", NULL},
    {0},
};

const struct command command_dump = {
    .name = "dump",
    .usage = "MODEL --source TOKENS [options]",
    .help = "show or write every intermediate of one pass, by name, and the gradients",
    .about = MODEL_ABOUT
    "Without --out and --show it lists name, shape, mean and deviation, in the order of computation. Rows\n"
    "are (N, C), a row for each real token; scores (before masking) and weights are (H, T, S). Dropout is\n"
    "off. query and key are what their projections give; where the model has qk-norm or rotary positions the\n"
    "scores take query_normed, key_normed and, last, query_rotated, key_rotated. Gradients, in the order of\n"
    "backward, have the shape of what they belong to: grad.<site> of every intermediate, the maps too, and\n"
    "grad.<parameter>. tools/dump_lesson.py writes the same for the lesson's model in PyTorch; `clearhead\n"
    "compare` says where two dumps part ways. The file states the order of computation by its metadata key\n"
    "\"order\": the tensors' names, a line each.\n",
    .example = "clearhead dump runs/reverse --source \"7 2 9 0 4 6\"\n"
               "clearhead dump runs/reverse --source \"7 2 9 0 4 6\" --show dec.1.cross_attn.weights\n"
               "clearhead dump runs/reverse --source \"3 1 4\" --target \"4 1 3\" --backward --out t.safetensors",
    .positional = "MODEL",
    .positional_needed = true,
    .options = options,
    .run = run,
};
