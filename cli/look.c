/* look: read one source, answer it or go on with it, and show where attention looked. */
#include "command.h"
#include "figure.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "terminal.h"
#include "words.h"

#include <math.h>
#include <stdlib.h>

struct view {
    const ch_attention *attention;
    const ch_vocab *vocab;
    int layer, head; /* layer is resolved; head -1: all */
    int heads;       /* of that layer */
    ch_colours colours;
};

static int first_head(const struct view *view) {
    return view->head < 0 ? 0 : view->head;
}

static int last_head(const struct view *view) {
    return view->head < 0 ? view->heads - 1 : view->head;
}

/* ---- the alignment in words -------------------------------------------------------------------- */

static double clearness(const ch_alignment *a) {
    return a->diagonal > a->anti_diagonal ? a->diagonal : a->anti_diagonal;
}

/* What the heads are ranked by: mass on a diagonal, or how far from looking everywhere alike. */
static double rank(const ch_alignment *a) {
    if (a->aligned) return clearness(a);
    return a->uniform_entropy > 0 ? 1 - a->entropy / a->uniform_entropy : 0;
}

/* The head that puts the most on one of the diagonals; without an alignment, the one that looks at the fewest keys. */
static int clearest_head(const struct view *view) {
    int best = first_head(view);
    double most = (double)-INFINITY;
    for (int head = first_head(view); head <= last_head(view); head++) {
        ch_alignment a = ch_attention_alignment(view->attention, view->layer, head);
        if (!(rank(&a) > most)) continue;
        most = rank(&a);
        best = head;
    }
    return best;
}

static bool put_head(const struct view *view, int head) {
    ch_alignment a = ch_attention_alignment(view->attention, view->layer, head);
    if (!a.aligned)
        return out("layer %d, head %d: %s (entropy %.2f of %.2f uniform)\n", view->layer, head, a.verdict, a.entropy,
                   a.uniform_entropy);
    return out("layer %d, head %d: %s (anti-diagonal %.2f, diagonal %.2f, entropy %.2f of %.2f uniform)\n", view->layer,
               head, a.verdict, words_plain(a.anti_diagonal), words_plain(a.diagonal), a.entropy, a.uniform_entropy);
}

static bool put_clearest(const struct view *view) {
    int layer = view->layer, head = clearest_head(view);
    ch_alignment a = ch_attention_alignment(view->attention, layer, head);
    if (!a.aligned)
        return out("sharpest: %s: layer %d, head %d, entropy %.2f against %.2f for uniform\n", a.verdict, layer, head,
                   a.entropy, a.uniform_entropy);
    bool copying = a.diagonal > a.anti_diagonal;
    return out("alignment: %s: layer %d, head %d puts %.2f of its mass on the %s (%s %.2f), entropy %.2f against %.2f "
               "for uniform\n",
               a.verdict, layer, head, words_plain(copying ? a.diagonal : a.anti_diagonal),
               copying ? "diagonal" : "anti-diagonal", copying ? "anti-diagonal" : "diagonal",
               words_plain(copying ? a.anti_diagonal : a.diagonal), a.entropy, a.uniform_entropy);
}

static bool put_alignment(const struct view *view) {
    if (view->head >= 0) return put_head(view, view->head);
    for (int head = 0; head < view->heads; head++)
        if (!put_head(view, head)) return false;
    return put_clearest(view);
}

/* ---- text -------------------------------------------------------------------------------------- */

/* What was generated, without the end. */
static ch_sequence prediction(const struct view *view) {
    ch_sequence all = ch_attention_generated(view->attention);
    if (all.length && all.tokens[all.length - 1] == ch_vocab_eos(view->vocab)) all.length--;
    return all;
}

static bool put_tokens(const struct view *view, const char *word, ch_sequence sequence) {
    if (sequence.length == 0) return true;
    return out("%-12s", word) && out_tokens(view->vocab, sequence.tokens, sequence.length) && out("\n");
}

static int put_text(const struct view *view, const ch_figure *figure, bool numbers) {
    char *text = NULL;
    ch_error error;
    ch_status status = numbers ? ch_text_numbers(view->attention, view->layer, view->head, &text, &error)
                               : ch_figure_text(figure, view->colours, terminal_columns(), &text, &error);
    if (status) return report(NULL, &error);
    bool written = put_tokens(view, "source", ch_attention_source(view->attention)) &&
                   put_tokens(view, "prediction", prediction(view)) && out("\n%s\n", text) && put_alignment(view) &&
                   out_flush();
    ch_string_free(text);
    return written ? EXIT_DONE : EXIT_FAILED;
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static json_t *alignment_object(const struct view *view, int head) {
    ch_alignment a = ch_attention_alignment(view->attention, view->layer, head);
    return json_pack("{s:i, s:i, s:s, s:o, s:o, s:o, s:o}", "layer", view->layer, "head", head, "verdict", a.verdict,
                     "anti_diagonal", json_number(a.anti_diagonal), "diagonal", json_number(a.diagonal), "entropy",
                     json_number(a.entropy), "uniform_entropy", json_number(a.uniform_entropy));
}

static json_t *map_object(const struct view *view, int head) {
    size_t rows = ch_attention_rows(view->attention).length, cols = ch_attention_columns(view->attention).length;
    const float *weight = ch_attention_map(view->attention, view->layer, head);
    json_t *map = json_array();
    for (size_t r = 0; r < rows; r++) {
        json_t *row = json_array();
        for (size_t c = 0; c < cols; c++) json_array_append_new(row, json_number((double)weight[r * cols + c]));
        json_array_append_new(map, row);
    }
    return json_pack("{s:i, s:i, s:o, s:o?}", "layer", view->layer, "head", head, "weights", map, "alignment",
                     alignment_object(view, head));
}

static int put_json(const struct view *view) {
    ch_sequence source = ch_attention_source(view->attention), generated = ch_attention_generated(view->attention);
    ch_sequence rows = ch_attention_rows(view->attention), columns = ch_attention_columns(view->attention);
    json_t *maps = json_array();
    for (int head = first_head(view); head <= last_head(view); head++)
        json_array_append_new(maps, map_object(view, head));
    json_t *object = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "kind",
        ch_attention_is_cross(view->attention) ? "cross-attention" : "self-attention", "source",
        json_tokens(source.tokens, source.length), "generated", json_tokens(generated.tokens, generated.length), "rows",
        json_tokens(rows.tokens, rows.length), "columns", json_tokens(columns.tokens, columns.length), "maps", maps,
        "alignment", alignment_object(view, clearest_head(view)));
    return out_json(object) && out_flush() ? EXIT_DONE : EXIT_FAILED;
}

/* ---- what to show ------------------------------------------------------------------------------ */

/* An index from 0, or the default word ("last", "all"), which becomes -1. */
static bool index_option(const struct arguments *arguments, const char *name, int count, int *index) {
    *index = -1;
    return !arguments_has(arguments, name) || arguments_number(arguments, name, 0, count - 1, index);
}

static bool choose(const struct arguments *arguments, struct view *view) {
    int layers = ch_attention_layers(view->attention);
    if (!index_option(arguments, "layer", layers, &view->layer)) return false;
    if (view->layer < 0) view->layer = layers - 1;
    view->heads = ch_attention_heads(view->attention, view->layer);
    return index_option(arguments, "head", view->heads, &view->head);
}

static int show(const struct arguments *arguments, struct view *view) {
    ch_error error;
    ch_figure *figure;
    if (!choose(arguments, view)) return EXIT_USAGE;
    if (ch_figure_attention(view->attention, view->layer, view->head, &figure, &error)) return report(NULL, &error);
    int code = figure_save(arguments, figure);
    if (!code && arguments_has(arguments, "json"))
        code = put_json(view);
    else if (!code)
        code = put_text(view, figure, arguments_has(arguments, "numbers"));
    ch_figure_free(figure);
    return code;
}

/* ---- decoding ---------------------------------------------------------------------------------- */

static void warn_if_cut_off(const struct view *view) {
    ch_sequence generated = ch_attention_generated(view->attention);
    ch_alignment alignment = ch_attention_alignment(view->attention, 0, 0);
    if (!alignment.aligned) return; /* nothing was to be answered */
    if (generated.tokens[generated.length - 1] != ch_vocab_eos(view->vocab))
        say("clearhead: warning: the answer was cut off at %zu token%s, before its end (see --max-new)",
            generated.length, words_plural(generated.length));
}

static int look(const struct arguments *arguments, const ch_model *model, struct view *view, int max_new) {
    ch_attention *attention = NULL;
    int *tokens;
    size_t count;
    ch_error error;
    view->vocab = ch_model_vocab(model);
    size_t positions = (size_t)ch_model_get_info(model).longest;
    int code = arguments_tokens(arguments, "source", view->vocab, 1, positions, &tokens, &count);
    if (!code && ch_look(model, (ch_sequence){tokens, count}, max_new, &attention, &error)) code = report(NULL, &error);
    view->attention = attention;
    if (!code) warn_if_cut_off(view);
    if (!code) code = show(arguments, view);
    ch_attention_free(attention);
    free(tokens);
    return code;
}

static int run(const struct arguments *arguments) {
    struct view view = {0};
    int max_new;
    if (!arguments_value(arguments, "source"))
        return complain(EXIT_USAGE, "--source is missing: what the model reads, as --source \"7 2 9 0 4 6\"");
    int code = figure_options(arguments, &view.colours);
    if (code) return code;
    if (!arguments_number(arguments, "max-new", 0, 1000000, &max_new)) return EXIT_USAGE;
    ch_model *model;
    code = model_open(arguments, &model);
    if (!code) code = look(arguments, model, &view, max_new);
    ch_model_free(model);
    return code;
}

static const ch_option options[] = {
    {"source", "TOKENS", NULL, "what the model reads; of a text, the text", NULL},
    {"layer", "N", "the last", "which layer, from 0", NULL},
    {"head", "N", "all", "which head, from 0", NULL},
    {"numbers", NULL, NULL, "show the weights as numbers", NULL},
    FIGURE_OUT("draw a picture as well"),
    FIGURE_WIDTH,
    {"max-new", "N", "0", "most tokens to generate; 0: of an answer as many as the positions allow, of a text none",
     NULL},
    {"heads", "N", "0", "heads, for a file that does not say; 0: as the file says", NULL},
    FIGURE_COLOUR,
    {0},
};

const struct command command_look = {
    .name = "look",
    .usage = "MODEL --source TOKENS [options]",
    .help = "read one source, answer it, and show where attention looked",
    .about = MODEL_ABOUT
    "A model with an encoder and a decoder answers the source, and what is shown is cross-attention: a\n"
    "row of the map is a generated token, a column a source position. With one stack it is\n"
    "self-attention: a decoder alone answers, or goes on with a text by --max-new tokens; an encoder\n"
    "alone only reads, and <mask> may hide a token of a text from it. A row is then a query, a\n"
    "column a key, and what the model hides weighs 0. The last line says what the alignment of the\n"
    "answer with the source is: reversing (anti-diagonal), copying (diagonal), not used, or mixed;\n"
    "where nothing answers, how the sharpest head looks: focused, mixed, or diffuse.\n"
    "There is no --attention: the maps are computed again from what the pass kept, and are the\n"
    "same to rounding whichever core computed it. `clearhead dump` shows either core's numbers.\n",
    .example = "clearhead look runs/reverse --source \"7 2 9 0 4 6\"\n"
               "clearhead look runs/reverse --source \"7 2 9 0 4 6\" --layer 1 --head 0 --numbers --out map.png\n"
               "clearhead look runs/lm --source \"To be, or\" --max-new 8 --layer 0",
    .positional = "MODEL",
    .positional_needed = true,
    .options = options,
    .run = run,
};
