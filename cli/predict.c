/* predict: a line in, a line out: the class of a source, or a text with its hidden tokens filled in. */
#include "command.h"
#include "lines.h"
#include "model.h"
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
    const ch_model *model;
    const ch_vocab *vocab;
    int top; /* guesses of each place that are shown */
    bool classes, json;
};

static size_t shown_guesses(const struct session *s, const ch_prediction *prediction) {
    size_t all = ch_prediction_guesses(prediction);
    return (size_t)s->top < all ? (size_t)s->top : all;
}

/* ---- text: the line and, behind tabs, what was guessed -------------------------------------------- */

static bool put_class(const struct session *s, const ch_prediction *prediction) {
    bool whole = true;
    for (size_t rank = 0; rank < shown_guesses(s, prediction) && whole; rank++) {
        ch_guess guess = ch_prediction_guess(prediction, 0, rank);
        whole = out(rank ? "\t" : "") && (guess.text ? out("%s", guess.text) : out("%d", guess.number)) &&
                out(" %.3f", guess.probability);
    }
    return whole && out("\n");
}

static bool put_filled(const struct session *s, const ch_prediction *prediction, const int *filled, size_t count) {
    bool whole = out_text(s->vocab, filled, count);
    for (size_t i = 0; i < ch_prediction_places(prediction) && whole; i++)
        for (size_t rank = 0; rank < shown_guesses(s, prediction) && whole; rank++) {
            ch_guess guess = ch_prediction_guess(prediction, i, rank);
            whole = out("%s%s %.3f", rank ? " " : "\t", guess.text, guess.probability);
        }
    return whole && out("\n");
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static json_t *guesses_of(const struct session *s, const ch_prediction *prediction, size_t place) {
    json_t *list = json_array();
    for (size_t rank = 0; rank < shown_guesses(s, prediction); rank++) {
        ch_guess guess = ch_prediction_guess(prediction, place, rank);
        json_array_append_new(list,
                              json_pack("{s:i, s:o, s:o}", s->classes ? "class" : "token", guess.number,
                                        s->classes ? "name" : "text", guess.text ? json_words(guess.text) : json_null(),
                                        "probability", json_number(guess.probability)));
    }
    return list;
}

static bool put_json(const struct session *s, const ch_prediction *prediction, size_t number, ch_sequence source,
                     const int *filled) {
    json_t *line =
        json_pack("{s:I, s:o?}", "line", (json_int_t)number, "source", json_tokens(source.tokens, source.length));
    if (s->classes) {
        json_object_set_new(line, "guesses", guesses_of(s, prediction, 0));
        return out_json(line);
    }
    json_t *places = json_array();
    for (size_t i = 0; i < ch_prediction_places(prediction); i++)
        json_array_append_new(places, json_pack("{s:I, s:o}", "place", (json_int_t)ch_prediction_place(prediction, i),
                                                "guesses", guesses_of(s, prediction, i)));
    json_object_set_new(line, "filled", json_tokens(filled, source.length));
    json_object_set_new(line, "places", places);
    return out_json(line);
}

/* ---- a line ---------------------------------------------------------------------------------------- */

static bool put(const struct session *s, const ch_prediction *prediction, size_t number, int *tokens, size_t count) {
    if (s->classes && !s->json) return put_class(s, prediction);
    int *filled = calloc(count + 1, sizeof *filled);
    if (!filled) {
        report_memory();
        return false;
    }
    memcpy(filled, tokens, count * sizeof *filled);
    for (size_t i = 0; i < ch_prediction_places(prediction) && !s->classes; i++)
        filled[ch_prediction_place(prediction, i)] = ch_prediction_guess(prediction, i, 0).number;
    bool written = s->json ? put_json(s, prediction, number, (ch_sequence){tokens, count}, filled)
                           : put_filled(s, prediction, filled, count);
    free(filled);
    return written;
}

static int answer_tokens(const struct session *s, size_t number, int *tokens, size_t count) {
    ch_prediction *prediction;
    ch_error error;
    if (count == 0) return complain(EXIT_FAILED, "line %zu is empty; expected at least one token", number);
    if (ch_predict(s->model, (ch_sequence){tokens, count}, &prediction, &error))
        return complain(EXIT_FAILED, "line %zu: %s", number, error.message);
    bool written = put(s, prediction, number, tokens, count);
    ch_prediction_free(prediction);
    return written ? EXIT_DONE : EXIT_FAILED;
}

static int answer(const struct session *s, size_t number, const char *line, size_t length) {
    int *tokens;
    size_t count;
    ch_error error;
    if (memchr(line, '\0', length)) return complain(EXIT_FAILED, "line %zu holds a zero byte; expected text", number);
    int code = arguments_encode(s->vocab, line, &tokens, &count, &error);
    if (code == EXIT_USAGE)
        code = complain(EXIT_FAILED, "line %zu: %s", number, error.message);
    else if (!code)
        code = answer_tokens(s, number, tokens, count);
    free(tokens);
    return code;
}

/* What is known is written as soon as the input pauses. */
static int converse(const struct session *s) {
    struct lines lines = {.descriptor = STDIN_FILENO};
    int code = EXIT_DONE;
    bool wait = true;
    while (!code) {
        char *line;
        size_t length;
        enum lines_state state = lines_next(&lines, wait, &line, &length);
        wait = state == LINES_PAUSE;
        if (state == LINES_READY) code = answer(s, lines.number, line, length);
        if (state == LINES_FAILED) code = complain(EXIT_FAILED, "cannot read standard input: %s", strerror(errno));
        if (state == LINES_PAUSE && !out_flush()) code = EXIT_FAILED;
        if (state == LINES_END) break;
    }
    lines_free(&lines);
    return out_flush() ? code : EXIT_FAILED;
}

/* ---- the command ----------------------------------------------------------------------------------- */

/* Before the first line, which may be a while. */
static int check_model(const ch_model *model) {
    ch_prediction *prediction;
    ch_error error;
    ch_model_info info = ch_model_get_info(model);
    if (info.classes || ch_vocab_mask(ch_model_vocab(model)) >= 0) return EXIT_DONE;
    return ch_predict(model, (ch_sequence){0}, &prediction, &error) ? report(NULL, &error) : EXIT_DONE;
}

static int run(const struct arguments *arguments) {
    struct session session = {.json = arguments_has(arguments, "json")};
    ch_model *model;
    if (!arguments_number(arguments, "top", 1, 1000000, &session.top)) return EXIT_USAGE;
    int code = model_open(arguments, &model);
    if (!code) code = check_model(model);
    if (!code) {
        session.model = model;
        session.vocab = ch_model_vocab(model);
        session.classes = ch_model_get_info(model).classes > 0;
        code = converse(&session);
    }
    ch_model_free(model);
    return code;
}

static const ch_option options[] = {
    {"top", "N", "1", "how many guesses, the likeliest first", NULL},
    {"heads", "N", "0", "heads, for a file that does not say; 0: as the file says", NULL},
    {0},
};

const struct command command_predict = {
    .name = "predict",
    .usage = "MODEL [options] < LINES",
    .help = "tell the class of every line, or fill in its hidden tokens",
    .about = MODEL_ABOUT
    "It must be an encoder-only one. A classifier reads tokens separated by spaces and gives the class with its\n"
    "probability. A model of a text reads lines of text in which <mask> stands for each hidden token, and gives the\n"
    "line filled in and, behind tabs, each token with its probability. Lines are answered in order, and as soon as\n"
    "the input pauses; one that cannot be answered ends the run with its number.\n",
    .example = "echo \"( [ ] )\" | clearhead predict runs/brackets\n"
               "echo \"to be or n<mask>t to be\" | clearhead predict runs/bert --top 3",
    .positional = "MODEL",
    .positional_needed = true,
    .options = options,
    .run = run,
};
