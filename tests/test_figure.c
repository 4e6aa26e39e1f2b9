/*
 * Figures through the public header: every kind in every format at several widths, as text that fits, as the numbers
 * it shows; what is wrong with what they are made from; and memory that runs out.
 */
#include "models.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TINY CH_TEST_DATA "/lesson_tiny_model.safetensors"

/* What figures are made from: made once. */
static struct {
    char *folder, *run, *other;
    ch_model *model;
    ch_attention *attention;
    ch_recipe *recipe; /* of positions */
} made;

static char *train_run(const char *name, const char *seed) {
    ch_recipe *recipe =
        recipe_of("d-model", "8", "heads", "2", "d-ff", "12", "layers", "1", "max-positions", "12", "batch-size", "5",
                  "steps", "9", "log-every", "2", "save-every", "4", "validation", "7", "seed", seed, NULL);
    char *run = strdup(path_in(made.folder, name));
    ch_error error;
    set_option(recipe, "log-gradients", "on");
    ch_trainer *trainer = trainer_of(recipe, run);
    check_ok(ch_trainer_run(trainer, NULL, NULL, &error), &error);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    return run;
}

static int set_up(void **state) {
    (void)state;
    static const int digits[] = {7, 2, 9, 0, 4, 6};
    made.folder = make_temp_folder();
    made.run = train_run("run", "1");
    made.other = train_run("other", "2");
    made.model = open_model(TINY);
    made.recipe = recipe_of("d-model", "16", "max-positions", "20", NULL);
    return ch_look(made.model, (ch_sequence){digits, 6}, 0, &made.attention, NULL) == CH_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    ch_attention_free(made.attention);
    ch_model_free(made.model);
    ch_recipe_free(made.recipe);
    free(made.run);
    free(made.other);
    remove_folder(made.folder);
    return 0;
}

enum kind { ATTENTION, POSITIONS, TRAINING, TWO_RUNS, LAYERS, WEIGHTS, KINDS };

static ch_status make(enum kind kind, ch_figure **figure, ch_error *error) {
    const char *runs[] = {made.run, made.other};
    ch_training_view layers = {.layers = true};
    *figure = NULL;
    switch (kind) {
    case ATTENTION:
        return ch_figure_attention(made.attention, -1, -1, figure, error);
    case POSITIONS:
        return ch_figure_positions(made.recipe, figure, error);
    case TRAINING:
        return ch_figure_training(runs, 1, NULL, figure, error);
    case TWO_RUNS:
        return ch_figure_training(runs, 2, NULL, figure, error);
    case LAYERS:
        return ch_figure_training(runs, 2, &layers, figure, error);
    default:
        return ch_figure_weights(made.model, figure, error);
    }
}

static ch_figure *figure_of(enum kind kind) {
    ch_figure *figure;
    ch_error error;
    check_ok(make(kind, &figure, &error), &error);
    return figure;
}

/* ---- pictures ---- */

static int big_endian(const unsigned char *bytes) {
    return bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static char *saved(const ch_figure *figure, const char *name, int width, size_t *size) {
    ch_error error;
    check_ok(ch_figure_save(figure, path_in(made.folder, name), width, &error), &error);
    char *bytes = file_bytes(path_in(made.folder, name), size);
    remove(path_in(made.folder, name));
    return bytes;
}

static void check_ends(const char *bytes, size_t size, const char *begin, const char *end) {
    assert_true(size > strlen(begin) + strlen(end));
    assert_memory_equal(bytes, begin, strlen(begin));
    assert_memory_equal(bytes + size - strlen(end), end, strlen(end));
}

static void check_pictures(const ch_figure *figure, int width) {
    size_t size;
    char *bytes = saved(figure, "f.png", width, &size), attribute[64];
    check_ends(bytes, size, "\x89PNG\r\n\x1a\n", "IEND\xae\x42\x60\x82");
    int wide = big_endian((unsigned char *)bytes + 16), high = big_endian((unsigned char *)bytes + 20);
    assert_true(width ? wide == width : wide > 400 && wide <= 900);
    assert_true(high > wide / 4 && high < 8 * wide);
    free(bytes);
    bytes = saved(figure, "f.svg", width, &size);
    check_ends(bytes, size, "<?xml", "</svg>\n");
    snprintf(attribute, sizeof attribute, "width=\"%dpx\" height=\"%dpx\"", wide, high);
    assert_non_null(strstr(bytes, attribute));
    free(bytes);
    bytes = saved(figure, "f.PDF", width, &size);
    check_ends(bytes, size, "%PDF-1.", "%%EOF\n");
    free(bytes);
}

static void every_figure_at_every_width(void **state) {
    (void)state;
    static const int widths[] = {0, 100, 400, 3000};
    for (int kind = 0; kind < KINDS; kind++) {
        ch_figure *figure = figure_of((enum kind)kind);
        for (int i = 0; i < (SANITIZED ? 3 : 4); i++) check_pictures(figure, widths[i]);
        ch_figure_free(figure);
    }
    ch_figure_free(NULL);
}

/* A run whose gradients are of so many layers. */
static const char *layered_run(const char *name, int layers) {
    char line[2048], norms[900] = "";
    for (int i = 0, used = 0; i < layers; i++)
        used += snprintf(norms + used, sizeof norms - (size_t)used, "%s\"enc.%d.ff.w\":1", i ? "," : "", i);
    int length =
        snprintf(line, sizeof line, "{\"schema\":1,\"step\":1,\"gradient\":{%s},\"update\":{%s}}\n", norms, norms);
    const char *run = strdup(path_in(made.folder, name));
    mkdir(run, 0777);
    put_bytes(path_in(run, "gradients.jsonl"), line, (size_t)length);
    return run;
}

static int layers_height(const char *const *runs) {
    ch_training_view layers = {.layers = true};
    ch_figure *figure;
    ch_error error;
    size_t size;
    check_ok(ch_figure_training(runs, 2, &layers, &figure, &error), &error);
    char *bytes = saved(figure, "f.png", 900, &size);
    int height = big_endian((unsigned char *)bytes + 20);
    free(bytes);
    ch_figure_free(figure);
    return height;
}

/* Runs of different depths: each map is as high as its own layers. Half as many save half of a map's height, twice. */
static void every_map_has_its_own_height(void **state) {
    (void)state;
    const char *deep = layered_run("deep", 24), *flat = layered_run("flat", 12);
    const char *first[] = {flat, deep}, *last[] = {deep, flat}, *both[] = {deep, deep}, *none[] = {flat, flat};
    int whole = layers_height(both), less = layers_height(first);
    assert_int_equal(layers_height(last), less);
    assert_true(whole - less > 150); /* 2 x 12 rows of a line of text each */
    assert_true(layers_height(none) < whole);
    free((char *)(uintptr_t)deep), free((char *)(uintptr_t)flat);
}

static bool holds_word(const char *bytes, size_t size, const char *word) {
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(bytes + i, word, length) == 0) return true;
    return false;
}

/* The same picture twice is the same file, today and tomorrow: no format has a date in it. */
static void pictures_are_deterministic(void **state) {
    (void)state;
    static const char *const names[] = {"a.png", "a.svg", "a.pdf"};
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 3; i++) {
            size_t size, other;
            ch_figure *figure = figure_of((enum kind)kind), *again = figure_of((enum kind)kind);
            char *a = saved(figure, names[i], 700, &size), *b = saved(again, names[i], 700, &other);
            assert_int_equal(size, other);
            assert_memory_equal(a, b, size);
            assert_false(holds_word(a, size, "Date"));
            free(a), free(b);
            ch_figure_free(figure);
            ch_figure_free(again);
        }
}

static void check_not_saved(const ch_figure *figure, const char *name, int width, const char *says) {
    ch_error error;
    ch_status status = ch_figure_save(figure, path_in(made.folder, name), width, &error);
    check_sentence(status, CH_USAGE, &error, says, NULL);
    assert_false(is_there(made.folder, name));
}

static void pictures_that_are_refused(void **state) {
    (void)state;
    ch_figure *figure = figure_of(WEIGHTS);
    check_not_saved(figure, "x.png", 99, "expected a width of 100 to 20000 pixels, found 99");
    check_not_saved(figure, "x.png", -1, "found -1");
    check_not_saved(figure, "x.svg", 20001, "found 20001");
    check_not_saved(figure, "x.bmp", 400, "ending in .png, .pdf or .svg");
    ch_figure_free(figure);
    ch_recipe *recipe = recipe_of("d-model", "4", "heads", "1", "d-ff", "4", "layers", "20", NULL);
    ch_model *model = model_of(recipe); /* some 850 rows */
    ch_error error;
    check_ok(ch_figure_weights(model, &figure, &error), &error);
    check_not_saved(figure, "x.png", 4000, "at 4000 pixels of width it would be");
    ch_figure_free(figure);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

/* ---- text ---- */

static void check_text(const ch_figure *figure, ch_colours colours, int columns) {
    char *text;
    ch_error error;
    check_ok(ch_figure_text(figure, colours, columns, &text, &error), &error);
    int width = 0, most = columns == 0 ? 80 : columns < 20 ? 20 : columns;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        assert_true(colours != CH_COLOURS_NONE || *at == '\n' || (*at >= ' ' && *at <= '~'));
        if (*at == '\x1b') {
            while (*at != 'm') at++;
        } else if (*at == '\n') {
            width = 0;
        } else if ((*at & 0xC0) != 0x80 && ++width > most) {
            fail_msg("a line of more than %d columns:\n%s", most, text);
        }
    }
    assert_int_equal(text[strlen(text) - 1], '\n');
    ch_string_free(text);
}

static void text_fits(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        ch_figure *figure = figure_of((enum kind)kind);
        for (int columns = 0; columns < 200; columns += columns < 100 ? 7 : 31)
            for (int c = CH_COLOURS_NONE; c <= CH_COLOURS_TRUE; c++) check_text(figure, (ch_colours)c, columns);
        ch_figure_free(figure);
    }
}

/* ---- numbers ---- */

static struct js_value *numbers_of(enum kind kind) {
    ch_figure *figure = figure_of(kind);
    char *text;
    struct js_value *object;
    int64_t schema;
    ch_error error;
    check_ok(ch_figure_json(figure, &text, &error), &error);
    assert_null(strchr(text, '\n'));
    check_ok(js_parse(text, strlen(text), "figure", &object, &error), &error);
    check_ok(js_int(js_find(object, "schema"), "figure", "schema", &schema, &error), &error);
    assert_int_equal(schema, 1);
    ch_string_free(text);
    ch_figure_free(figure);
    return object;
}

static const struct js_value *panel_of(const struct js_value *figure, size_t i) {
    return js_at(js_find(figure, "panels"), i);
}

static double number_at(const struct js_value *array, size_t i) {
    double value;
    ch_error error;
    check_ok(js_double(js_at(array, i), "figure", "element", &value, &error), &error);
    return value;
}

static double number_of(const struct js_value *object, const char *key) {
    double value;
    ch_error error;
    check_ok(js_double(js_find(object, key), "figure", key, &value, &error), &error);
    return value;
}

/* By the formula, in double; the table is computed in float from an angle of at most 19, whose rounding shows. */
static void positions_are_the_formula(void **state) {
    (void)state;
    struct js_value *figure = numbers_of(POSITIONS);
    const struct js_value *map = js_at(js_find(panel_of(figure, 0), "maps"), 0), *rows = js_find(map, "values");
    const struct js_value *line = js_at(js_find(panel_of(figure, 1), "series"), 0);
    assert_int_equal(js_count(rows), 20);
    for (size_t pos = 0; pos < 20; pos++) {
        assert_int_equal(js_count(js_at(rows, pos)), 16);
        for (size_t i = 0; i < 16; i += 2) {
            double angle = (double)pos / pow(10000, (double)i / 16);
            assert_true(fabs(number_at(js_at(rows, pos), i) - sin(angle)) < 1e-5);
            assert_true(fabs(number_at(js_at(rows, pos), i + 1) - cos(angle)) < 1e-5);
        }
        assert_true(fabs(number_at(js_find(line, "y"), pos) - sin((double)pos)) < 1e-5);
    }
    js_free(figure);
}

/* Cosines of all pairs, then sines; lines are cosines. */
static void rotary_positions_are_the_formula(void **state) {
    (void)state;
    ch_recipe *kept = made.recipe;
    made.recipe = recipe_of("d-head", "8", "max-positions", "20", "position", "rope", "rope-base", "100",
                            "rope-scaling", "linear", "rope-factor", "2", NULL);
    struct js_value *figure = numbers_of(POSITIONS);
    const struct js_value *map = js_at(js_find(panel_of(figure, 0), "maps"), 0), *rows = js_find(map, "values");
    const struct js_value *series = js_find(panel_of(figure, 1), "series");
    assert_int_equal(js_count(series), 2); /* pairs 0 and 2: other shares of four pairs fall on them */
    for (size_t pos = 0; pos < 20; pos++) {
        assert_int_equal(js_count(js_at(rows, pos)), 8);
        for (size_t i = 0; i < 4; i++) {
            double angle = (double)pos / 2 / pow(100, (double)i / 4);
            assert_true(fabs(number_at(js_at(rows, pos), i) - cos(angle)) < 1e-6);
            assert_true(fabs(number_at(js_at(rows, pos), i + 4) - sin(angle)) < 1e-6);
        }
        assert_true(fabs(number_at(js_find(js_at(series, 1), "y"), pos) - cos((double)pos / 20)) < 1e-6);
    }
    js_free(figure);
    ch_recipe_free(made.recipe);
    made.recipe = kept;
}

static void weights_are_those_of_the_model(void **state) {
    (void)state;
    struct js_value *figure = numbers_of(WEIGHTS);
    const struct js_value *rows = js_find(panel_of(figure, 0), "rows");
    size_t row = 0;
    ch_error error;
    for (int t = 0; t < made.model->params.count; t++) {
        const struct param *param = &made.model->params.row[t];
        if (!param_is_trained(param)) continue;
        const struct js_value *found = js_at(rows, row++);
        const char *name;
        const real *value = made.model->params.value + param->offset;
        double sum = 0, squares = 0, low = (double)INFINITY, below = 0;
        check_ok(js_text(js_find(found, "name"), "figure", "name", &name, &error), &error);
        assert_string_equal(name, param->name);
        double mean = number_of(found, "mean"), median = number_of(found, "median");
        for (size_t i = 0; i < param->count; i++) {
            sum += (double)value[i];
            squares += ((double)value[i] - mean) * ((double)value[i] - mean);
            low = fmin(low, (double)value[i]);
            below += (double)value[i] <= median;
        }
        double count = (double)param->count;
        assert_true(number_of(found, "count") == count && number_of(found, "min") == low);
        assert_true(fabs(mean - sum / count) < 1e-12);
        assert_true(fabs(number_of(found, "deviation") - sqrt(squares / count)) < 1e-12);
        assert_true(below >= count / 2);
        assert_true(number_of(found, "q05") <= number_of(found, "q25") && number_of(found, "q25") <= median);
        assert_true(median <= number_of(found, "q75") && number_of(found, "q95") <= number_of(found, "max"));
    }
    assert_int_equal(js_count(rows), row);
    js_free(figure);
}

static void training_is_the_log(void **state) {
    (void)state;
    static const double steps[] = {1, 2, 4, 6, 8, 9};
    struct js_value *figure = numbers_of(TWO_RUNS);
    assert_int_equal(js_count(js_find(figure, "panels")), 5);
    assert_int_equal(js_count(js_find(panel_of(figure, 0), "names")), 2); /* no run of the lesson among them */
    const struct js_value *loss = js_at(js_find(panel_of(figure, 1), "series"), 0);
    assert_int_equal(js_count(js_find(loss, "x")), 6);
    size_t size;
    char *log = file_bytes(path_in(made.run, "log.jsonl"), &size), *at = log;
    for (size_t i = 0; i < 6; i++) {
        struct js_value *line;
        char *end = strchr(at, '\n');
        ch_error error;
        check_ok(js_parse(at, (size_t)(end - at), "log", &line, &error), &error);
        assert_true(number_at(js_find(loss, "x"), i) == steps[i]);
        assert_true(number_at(js_find(loss, "y"), i) == number_of(line, "loss"));
        js_free(line);
        at = end + 1;
    }
    free(log);
    const struct js_value *validation = js_at(js_find(panel_of(figure, 4), "series"), 1);
    assert_int_equal(js_count(js_find(validation, "x")), 3); /* 4, 8, 9 */
    const struct js_value *marks = js_find(panel_of(figure, 1), "marks");
    assert_true(fabs(number_of(js_at(marks, 0), "low") - 2.5) < 1e-3);
    assert_true(fabs(number_of(js_at(marks, 0), "high") - 3.5) < 1e-3);
    assert_true(fabs(number_of(js_at(marks, 1), "low") - 2.5649493574615367) < 1e-12);
    js_free(figure);
}

/* A layer's norm holds its tensors': over all layers the squares are those of the log. */
static void layers_add_up(void **state) {
    (void)state;
    struct js_value *figure = numbers_of(LAYERS), *line;
    const struct js_value *map = js_at(js_find(panel_of(figure, 0), "maps"), 0), *values = js_find(map, "values");
    static const char *const names[] = {"src_emb",  "tgt_emb",         "enc.0.attn",       "enc.0.ff", "enc.0.n1",
                                        "enc.0.n2", "dec.0.self_attn", "dec.0.cross_attn", "dec.0.ff", "dec.0.n1",
                                        "dec.0.n2", "dec.0.n3",        "generator"};
    enum { LAYER_COUNT = sizeof names / sizeof *names };
    size_t size;
    ch_error error;
    double squares = 0;
    assert_int_equal(js_count(values), LAYER_COUNT);
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        const char *name;
        check_ok(js_text(js_at(js_find(map, "rows"), i), "figure", "row", &name, &error), &error);
        assert_string_equal(name, names[i]);
        squares += pow(number_at(js_at(values, i), 0), 2);
    }
    char *log = file_bytes(path_in(made.run, "log.jsonl"), &size);
    check_ok(js_parse(log, strcspn(log, "\n"), "log", &line, &error), &error);
    double expected = number_of(line, "grad_norm");
    assert_true(fabs(sqrt(squares) - expected) < 1e-6 * expected); /* layers are kept in float */
    js_free(line);
    js_free(figure);
    free(log);
}

/* ---- what is wrong with a run ---- */

static void check_log(const char *name, const char *text, bool layers, const char *says, const char *more) {
    char run[512];
    const char *folders[] = {made.run, run};
    ch_training_view view = {.layers = layers};
    ch_figure *figure = (ch_figure *)1;
    ch_error error;
    snprintf(run, sizeof run, "%s/broken", made.folder);
    mkdir(run, 0777);
    if (text) put_bytes(path_in(run, name), text, strlen(text));
    check_sentence(ch_figure_training(folders, 2, &view, &figure, &error), CH_FAILED, &error, "broken", says, more,
                   NULL);
    assert_null(figure);
    assert_int_equal(ch_figure_training(folders, 2, &view, &figure, NULL), CH_FAILED);
    remove(path_in(run, name));
}

/* A run with the steps 1, 4 and 10 beside one that ends at 2: both stand at their steps, against one axis. */
#define NORMS(step, norm) "{\"schema\":1,\"step\":" step ",\"gradient\":{\"a.w\":" norm "},\"update\":{\"a.w\":0}}\n"

static void layers_stand_at_their_steps(void **state) {
    (void)state;
    char a[512], b[512], *text;
    const char *folders[] = {a, b};
    ch_training_view view = {.layers = true};
    ch_figure *figure;
    struct js_value *object;
    ch_error error;
    snprintf(a, sizeof a, "%s/steps", made.folder);
    snprintf(b, sizeof b, "%s/a-run-whose-name-is-longer-than-a-terminal-of-forty-columns", made.folder);
    mkdir(a, 0777), mkdir(b, 0777);
    put_bytes(path_in(a, "gradients.jsonl"), NORMS("1", "0.001") NORMS("4", "1") NORMS("10", "0.001"),
              strlen(NORMS("1", "0.001") NORMS("4", "1") NORMS("10", "0.001")));
    put_bytes(path_in(b, "gradients.jsonl"), NORMS("1", "1") NORMS("2", "1"), strlen(NORMS("1", "1") NORMS("2", "1")));
    check_ok(ch_figure_training(folders, 2, &view, &figure, &error), &error);
    check_ok(ch_figure_text(figure, CH_COLOURS_NONE, 42, &text, &error), &error);
    /* 40 cells of a quarter of a step: 4 is nearest from 2.5 to 7, and the other run ends at 2 */
    assert_non_null(strstr(text, "/steps\n"
                                 "a           @@@@@@@@@@@@@@@@@@            \n"
                                 "  +-------+-------+-------+-------+------+\n"
                                 "  0       2       4       6       8     10\n"));
    assert_non_null(strstr(text, "a @@@@@@@@\n"
                                 "  +-------+-------+-------+-------+------+\n"
                                 "  0       2       4       6       8     10\n"));
    assert_non_null(strstr(text, "\nnorm of the gradient, before clipping\n"));
    assert_non_null(strstr(text, "/\na-run-whose-name-is-longer-than-a-terminal\n-of-forty-columns\n"));
    assert_null(strchr(text, '~')); /* nothing is cut */
    ch_string_free(text);
    check_ok(ch_figure_json(figure, &text, &error), &error);
    check_ok(js_parse(text, strlen(text), "figure", &object, &error), &error);
    const struct js_value *column = js_find(js_at(js_find(panel_of(object, 0), "maps"), 0), "columns");
    assert_int_equal(js_count(column), 3);
    assert_true(number_at(column, 1) == 4 && number_at(column, 2) == 10);
    js_free(object);
    ch_string_free(text);
    check_pictures(figure, 400);
    ch_figure_free(figure);
}

#define GOOD "{\"schema\":1,\"step\":1,\"loss\":3.1,\"grad_norm\":4.6,\"lr\":1e-6,\"next_lr\":2e-6}\n"

#define WITH(step, loss, norm, lr)                                                                                     \
    "{\"schema\":1,\"step\":" step ",\"loss\":" loss ",\"grad_norm\":" norm ",\"lr\":" lr "}\n"

static void logs_that_are_damaged(void **state) {
    (void)state;
    const char *name = "log.jsonl";
    check_log(name, NULL, false, "expected the folder of a run", "holds no log.jsonl");
    check_log(name, "", false, "log.jsonl", "it is empty");
    check_log(name, "{\"schema\":1,", false, "has not one whole line", "log.jsonl");
    check_log(name, GOOD "nonsense\n" GOOD, false, "log.jsonl, line 2", "expected a JSON object");
    check_log(name, GOOD "[1]\n", false, "log.jsonl, line 2", "expected an object, found an array");
    check_log(name, GOOD GOOD, false, "log.jsonl, line 2", "'step': expected more than 1, found 1");
    check_log(name, "{\"schema\":2,\"step\":1}\n", false, "log.jsonl, line 1", "'schema': expected 1, found 2");
    check_log(name, "{\"step\":1}\n", false, "log.jsonl, line 1", "'schema' is missing");
    check_log(name, "{\"schema\":1,\"step\":1,\"loss\":3}\n", false, "log.jsonl, line 1", "'grad_norm' is missing");
    check_log(name, "{\"schema\":1,\"step\":1,\"loss\":null}\n", false, "'loss': expected a number", "found null");
    check_log(name, GOOD WITH("-2", "1", "1", "1"), false, "line 2", "'step': expected more than 1, found -2");
    check_log(name, WITH("1", "-3", "1", "1"), false, "line 1", "'loss': expected 0 or more, found -3");
    check_log(name, WITH("1", "1", "-0.5", "1"), false, "line 1", "'grad_norm': expected 0 or more, found -0.5");
    check_log(name, WITH("1", "1", "1", "-1e-3"), false, "line 1", "'lr': expected 0 or more, found -0.001");
    check_log(name, WITH("1", "1", "1", "1,\"validation_loss\":-1"), false, "'validation_loss'", "found -1");
    check_log(name, GOOD WITH("2", "1e999", "1", "1"), false, "line 2",
              "'loss': expected a finite number, found 1e999");
    check_log(name, WITH("1", "1", "-1e999", "1"), false, "'grad_norm': expected a finite number", "found -1e999");
    check_log(name, WITH("1", "1", "1", " NaN"), false, "'lr': expected a finite number, found NaN", "line 1");
    check_log(name, WITH("1", "Infinity", "1", "1"), false, "'loss': expected a finite number", "found Infinity");
    check_log(name, WITH("99999999999999999999", "1", "1", "1"), false, "'step': expected a whole number below 2^63",
              "found 99999999999999999999");
    check_log(name, WITH("1", "1", "1", "1,\"a\\\": NaN\":x"), false, "expected a JSON object", "line 1");
    name = "gradients.jsonl";
    check_log(name, NULL, true, "holds no gradients.jsonl", "--log-gradients");
    check_log(name, "{\"schema\":1,\"step\":1}\n", true, "line 1", "'gradient' is missing");
    check_log(name, "{\"schema\":1,\"step\":1,\"gradient\":{},\"update\":{}}\n", true, "line 1", "found 0");
    check_log(name, "{\"schema\":1,\"step\":1,\"gradient\":{\"a.w\":1},\"update\":{\"b.w\":1}}\n", true, "'update'",
              "found 'b.w'");
    check_log(name, "{\"schema\":1,\"step\":1,\"gradient\":{\"a.w\":1},\"update\":{}}\n", true, "'update'",
              "expected 1 tensor as in the first line, found 0");
    check_log(name, NORMS("1", "-1"), true, "line 1: 'a.w': expected 0 or more, found -1", "");
    check_log(name, NORMS("1", "1") NORMS("2", "1e999"), true, "line 2: 'a.w': expected a finite number", "1e999");
    check_log(name, "{\"schema\":1,\"step\":1,\"gradient\":{\"a.w\":\"x\"},\"update\":{}}\n", true, "'a.w'",
              "found a string");
}

/* A line that is being written is passed over; a run without a recipe is drawn, without what the recipe would say. */
static void logs_that_are_good_enough(void **state) {
    (void)state;
    char run[512];
    const char *folders[] = {run};
    ch_figure *figure;
    ch_error error;
    snprintf(run, sizeof run, "%s/bare", made.folder);
    mkdir(run, 0777);
    put_bytes(path_in(run, "log.jsonl"), GOOD "{\"schema\":1,", strlen(GOOD "{\"schema\":1,"));
    check_ok(ch_figure_training(folders, 1, NULL, &figure, &error), &error);
    check_pictures(figure, 400);
    check_text(figure, CH_COLOURS_NONE, 60);
    ch_figure_free(figure);
    check_sentence(ch_figure_training(folders, 0, NULL, &figure, &error), CH_USAGE, &error, "1 to 64 runs, found 0",
                   NULL);
    put_bytes(path_in(run, "recipe.json"), "{\"heads\":0}", 11);
    check_sentence(ch_figure_training(folders, 1, NULL, &figure, &error), CH_USAGE, &error, "recipe.json", "heads",
                   NULL);
}

static void other_bad_input(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("d-model", "7", NULL);
    ch_figure *figure = (ch_figure *)1;
    ch_error error;
    check_sentence(ch_figure_positions(recipe, &figure, &error), CH_USAGE, &error, "d-model: expected an even number",
                   NULL);
    assert_null(figure);
    static const char *const tables[] = {"learned", "none", "alibi", "relative-bias"};
    for (size_t i = 0; i < 4; i++) {
        set_option(recipe, "position", tables[i]);
        check_sentence(ch_figure_positions(recipe, &figure, &error), CH_USAGE, &error, tables[i], "no table", NULL);
        assert_null(figure);
    }
    set_option(recipe, "position", "rope");
    set_option(recipe, "d-head", "5");
    check_sentence(ch_figure_positions(recipe, &figure, &error), CH_USAGE, &error, "d-head", "found 5", NULL);
    set_option(recipe, "position", "sinusoidal");
    set_option(recipe, "d-model", "1000000");
    set_option(recipe, "max-positions", "10000000");
    check_sentence(ch_figure_positions(recipe, &figure, &error), CH_NO_MEMORY, &error, "GiB", NULL);
    ch_recipe_free(recipe);
    real *value = values_of(made.model, "enc.0.attn.W_q.weight"), kept = value[5];
    value[5] = (real)NAN;
    check_sentence(ch_figure_weights(made.model, &figure, &error), CH_FAILED, &error, "enc.0.attn.W_q.weight", "at 5",
                   NULL);
    value[5] = kept;
}

/* ---- memory ---- */

static struct { long left, held; } budget;

static void *allocate(size_t bytes) {
    if (budget.left-- <= 0) return NULL;
    budget.held++;
    return malloc(bytes);
}

static void *reallocate(void *old, size_t bytes) {
    if (budget.left-- <= 0) return NULL;
    budget.held += old == NULL;
    return realloc(old, bytes);
}

static void release(void *memory) {
    budget.held -= memory != NULL;
    free(memory);
}

static ch_status use(enum kind kind, ch_error *error) {
    ch_figure *figure;
    char *text = NULL;
    ch_status status = make(kind, &figure, error);
    if (status == CH_OK) status = ch_figure_text(figure, CH_COLOURS_256, 80, &text, error);
    ch_string_free(text);
    text = NULL;
    if (status == CH_OK) status = ch_figure_json(figure, &text, error);
    ch_string_free(text);
    if (status == CH_OK) status = ch_figure_save(figure, path_in(made.folder, "memory.svg"), 300, error);
    ch_figure_free(figure);
    return status;
}

/* Every call of the first few and then ever fewer of them fails: one at a time, from the first to the last. */
static void memory_that_runs_out(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        ch_status status = CH_NO_MEMORY;
        long n = 0, failures = 0;
        for (; status != CH_OK; n += 1 + n / 64) {
            ch_error error = {.message = ""};
            ch_set_allocator(allocate, reallocate, release);
            budget.left = n;
            budget.held = 0;
            status = use((enum kind)kind, &error);
            long held = budget.held;
            ch_set_allocator(NULL, NULL, NULL);
            assert_int_equal(held, 0);
            if (status == CH_OK) break;
            failures++;
            if (status != CH_NO_MEMORY || strlen(error.message) < 10)
                fail_msg("kind %d, call %ld failing: status %d, '%s'", kind, n + 1, (int)status, error.message);
        }
        assert_true(failures > 20);
    }
}

/* Fontconfig keeps what cairo caches of it behind offsets instead of pointers, which a leak checker cannot see. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libfontconfig";
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_figure_at_every_width),
        cmocka_unit_test(every_map_has_its_own_height),
        cmocka_unit_test(pictures_are_deterministic),
        cmocka_unit_test(pictures_that_are_refused),
        cmocka_unit_test(text_fits),
        cmocka_unit_test(positions_are_the_formula),
        cmocka_unit_test(rotary_positions_are_the_formula),
        cmocka_unit_test(weights_are_those_of_the_model),
        cmocka_unit_test(training_is_the_log),
        cmocka_unit_test(layers_add_up),
        cmocka_unit_test(layers_stand_at_their_steps),
        cmocka_unit_test(logs_that_are_damaged),
        cmocka_unit_test(logs_that_are_good_enough),
        cmocka_unit_test(other_bad_input),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
