/* compare: where two sets of named tensors part ways. */
#include "command.h"
#include "options.h"
#include "output.h"
#include "tensors.h"
#include "words.h"

#include <math.h>
#include <stdlib.h>

enum { MATCHES = CH_MATCH_ONLY_B + 1 };

/* Both files, what came of them, and how many rows there are of each kind. */
struct comparison {
    const char *path_a, *path_b;
    struct words_shown shown_a, shown_b; /* the paths, for a person */
    ch_tensors *a, *b;
    double tolerance;
    ch_comparison *row;
    size_t rows, count[MATCHES];
    const ch_comparison *first;   /* that differs in shape or numbers; NULL: none */
    const ch_comparison *closest; /* the worst of those that agree; NULL: none do */
};

static void summarise(struct comparison *c) {
    for (size_t i = 0; i < c->rows; i++) {
        const ch_comparison *row = &c->row[i];
        c->count[row->match]++;
        bool differs = row->match == CH_MATCH_DIFFERENT || row->match == CH_MATCH_SHAPE;
        if (differs && !c->first) c->first = row;
        if (row->match == CH_MATCH_SAME && (!c->closest || row->worst > c->closest->worst)) c->closest = row;
    }
}

static bool is_same(const struct comparison *c) {
    return c->count[CH_MATCH_SAME] == c->rows;
}

/* Whether the first that differs is the first that was computed. */
static bool is_ordered(const struct comparison *c) {
    return ch_tensors_ordered(c->a) || ch_tensors_ordered(c->b);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static bool put_difference(const struct comparison *c, const char *what, const ch_comparison *row) {
    ch_tensor a, b;
    char shape_a[TENSOR_SHAPE], shape_b[TENSOR_SHAPE], index[TENSOR_SHAPE];
    ch_tensors_find(c->a, row->name, &a, NULL);
    ch_tensors_find(c->b, row->name, &b, NULL);
    tensor_shape(&a, shape_a);
    tensor_shape(&b, shape_b);
    if (row->match == CH_MATCH_SHAPE)
        return out("%s%s: shape %s in %s, %s in %s\n", what, row->name, shape_a, c->shown_a.text, shape_b,
                   c->shown_b.text);
    tensor_index(&a, row->element, index);
    return out("%s%s %s: worst at %s: %.9g in %s, %.9g in %s: %.3g apart\n", what, row->name, shape_a, index,
               words_plain(row->a), c->shown_a.text, words_plain(row->b), c->shown_b.text, row->worst);
}

static bool put_row(const struct comparison *c, const ch_comparison *row) {
    switch (row->match) {
    case CH_MATCH_SAME:
        return out("same       %s: %.3g apart at worst\n", row->name, row->worst);
    case CH_MATCH_DIFFERENT:
        return put_difference(c, "different  ", row);
    case CH_MATCH_SHAPE:
        return put_difference(c, "shape      ", row);
    case CH_MATCH_ONLY_A:
        return out("only in %s: %s\n", c->shown_a.text, row->name);
    case CH_MATCH_ONLY_B:
        return out("only in %s: %s\n", c->shown_b.text, row->name);
    }
    return true;
}

static bool put_counts(const struct comparison *c) {
    size_t differ = c->count[CH_MATCH_DIFFERENT], shapes = c->count[CH_MATCH_SHAPE];
    size_t missing = c->count[CH_MATCH_ONLY_A] + c->count[CH_MATCH_ONLY_B];
    out("%zu of %zu tensors agree to %g", c->count[CH_MATCH_SAME], c->rows, c->tolerance);
    if (c->closest) out(", %.3g apart at worst (%s)", c->closest->worst, c->closest->name);
    return out("; %zu %s, %zu %s, %zu %s missing\n", differ, differ == 1 ? "differs" : "differ", shapes,
               shapes == 1 ? "has different shapes" : "have different shapes", missing, missing == 1 ? "is" : "are");
}

static bool put_text(const struct comparison *c, bool all) {
    for (size_t i = 0; i < c->rows; i++) {
        ch_match match = c->row[i].match;
        if (all || match == CH_MATCH_SHAPE || match == CH_MATCH_ONLY_A || match == CH_MATCH_ONLY_B)
            if (!put_row(c, &c->row[i])) return false;
    }
    if (c->first && !is_ordered(c))
        out("neither file states its order of computation; in the order of %s:\n", c->shown_a.text);
    if (c->first) put_difference(c, "first difference: ", c->first);
    return put_counts(c) && out_flush();
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static json_t *row_object(const struct comparison *c, const ch_comparison *row) {
    static const char *const word[MATCHES] = {"same", "different", "shape", "only in a", "only in b"};
    json_t *object = json_pack("{s:o, s:s}", "name", json_words(row->name), "match", word[row->match]);
    ch_tensor a, b;
    if (!ch_tensors_find(c->a, row->name, &a, NULL)) json_object_set_new(object, "shape_a", tensor_shape_json(&a));
    if (!ch_tensors_find(c->b, row->name, &b, NULL)) json_object_set_new(object, "shape_b", tensor_shape_json(&b));
    if (row->element < 0) return object;
    json_object_set_new(object, "worst", json_number(row->worst));
    json_object_set_new(object, "element", tensor_index_json(&a, row->element));
    json_object_set_new(object, "a", json_number(row->a));
    json_object_set_new(object, "b", json_number(row->b));
    return object;
}

/* Rows that are the same only with --all. */
static bool put_json(const struct comparison *c, bool all) {
    json_t *rows = json_array();
    for (size_t i = 0; i < c->rows; i++)
        if (all || c->row[i].match != CH_MATCH_SAME) json_array_append_new(rows, row_object(c, &c->row[i]));
    return out_json(json_pack("{s:o, s:o, s:b, s:b, s:f, s:I, s:o, s:o, s:o}", "a", json_words(c->path_a), "b",
                              json_words(c->path_b), "same", (int)is_same(c), "ordered", (int)is_ordered(c),
                              "tolerance", c->tolerance, "agree", (json_int_t)c->count[CH_MATCH_SAME],
                              "worst_that_agrees", c->closest ? row_object(c, c->closest) : json_null(),
                              "first_difference", c->first ? row_object(c, c->first) : json_null(), "rows", rows)) &&
           out_flush();
}

/* ---- the command --------------------------------------------------------------------------------- */

static bool tolerance_of(const struct arguments *arguments, double *tolerance) {
    const char *text = arguments_value(arguments, "tolerance");
    char *end;
    *tolerance = strtod(text, &end);
    if (end != text && !*end && *tolerance >= 0 && isfinite(*tolerance)) return true;
    complain(EXIT_USAGE, "--tolerance takes a number from 0, not '%s'", text);
    return false;
}

static int compare(const struct arguments *arguments, struct comparison *c) {
    ch_error error;
    bool all = arguments_has(arguments, "all");
    if (ch_tensors_open(c->path_a, &c->a, &error) || ch_tensors_open(c->path_b, &c->b, &error) ||
        ch_compare(c->a, c->b, c->tolerance, &c->row, &c->rows, &error))
        return report(NULL, &error);
    summarise(c);
    bool written = arguments_has(arguments, "json") ? put_json(c, all) : put_text(c, all);
    return written && is_same(c) ? EXIT_DONE : EXIT_FAILED;
}

static int run(const struct arguments *arguments) {
    struct comparison c = {0};
    if (arguments->word_count != 2)
        return complain(EXIT_USAGE, "FILE is missing: compare takes two, as clearhead compare a.safetensors "
                                    "b.safetensors");
    if (!tolerance_of(arguments, &c.tolerance)) return EXIT_USAGE;
    c.path_a = arguments->words[0];
    c.path_b = arguments->words[1];
    c.shown_a = words_shown(c.path_a);
    c.shown_b = words_shown(c.path_b);
    int code = compare(arguments, &c);
    ch_comparison_free(c.row);
    ch_tensors_free(c.a);
    ch_tensors_free(c.b);
    return code;
}

static const ch_option options[] = {
    {"tolerance", "X", "1e-5", "two numbers agree if |a - b| is at most X times the greater of 1 and |b|", NULL},
    {"all", NULL, NULL, "list every tensor", NULL},
    {0},
};

const struct command command_compare = {
    .name = "compare",
    .usage = "A.safetensors B.safetensors [options]",
    .help = "say where two dumps (or any two files of tensors) part ways",
    .about = "Names the first tensor that differs, in the order of computation: what comes before it is right on\n"
             "both sides, so that is where to look. Dumps of clearhead and of tools/dump_lesson.py state that order,\n"
             "and it is enough if one of the files does. Other writers state it by the metadata key \"order\": the\n"
             "tensors' names, a line each. If neither file does, the order is that of A's header, and the report\n"
             "says so. Tensors that one side lacks and shapes that differ are listed. Exit code 0: the same; 1: not.\n",
    .example = "clearhead compare ours.safetensors theirs.safetensors\n"
               "clearhead compare ours.safetensors theirs.safetensors --tolerance 1e-4 --all",
    .positional = "FILE",
    .positional_needed = true,
    .most_positionals = 2,
    .options = options,
    .run = run,
};
