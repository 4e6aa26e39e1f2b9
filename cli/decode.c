/* decode: a line in, a line out, in order. Answers are written as soon as the input pauses. */
#include "command.h"
#include "lines.h"
#include "model.h"
#include "output.h"
#include "words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINES = 65536 }; /* taken together, whatever the options say */

struct session {
    struct lines lines;
    const ch_vocab *vocab;
    ch_decoder *decoder;
    bool json;

    /* The batch: the lines that came since the last answer. */
    size_t count, most; /* lines */
    size_t first;       /* the number of its first line */
    int *token;         /* of all its lines, one behind the other */
    size_t tokens, capacity;
    ch_sequence *source; /* (most) */
    ch_answer *answer;   /* (most) */
    char refusal[1200];  /* what is wrong with the line behind the batch; "" if nothing */
};

/* ---- lines to tokens -------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static bool refuse(struct session *s, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(s->refusal, sizeof s->refusal, format, list);
    va_end(list);
    return false;
}

static bool reserve_tokens(struct session *s, size_t more) {
    if (s->capacity - s->tokens >= more) return true;
    size_t capacity = 2 * (s->tokens + more);
    int *token = capacity < SIZE_MAX / sizeof *token ? realloc(s->token, capacity * sizeof *token) : NULL;
    if (!token) return false;
    s->token = token;
    s->capacity = capacity;
    return true;
}

static bool add_line(struct session *s, const char *line, size_t length) {
    size_t number = s->lines.number, count, room = most_tokens(length);
    ch_error error;
    if (memchr(line, '\0', length)) return refuse(s, "line %zu holds a zero byte; expected text", number);
    if (!reserve_tokens(s, room)) return refuse(s, "line %zu: out of memory for its %zu bytes", number, length);
    if (ch_vocab_parse(s->vocab, line, s->token + s->tokens, room, &count, &error))
        return refuse(s, "line %zu: %s", number, error.message);
    if (count == 0) return refuse(s, "line %zu is empty; expected tokens separated by spaces", number);
    if (s->count == 0) s->first = number;
    s->source[s->count++].length = count;
    s->tokens += count;
    return true;
}

/* Fills the batch until it is full, the input pauses or ends, or a line is refused. */
static enum lines_state gather(struct session *s) {
    s->count = s->tokens = 0;
    while (s->count < s->most) {
        char *line;
        size_t length;
        enum lines_state state = lines_next(&s->lines, s->count == 0, &line, &length);
        if (state != LINES_READY) return state;
        if (!add_line(s, line, length)) return LINES_END;
    }
    return LINES_READY;
}

/* ---- answers ---------------------------------------------------------------------------------- */

static bool put_answer(const struct session *s, size_t i) {
    const ch_answer *answer = &s->answer[i];
    size_t number = s->first + i;
    if (!answer->ended)
        say("clearhead: warning: line %zu: the answer was cut off at %zu token%s, before its end (see --max-new)",
            number, answer->length, words_plural(answer->length));
    if (s->json)
        return out_json(json_pack("{s:I, s:o?, s:o?, s:b}", "line", (json_int_t)number, "source",
                                  json_tokens(s->source[i].tokens, s->source[i].length), "answer",
                                  json_tokens(answer->tokens, answer->length), "ended", (int)answer->ended));
    return out_tokens(s->vocab, answer->tokens, answer->length) && out("\n");
}

static bool decode_rows(struct session *s, size_t from, size_t count, ch_error *error) {
    return ch_decoder_run(s->decoder, s->source + from, count, s->answer + from, error) == CH_OK;
}

/* The library names a source by its place in the call, which is the first here; the user knows it by its line. */
static int report_line(size_t number, const char *message) {
    static const char place[] = "source 1";
    size_t length = sizeof place - 1;
    bool named = strncmp(message, place, length) == 0;
    return complain(EXIT_FAILED, "line %zu%s%s", number, named ? "" : ": ", named ? message + length : message);
}

/* A batch that is refused is taken line by line, so that the lines before the bad one are answered and the bad
 * one is named by its number in the input. */
static int answer_singly(struct session *s) {
    for (size_t i = 0; i < s->count; i++) {
        ch_error error;
        if (!decode_rows(s, i, 1, &error)) {
            out_flush();
            return report_line(s->first + i, error.message);
        }
        if (!put_answer(s, i)) return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int answer(struct session *s) {
    const int *token = s->token; /* it stands still now that the batch is complete */
    for (size_t i = 0; i < s->count; i++) {
        s->source[i].tokens = token;
        token += s->source[i].length;
    }
    ch_error error;
    int code = EXIT_DONE;
    if (s->count && !decode_rows(s, 0, s->count, &error))
        code = answer_singly(s);
    else
        for (size_t i = 0; i < s->count && !code; i++) code = put_answer(s, i) ? EXIT_DONE : EXIT_FAILED;
    return out_flush() ? code : EXIT_FAILED;
}

static int converse(struct session *s) {
    for (;;) {
        enum lines_state state = gather(s);
        int reason = errno, code = answer(s);
        if (code) return code;
        if (*s->refusal) return complain(EXIT_FAILED, "%s", s->refusal);
        if (state == LINES_FAILED) return complain(EXIT_FAILED, "cannot read standard input: %s", strerror(reason));
        if (state == LINES_END) return EXIT_DONE;
    }
}

/* ---- setting up ------------------------------------------------------------------------------- */

static int read_options(const struct arguments *arguments, ch_decode_options *options) {
    ch_recipe *recipe; /* knows how to check --threads and --attention */
    ch_error error;
    options->no_cache = arguments_has(arguments, "no-cache");
    if (!arguments_number(arguments, "max-new", 0, 1000000, &options->max_new) ||
        !arguments_number(arguments, "batch-size", 1, MOST_LINES, &options->batch_size))
        return EXIT_USAGE;
    if (arguments_recipe(arguments, &recipe, &error)) return report(NULL, &error);
    options->threads = atoi(ch_recipe_get(recipe, "threads"));
    if (arguments_has(arguments, "attention")) options->attention = arguments_value(arguments, "attention");
    ch_recipe_free(recipe);
    return EXIT_DONE;
}

/* Every thread takes a batch of its own, so that many lines are collected when they are there. */
static size_t most_lines(const ch_decode_options *options) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = options->threads > 0 ? (size_t)options->threads : processors > 0 ? (size_t)processors : 1;
    size_t lines = threads * (size_t)options->batch_size;
    return lines < MOST_LINES ? lines : MOST_LINES;
}

static int decode(const struct arguments *arguments, const ch_model *model, const ch_decode_options *options) {
    struct session s = {.lines = {.descriptor = STDIN_FILENO}, .vocab = ch_model_vocab(model)};
    ch_error error;
    s.json = arguments_has(arguments, "json");
    s.most = most_lines(options);
    s.source = calloc(s.most, sizeof *s.source);
    s.answer = calloc(s.most, sizeof *s.answer);
    int code;
    if (!s.source || !s.answer)
        code = report_memory();
    else if (ch_decoder_new(model, options, &s.decoder, &error))
        code = report(NULL, &error);
    else
        code = converse(&s);
    ch_decoder_free(s.decoder);
    free(s.source);
    free(s.answer);
    free(s.token);
    lines_free(&s.lines);
    return code;
}

static int run(const struct arguments *arguments) {
    ch_decode_options options = {0};
    ch_model *model = NULL;
    int code = read_options(arguments, &options);
    if (!code) code = model_open(arguments, &model);
    if (!code) code = decode(arguments, model, &options);
    ch_model_free(model);
    return code;
}

static const ch_option options[] = {
    {"max-new", "N", "0", "most tokens of an answer; 0: as many as the positions allow", NULL},
    {"batch-size", "N", "64", "most lines decoded together", NULL},
    {"no-cache", NULL, NULL, "recompute every position at every step, to compare", NULL},
    {"heads", "N", "0", "heads, for a file that does not say; 0: as the file says", NULL},
    {0},
};
static const char *const recipe[] = {"attention", "threads", NULL};

const struct command command_decode = {
    .name = "decode",
    .usage = "MODEL [options] < LINES",
    .help = "answer every line of the input with a line",
    .about =
        MODEL_ABOUT "Tokens are separated by spaces. Answers come in order, and as soon as the input pauses, so a\n"
                    "program may write a line and wait for its answer. A line that cannot be answered ends the run\n"
                    "with its number, after the answers to the lines before it.\n",
    .example = "echo \"3 1 4 1 5\" | clearhead decode runs/reverse",
    .positional = "MODEL",
    .positional_needed = true,
    .options = options,
    .recipe = recipe,
    .run = run,
};
