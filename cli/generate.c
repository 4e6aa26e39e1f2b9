/* generate: goes on with a text, written token by token as it comes. */
#include "command.h"
#include "interrupt.h"
#include "model.h"
#include "output.h"
#include "terminal.h"
#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that grow. */
struct text {
    char *bytes;
    size_t length, capacity;
};

static bool text_reserve(struct text *text, size_t more) {
    if (text->capacity - text->length >= more) return true;
    size_t capacity = 2 * (text->length + more);
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes) return false;
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

static bool text_add(struct text *text, const char *bytes, size_t length) {
    if (!text_reserve(text, length)) return false;
    if (length) memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return true;
}

struct run {
    const struct arguments *arguments;
    struct text prompt;
    ch_generate_options options;
    ch_sampling sampling;
    const char **stops;
    bool json, terminal;

    struct text written; /* with --json all of it, on a terminal the piece at hand */
    int *token;          /* with --json */
    size_t tokens, capacity;
    char last; /* the last byte that was written */
    ch_ending ended;
};

/* ---- what was asked for ------------------------------------------------------------------------ */

static bool read_sampling(const struct arguments *arguments, ch_sampling *sampling) {
    int seed;
    *sampling = ch_sampling_default();
    if (!arguments_real(arguments, "temperature", &sampling->temperature) ||
        !arguments_number(arguments, "top-k", 0, INT32_MAX, &sampling->top_k) ||
        !arguments_real(arguments, "top-p", &sampling->top_p) ||
        !arguments_real(arguments, "min-p", &sampling->min_p) ||
        !arguments_real(arguments, "repetition-penalty", &sampling->repetition_penalty) ||
        !arguments_number(arguments, "repetition-window", 0, INT32_MAX, &sampling->repetition_window) ||
        !arguments_number(arguments, "seed", 0, INT32_MAX, &seed))
        return false;
    sampling->seed = (uint64_t)seed;
    return true;
}

/* Every --stop counts, not the last alone. */
static bool read_stops(struct run *run) {
    const struct arguments *arguments = run->arguments;
    run->stops = calloc(arguments->count + 1, sizeof *run->stops);
    if (!run->stops) return false;
    for (size_t i = 0; i < arguments->count; i++)
        if (strcmp(arguments->given[i].row->name, "stop") == 0)
            run->stops[run->options.stop_count++] = arguments->given[i].value;
    run->options.stops = run->stops;
    return true;
}

static int read_file(const char *path, struct text *text) {
    enum { PIECE = 65536 };
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file) return complain(EXIT_FAILED, "cannot open %s: %s", path, strerror(errno));
    size_t got = 1;
    bool room = true;
    while (got > 0 && (room = text_reserve(text, PIECE))) {
        got = fread(text->bytes + text->length, 1, PIECE, file);
        text->length += got;
    }
    int reason = ferror(file) ? errno : 0;
    if (file != stdin) fclose(file);
    if (!room) return report_memory();
    return reason ? complain(EXIT_FAILED, "cannot read %s: %s", path, strerror(reason)) : EXIT_DONE;
}

static int read_prompt(struct run *run) {
    const char *prompt = arguments_value(run->arguments, "prompt");
    const char *path = arguments_value(run->arguments, "prompt-file");
    if (prompt && path) return complain(EXIT_USAGE, "--prompt and --prompt-file exclude each other");
    if (path) return read_file(path, &run->prompt);
    return !prompt || text_add(&run->prompt, prompt, strlen(prompt)) ? EXIT_DONE : report_memory();
}

static int read_options(struct run *run) {
    const struct arguments *arguments = run->arguments;
    ch_generate_options *options = &run->options;
    ch_recipe *recipe; /* knows how to check --attention */
    ch_error error;
    if (!read_sampling(arguments, &run->sampling) ||
        !arguments_number(arguments, "tokens", 0, 1000000000, &options->tokens) ||
        !arguments_number(arguments, "context", 0, INT32_MAX, &options->context))
        return EXIT_USAGE;
    if (arguments_recipe(arguments, &recipe, &error)) return report(NULL, &error);
    ch_recipe_free(recipe);
    options->sampling = &run->sampling;
    options->no_cache = arguments_has(arguments, "no-cache");
    if (arguments_has(arguments, "attention")) options->attention = arguments_value(arguments, "attention");
    return read_stops(run) ? read_prompt(run) : report_memory();
}

/* ---- writing ------------------------------------------------------------------------------------ */

static bool keep_token(struct run *run, int token) {
    if (run->tokens == run->capacity) {
        size_t capacity = run->capacity ? 2 * run->capacity : 256;
        int *grown = realloc(run->token, capacity * sizeof *grown);
        if (!grown) return false;
        run->token = grown;
        run->capacity = capacity;
    }
    run->token[run->tokens++] = token;
    return true;
}

/* As it comes. A terminal must not be steered by what a model of bytes writes. */
static int put_piece(struct run *run, const ch_generated *piece) {
    const char *bytes = piece->bytes;
    if (piece->length == 0) return EXIT_DONE;
    if (run->json || run->terminal) {
        if (!run->json) run->written.length = 0;
        if (!text_add(&run->written, bytes, piece->length)) return report_memory();
    }
    if (run->json) return EXIT_DONE;
    if (run->terminal) words_clean_text(run->written.bytes, piece->length);
    run->last = bytes[piece->length - 1];
    return out_bytes(run->terminal ? run->written.bytes : bytes, piece->length) && out_flush() ? EXIT_DONE
                                                                                               : EXIT_FAILED;
}

static int generate(struct run *run, ch_generator *generator) {
    ch_generated piece = {0};
    int code = EXIT_DONE;
    while (!code && piece.ended == CH_GOES_ON && !interrupt_signal()) {
        ch_error error;
        if (ch_generator_next(generator, &piece, &error)) {
            code = report(NULL, &error);
            break;
        }
        if (piece.token >= 0 && !run->json) run->tokens++;
        if (piece.token >= 0 && run->json && !keep_token(run, piece.token)) code = report_memory();
        if (!code) code = put_piece(run, &piece);
    }
    run->ended = piece.ended;
    return code;
}

/* ---- the end ------------------------------------------------------------------------------------ */

static const char *ending_name(ch_ending ended) {
    static const char *const names[] = {[CH_GOES_ON] = "interrupt",
                                        [CH_ENDED_BY_MODEL] = "model",
                                        [CH_ENDED_BY_STOP] = "stop",
                                        [CH_ENDED_BY_TOKENS] = "tokens"};
    return names[ended];
}

static bool put_result(const struct run *run) {
    return out_json(json_pack("{s:o?, s:o?, s:o?, s:s}", "prompt", json_text(run->prompt.bytes, run->prompt.length),
                              "text", json_text(run->written.bytes, run->written.length), "tokens",
                              json_tokens(run->token, run->tokens), "ended", ending_name(run->ended)));
}

static void say_result(const struct run *run, double seconds) {
    static const char *const why[] = {[CH_GOES_ON] = "stopped",
                                      [CH_ENDED_BY_MODEL] = "the model ended the text",
                                      [CH_ENDED_BY_STOP] = "a stop string came",
                                      [CH_ENDED_BY_TOKENS] = "there may be more (see --tokens)"};
    char count[WORDS], speed[WORDS];
    words_count((int64_t)run->tokens, count);
    words_count((int64_t)((double)run->tokens / (seconds > 0 ? seconds : 1)), speed);
    say("%s: %s token%s, %s a second", why[run->ended], count, words_plural(run->tokens), speed);
}

/* What was typed is wrong usage, what a file holds is not. */
static int refuse_prompt(const struct run *run, const ch_error *error) {
    bool typed = error->status == CH_FAILED && !arguments_has(run->arguments, "prompt-file");
    return typed ? complain(EXIT_USAGE, "%s", error->message) : report(NULL, error);
}

static int put_text(struct run *run, ch_generator *generator) {
    ch_error error;
    interrupt_watch();
    double started = terminal_clock();
    if (ch_generator_prompt(generator, run->prompt.bytes ? run->prompt.bytes : "", run->prompt.length, &error))
        return refuse_prompt(run, &error);
    int code = generate(run, generator);
    if (!run->json && run->last && run->last != '\n') out("\n");
    if (code) return code;
    if (run->json && !put_result(run)) return EXIT_FAILED;
    if (!out_flush()) return EXIT_FAILED;
    say_result(run, terminal_clock() - started);
    return run->ended == CH_GOES_ON ? EXIT_SIGNAL + interrupt_signal() : EXIT_DONE;
}

static int go_on(struct run *run) {
    ch_model *model;
    ch_generator *generator = NULL;
    ch_error error;
    int code = model_open(run->arguments, &model);
    if (!code && ch_generator_new(model, &run->options, &generator, &error)) code = report(NULL, &error);
    if (!code) code = put_text(run, generator);
    ch_generator_free(generator);
    ch_model_free(model);
    return code;
}

static int run(const struct arguments *arguments) {
    struct run run = {
        .arguments = arguments, .json = arguments_has(arguments, "json"), .terminal = isatty(STDOUT_FILENO)};
    int code = read_options(&run);
    if (!code) code = go_on(&run);
    free(run.prompt.bytes);
    free(run.written.bytes);
    free(run.token);
    free(run.stops);
    return code;
}

static const ch_option options[] = {
    {"prompt", "TEXT", NULL, "what to go on with; nothing: a new text, if the model knows how one begins", NULL},
    {"prompt-file", "FILE", NULL, "the same from a file, as it is; -: standard input", NULL},
    {"tokens", "N", "200", "most tokens; 0: until the model, a stop string or Ctrl-C ends it", NULL},
    {"temperature", "T", "0.8", "above 1 more surprising, below 1 less; 0: the likeliest token, always", NULL},
    {"top-k", "N", "0", "draw among the N likeliest tokens; 0: all", NULL},
    {"top-p", "P", "1", "draw among the fewest tokens that have this share; 1: all", NULL},
    {"min-p", "P", "0", "draw among tokens at least this share as likely as the likeliest; 0: all", NULL},
    {"repetition-penalty", "F", "1", "make what came before less likely by this factor; 1: do not", NULL},
    {"repetition-window", "N", "0", "tokens back that a repetition counts; 0: all", NULL},
    {"stop", "STRING", NULL, "end before this text; may be given several times", NULL},
    {"seed", "N", "0", "of the draws: the same seed gives the same text", NULL},
    {"context", "N", "0", "tokens that the model sees at most; 0: its positions", NULL},
    {"no-cache", NULL, NULL, "recompute every position at every step, to compare", NULL},
    {0},
};
static const char *const recipe[] = {"attention", NULL};

const struct command command_generate = {
    .name = "generate",
    .usage = "MODEL [--prompt TEXT] [options]",
    .help = "go on with a text",
    .about = MODEL_ABOUT
    "It must be a decoder-only one. What it writes, without the prompt, comes as soon as it is known; a stop\n"
    "string and the end of the text are not written. When the context is full, its last half is read anew as\n"
    "if the text began there, and goes on. A prompt longer than the context is refused, unless --context is\n"
    "0 and positions can extend (rope, alibi, relative-bias, none). A model with --window and such positions\n"
    "needs no context: it goes on for any length in constant memory. Ctrl-C ends the text with what there\n"
    "is. A model of a task takes numbers and writes numbers, separated by blanks.\n",
    .example = "clearhead generate runs/lm --prompt \"ROMEO:\" --temperature 0.8 --top-k 40 --seed 3\n"
               "clearhead generate runs/lm --prompt-file scene.txt --tokens 0 --stop \"ROMEO:\"",
    .positional = "MODEL",
    .positional_needed = true,
    .options = options,
    .recipe = recipe,
    .run = run,
};
