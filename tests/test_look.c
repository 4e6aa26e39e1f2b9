/* Looking: maps that are distributions, what an alignment says of made-up maps, and pictures, text and numbers of them.
 */
#include "models.h"

#include "inspect/attention.h"
#include "inspect/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY CH_TEST_DATA "/lesson_tiny_model.safetensors"

static const int digits[] = {7, 2, 9, 0, 4, 6};

static ch_attention *look(const ch_model *model, ch_sequence source, int max_new) {
    ch_attention *attention;
    ch_error error;
    check_ok(ch_look(model, source, max_new, &attention, &error), &error);
    return attention;
}

/* Rows sum to 1 up to the rounding of S additions of numbers below 1, and of a division. */
static void check_rows(const ch_attention *attention) {
    size_t rows = ch_attention_generated(attention).length, columns = ch_attention_source(attention).length;
    for (int layer = 0; layer < ch_attention_layers(attention); layer++)
        for (int head = 0; head < ch_attention_heads(attention, layer); head++)
            for (size_t t = 0; t < rows; t++) {
                const float *row = ch_attention_map(attention, layer, head) + t * columns;
                double sum = 0;
                for (size_t s = 0; s < columns; s++) {
                    assert_true(row[s] >= 0 && row[s] <= 1);
                    sum += (double)row[s];
                }
                assert_true(fabs(sum - 1) <= 1e-6);
            }
}

static void maps_are_distributions(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    ch_attention *attention = look(model, (ch_sequence){digits, 6}, 0);
    ch_sequence generated = ch_attention_generated(attention), source = ch_attention_source(attention);
    static const int expected[] = {6, 4, 0, 9, 2, 7, 12};
    assert_int_equal(generated.length, 7);
    assert_memory_equal(generated.tokens, expected, sizeof expected);
    assert_int_equal(source.length, 6);
    assert_memory_equal(source.tokens, digits, sizeof digits);
    check_rows(attention);
    ch_alignment alignment = ch_attention_alignment(attention, 0, 0);
    assert_string_equal(alignment.verdict, "reversing"); /* what it was trained for */
    assert_true(alignment.anti_diagonal > 0.5 && alignment.diagonal < 0.5);
    ch_attention_free(attention);
    ch_attention_free(NULL);
    ch_model_free(model);
    ch_recipe *recipe = recipe_of("d-model", "24", "heads", "6", "layers", "3", NULL);
    model = model_of(recipe);
    attention = look(model, (ch_sequence){digits, 1}, 5); /* one column */
    check_rows(attention);
    assert_int_equal(ch_attention_generated(attention).length, 5);
    assert_int_equal(ch_attention_layers(attention), 3);
    assert_int_equal(ch_attention_heads(attention, 2), 6);
    ch_attention_free(attention);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

static void sources_that_do_not_fit(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    static const int bad[] = {1, 11};
    ch_attention *attention = (ch_attention *)1;
    ch_error error;
    check_sentence(ch_look(model, (ch_sequence){digits, 0}, 0, &attention, &error), CH_FAILED, &error, "is empty",
                   NULL);
    assert_null(attention);
    check_sentence(ch_look(model, (ch_sequence){bad, 2}, 0, &attention, &error), CH_FAILED, &error, "token 2 is 11",
                   NULL);
    check_sentence(ch_look(model, (ch_sequence){digits, 6}, 25, &attention, &error), CH_USAGE, &error, "found 25",
                   NULL);
    assert_int_equal(ch_look(model, (ch_sequence){digits, 6}, 25, &attention, NULL), CH_USAGE);
    ch_model_free(model);
}

/* ---- verdicts ---- */

enum { SIDE = 6 };

/* A map of our own making in the place of the captured one: SIDE + 1 rows, EOS's the last. */
struct made {
    ch_model *model;
    ch_attention *attention;
    float *map;
};

static struct made make_map(void) {
    struct made made = {.model = open_model(TINY)};
    made.attention = look(made.model, (ch_sequence){digits, SIDE}, 0);
    made.map = made.attention->map;
    return made;
}

/* Each row: mass at column `reversed ? SIDE - 1 - t : t`, the rest spread evenly. */
static void fill_line(struct made *made, bool reversed, double mass) {
    for (int t = 0; t < made->attention->rows; t++)
        for (int s = 0; s < SIDE; s++) {
            bool on = s == (reversed ? SIDE - 1 - t : t);
            made->map[t * SIDE + s] = (float)(on ? mass : (1 - mass) / (SIDE - 1));
        }
}

static ch_alignment check_verdict(const struct made *made, const char *verdict, double anti, double diagonal) {
    ch_alignment alignment = ch_attention_alignment(made->attention, 0, 0);
    assert_string_equal(alignment.verdict, verdict);
    assert_true(fabs(alignment.anti_diagonal - anti) < 1e-6 && fabs(alignment.diagonal - diagonal) < 1e-6);
    assert_true(fabs(alignment.uniform_entropy - log(SIDE)) < 1e-12);
    return alignment;
}

static void verdicts(void **state) {
    (void)state;
    struct made made = make_map();
    fill_line(&made, true, 1);
    assert_true(check_verdict(&made, "reversing", 1, 0).entropy == 0);
    fill_line(&made, false, 1);
    assert_true(check_verdict(&made, "copying", 0, 1).entropy == 0);
    fill_line(&made, true, 0.9);
    check_verdict(&made, "reversing", 0.9, 0.02);
    fill_line(&made, false, 0.51);
    check_verdict(&made, "copying", 0.098, 0.51);
    fill_line(&made, true, 0.45); /* not clear, and its entropy, 0.88 of uniform, not flat */
    check_verdict(&made, "mixed", 0.45, 0.11);
    fill_line(&made, true, 0.4); /* 0.91 of uniform */
    check_verdict(&made, "not used", 0.4, 0.12);
    fill_line(&made, true, 1.0 / SIDE); /* uniform */
    ch_alignment flat = check_verdict(&made, "not used", 1.0 / SIDE, 1.0 / SIDE);
    assert_true(fabs(flat.entropy - flat.uniform_entropy) < 1e-6);
    for (int i = 0; i < made.attention->rows * SIDE; i++) made.map[i] = i % SIDE == 2; /* all on one token */
    check_verdict(&made, "mixed", 1.0 / SIDE, 1.0 / SIDE);
    ch_attention_free(made.attention);
    ch_model_free(made.model);
}

/* The row that generates EOS, and rows behind the source's length, are no part of the alignment. */
static void only_rows_of_source_tokens_count(void **state) {
    (void)state;
    struct made made = make_map();
    fill_line(&made, true, 1);
    made.attention->generated[3] = 12; /* an EOS in the middle: its row says nothing */
    for (int s = 0; s < SIDE; s++) made.map[3 * SIDE + s] = s == 0;
    for (int s = 0; s < SIDE; s++) made.map[SIDE * SIDE + s] = s == 1; /* the seventh row */
    check_verdict(&made, "reversing", 1, 0);
    for (int t = 0; t < made.attention->rows; t++) made.attention->generated[t] = 12;
    check_verdict(&made, "mixed", 0, 0);
    ch_attention_free(made.attention);
    ch_model_free(made.model);
}

/* ---- a single stack: self-attention ---- */

/* Of what ch_dump has by a name, whose last two dimensions are these. */
static const real *dumped(const ch_tensors *dump, const char *name, int rows, int columns) {
    const struct named_tensor *tensor = tensors_find(dump, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->shape[tensor->rank - 2], rows);
    assert_int_equal(tensor->shape[tensor->rank - 1], columns);
    return tensor->value;
}

/* The maps of layer 0 are those of the same pass in a dump, and times its values they are its heads: up to the rounding
 * of a map to float and of T products. A key that is hidden weighs exactly 0. */
static void check_self(const ch_attention *a, const ch_tensors *dump, const char *layer, int ahead, int behind) {
    int rows = (int)ch_attention_rows(a).length, heads = ch_attention_heads(a, 0);
    char name[64];
    assert_false(ch_attention_is_cross(a));
    assert_int_equal(ch_attention_columns(a).length, rows);
    snprintf(name, sizeof name, "%s.weights", layer);
    const real *weights = dumped(dump, name, rows, rows);
    snprintf(name, sizeof name, "%s.value", layer);
    const real *value = dumped(dump, name, rows, 18);
    snprintf(name, sizeof name, "%s.heads", layer);
    const real *out = dumped(dump, name, rows, 18);
    for (int h = 0; h < heads; h++) {
        const float *map = ch_attention_map(a, 0, h);
        for (int i = 0; i < rows; i++)
            for (int c = 0; c < 18 / heads; c++) {
                real sum = 0;
                for (int j = 0; j < rows; j++) {
                    real w = (real)map[i * rows + j], same = weights[(h * rows + i) * rows + j];
                    check_close("a weight", &w, &same, 1, 1e-6);
                    if (j > i + ahead || j < i - behind) assert_true(map[i * rows + j] == 0);
                    sum += w * value[j * 18 + h * 6 + c];
                }
                check_close("map times values", &sum, &out[i * 18 + h * 6 + c], 1, 1e-5);
            }
    }
}

static ch_tensors *dump_of(const ch_model *model, ch_sequence source, ch_sequence target) {
    ch_tensors *dump;
    ch_error error;
    check_ok(ch_dump(model, source, target, NULL, &dump, &error), &error);
    return dump;
}

static ch_recipe *small_recipe(const char *settings) {
    ch_recipe *recipe =
        recipe_of("d-model", "18", "heads", "3", "d-ff", "20", "layers", "2", "max-positions", "30", NULL);
    set_options(recipe, settings);
    return recipe;
}

/* Source, <sos>, answer: what generated answer token t stands behind the source. */
static void a_decoder_alone_looks_at_all_that_came_before(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe("arch=decoder-only seed=3");
    ch_model *model = model_of(recipe);
    ch_attention *a = look(model, (ch_sequence){digits, 6}, 3);
    ch_sequence made = ch_attention_generated(a), rows = ch_attention_rows(a);
    assert_int_equal(made.length, 3);
    assert_int_equal(rows.length, 6 + 3);
    assert_memory_equal(rows.tokens, digits, sizeof digits);
    assert_int_equal(rows.tokens[6], ch_vocab_sos(ch_model_vocab(model)));
    assert_memory_equal(rows.tokens + 7, made.tokens, 2 * sizeof(int));
    ch_tensors *dump = dump_of(model, (ch_sequence){digits, 6}, (ch_sequence){made.tokens, 2});
    check_self(a, dump, "dec.0.attn", 0, 30);
    for (int i = 0; i < 81; i++) a->map[i] = 0; /* answer token t, made in row 6 + t, looks at source token 5 - t */
    for (int t = 0; t < 3; t++) a->map[(6 + t) * 9 + 5 - t] = 1;
    ch_alignment alignment = ch_attention_alignment(a, 0, 0);
    assert_string_equal(alignment.verdict, "reversing");
    assert_true(alignment.aligned && alignment.anti_diagonal == 1 && alignment.diagonal == 0 && alignment.entropy == 0);
    assert_true(fabs(alignment.uniform_entropy - (log(7) + log(8) + log(9)) / 3) < 1e-12);
    ch_tensors_free(dump);
    ch_attention_free(a);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

static void check_no_alignment(ch_attention *a, double uniform) {
    int rows = a->rows;
    ch_alignment alignment = ch_attention_alignment(a, 0, 0);
    assert_true(!alignment.aligned && isnan(alignment.anti_diagonal) && isnan(alignment.diagonal));
    assert_true(fabs(alignment.uniform_entropy - uniform) < 1e-12);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) a->map[i * rows + j] = i == j;
    assert_string_equal(ch_attention_alignment(a, 0, 0).verdict, "focused");
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            a->map[i * rows + j] =
                a->which == CONFIG_DECODER_SELF ? (float)(j <= i) / (float)(i + 1) : 1.0F / (float)rows;
    if (!a->window) assert_string_equal(ch_attention_alignment(a, 0, 0).verdict, "diffuse");
}

/* The prompt goes on greedily, and all of it is looked at; a window hides what is far behind. */
static void a_text_goes_on(void **state) {
    (void)state;
    static const int text[] = {0, 1, 2, 1, 0};
    for (int lines = 0; lines < 2; lines++) {
        ch_model *model = text_model("position=rope window=3", "abcdef", lines ? VOCAB_SOS | VOCAB_EOS : 0);
        ch_attention *a = look(model, (ch_sequence){text, 5}, 4);
        ch_sequence rows = ch_attention_rows(a), made = ch_attention_generated(a);
        bool ended = made.length && made.tokens[made.length - 1] == ch_vocab_eos(ch_model_vocab(model));
        assert_true(made.length == 4 || ended);
        assert_int_equal(rows.length, (size_t)lines + 5 + made.length - ended);
        assert_memory_equal(rows.tokens + lines, text, sizeof text);
        assert_memory_equal(rows.tokens + lines + 5, made.tokens, (made.length - ended) * sizeof(int));
        int *whole = calloc(rows.length + 1, sizeof *whole);
        memcpy(whole, rows.tokens + lines, (rows.length - (size_t)lines) * sizeof *whole);
        /* of lines an <eos> is predicted behind all of it, else the frame leaves out a last token */
        ch_tensors *dump = dump_of(model, (ch_sequence){whole, rows.length - (size_t)lines + !lines}, (ch_sequence){0});
        check_self(a, dump, "dec.0.attn", 0, 2);
        double uniform = log(2) + ((double)rows.length - 2) * log(3);
        check_no_alignment(a, uniform / (double)rows.length);
        ch_tensors_free(dump);
        free(whole);
        ch_attention_free(a);
        a = look(model, (ch_sequence){text, 5}, 0);
        assert_int_equal(ch_attention_generated(a).length, 0);
        assert_int_equal(ch_attention_rows(a).length, 5 + lines);
        ch_attention_free(a);
        ch_model_free(model);
    }
}

static void texts_that_do_not_fit(void **state) {
    (void)state;
    static const int text[25] = {0}, bad[] = {0, 6};
    ch_model *model = text_model("", "abcdef", 0);
    ch_attention *a;
    ch_error error;
    check_sentence(ch_look(model, (ch_sequence){text, 25}, 0, &a, &error), CH_FAILED, &error,
                   "the source has 25 tokens", "at most 24", NULL);
    check_sentence(ch_look(model, (ch_sequence){text, 20}, 5, &a, &error), CH_USAGE, &error,
                   "max-new: expected 0 to 4 behind 20 tokens", "found 5", NULL);
    check_sentence(ch_look(model, (ch_sequence){text, 20}, -1, &a, &error), CH_USAGE, &error, "found -1", NULL);
    check_sentence(ch_look(model, (ch_sequence){text, 0}, 1, &a, &error), CH_FAILED, &error, "empty", NULL);
    check_sentence(ch_look(model, (ch_sequence){bad, 2}, 0, &a, &error), CH_FAILED, &error, "token 2 is 6", NULL);
    ch_attention_free(look(model, (ch_sequence){text, 20}, 4));
    ch_attention_free(look(model, (ch_sequence){text, 24}, 0));
    ch_model_free(model);
}

/* Both ways, with a window to either side; <sos> stands before what a classifier reads. */
static void an_encoder_alone_sees_both_ways(void **state) {
    (void)state;
    static const int brackets[] = {0, 2, 3, 1, 0, 1}, class = 1;
    for (int window = 0; window < 2; window++) {
        ch_recipe *recipe = small_recipe("arch=encoder-only task=brackets");
        if (window) set_option(recipe, "window", "2");
        ch_model *model = model_of(recipe);
        ch_attention *a = look(model, (ch_sequence){brackets, 6}, 0);
        ch_sequence rows = ch_attention_rows(a);
        assert_int_equal(ch_attention_generated(a).length, 0);
        assert_int_equal(rows.length, 7);
        assert_int_equal(rows.tokens[0], ch_vocab_sos(ch_model_vocab(model)));
        assert_memory_equal(rows.tokens + 1, brackets, sizeof brackets);
        ch_tensors *dump = dump_of(model, (ch_sequence){brackets, 6}, (ch_sequence){&class, 1});
        check_self(a, dump, "enc.0.attn", window ? 1 : 30, window ? 1 : 30);
        check_no_alignment(a, window ? (2 * log(2) + 5 * log(3)) / 7 : log(7));
        ch_tensors_free(dump);
        ch_attention_free(a);
        ch_model_free(model);
        ch_recipe_free(recipe);
    }
}

/* ---- pictures, text, numbers ---- */

static ch_figure *figure_of(const ch_attention *attention, int layer, int head) {
    ch_figure *figure;
    ch_error error;
    check_ok(ch_figure_attention(attention, layer, head, &figure, &error), &error);
    return figure;
}

static void check_selection(const ch_attention *attention, int layer, int head, const char *says) {
    ch_figure *figure = (ch_figure *)1;
    char *text = (char *)1;
    ch_error error;
    check_sentence(ch_figure_attention(attention, layer, head, &figure, &error), CH_USAGE, &error, says, NULL);
    assert_null(figure);
    check_sentence(ch_text_numbers(attention, layer, head, &text, &error), CH_USAGE, &error, says, NULL);
    assert_null(text);
    assert_int_equal(ch_text_numbers(attention, layer, head, &text, NULL), CH_USAGE);
}

static void layers_and_heads_out_of_range(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    ch_attention *attention = look(model, (ch_sequence){digits, 6}, 0);
    check_selection(attention, 1, 0, "layer: expected 0, found 1");
    check_selection(attention, 0, 2, "head: expected 0 to 1 in layer 0, found 2");
    check_selection(attention, -1, 1000000, "found 1000000");
    ch_attention_free(attention);
    ch_model_free(model);
}

static void check_picture(const ch_attention *attention, const char *folder, const char *name, int head,
                          const char *start) {
    ch_figure *figure = figure_of(attention, -1, head);
    ch_error error;
    check_ok(ch_figure_save(figure, path_in(folder, name), 0, &error), &error);
    ch_figure_free(figure);
    size_t size;
    char *bytes = file_bytes(path_in(folder, name), &size);
    assert_true(size > 500);
    assert_memory_equal(bytes, start, strlen(start));
    free(bytes);
}

static void pictures_are_written(void **state) {
    (void)state;
    char *folder = make_temp_folder();
    ch_model *model = open_model(TINY);
    ch_attention *attention = look(model, (ch_sequence){digits, 6}, 0);
    check_picture(attention, folder, "all.png", -1, "\x89PNG\r\n");
    check_picture(attention, folder, "one.png", 1, "\x89PNG\r\n");
    check_picture(attention, folder, "all.svg", -1, "<?xml");
    check_picture(attention, folder, "all.pdf", -1, "%PDF-");
    ch_figure *figure = figure_of(attention, -1, -1);
    ch_error error;
    ch_status status = ch_figure_save(figure, path_in(folder, "map.gif"), 0, &error);
    assert_int_not_equal(status, CH_OK);
    assert_non_null(strstr(error.message, "png"));
    assert_false(is_there(folder, "map.gif"));
    status = ch_figure_save(figure, path_in(folder, "none/map.png"), 0, &error);
    check_sentence(status, CH_FAILED, &error, "none", NULL);
    ch_figure_free(figure);
    ch_figure_free(NULL);
    ch_attention_free(attention);
    ch_model_free(model);
    remove_folder(folder);
}

/* The numbers in the table are those of the map, two digits behind the point. */
static void numbers_are_those_of_the_map(void **state) {
    (void)state;
    struct made made = make_map();
    fill_line(&made, true, 0.85);
    char *text;
    ch_error error;
    check_ok(ch_text_numbers(made.attention, 0, 0, &text, &error), &error);
    int high = 0, low = 0;
    for (const char *at = text; (at = strstr(at, "0.85")); at++) high++;
    for (const char *at = text; (at = strstr(at, "0.03")); at++) low++;
    assert_int_equal(high, SIDE);
    assert_int_equal(low, SIDE * (SIDE - 1) + SIDE);
    ch_string_free(text);
    check_ok(ch_text_numbers(made.attention, -1, -1, &text, &error), &error);
    assert_non_null(strstr(text, "layer 0, head 0"));
    assert_non_null(strstr(text, "layer 0, head 1"));
    ch_string_free(text);
    ch_figure *figure = figure_of(made.attention, 0, -1);
    check_ok(ch_figure_text(figure, CH_COLOURS_NONE, 0, &text, &error), &error);
    ch_figure_free(figure);
    assert_non_null(strstr(text, "head 1"));
    for (const char *at = text; *at; at++) assert_true((unsigned char)*at < 127 && *at != 27); /* no colour was asked */
    ch_string_free(text);
    ch_attention_free(made.attention);
    ch_model_free(made.model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_distributions),
        cmocka_unit_test(sources_that_do_not_fit),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(only_rows_of_source_tokens_count),
        cmocka_unit_test(a_decoder_alone_looks_at_all_that_came_before),
        cmocka_unit_test(a_text_goes_on),
        cmocka_unit_test(texts_that_do_not_fit),
        cmocka_unit_test(an_encoder_alone_sees_both_ways),
        cmocka_unit_test(layers_and_heads_out_of_range),
        cmocka_unit_test(pictures_are_written),
        cmocka_unit_test(numbers_are_those_of_the_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
