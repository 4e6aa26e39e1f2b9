#include "recipe/recipe.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/text.h"
#include "io/file.h"
#include "nn/limits.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { WHOLE, NUMBER, CHOICE, SWITCH, PATH };

/* One row: what the user sees, where the value lives, and what values it takes. */
struct row {
    ch_option option;
    enum type type;
    size_t field; /* offset in ch_recipe */
    double least, most;
    bool below_most; /* most itself is not allowed */
    family_row variants;
    const char *family;
};

#define FIELD(name) offsetof(ch_recipe, name)
#define WHOLE_ROW(name, field, standard, least, most, help, group)                                                     \
    { {name, "N", standard, help, group}, WHOLE, FIELD(field), least, most, false, NULL, NULL }
#define NUMBER_ROW(name, field, value, standard, least, most, below_most, help, group)                                 \
    { {name, value, standard, help, group}, NUMBER, FIELD(field), least, most, below_most, NULL, NULL }
#define CHOICE_ROW(name, field, standard, value, variants, help, group)                                                \
    { {name, value, standard, help, group}, CHOICE, FIELD(field), 0, 0, false, variants, name }
#define SWITCH_ROW(name, field, help, group)                                                                           \
    { {name, NULL, "off", help, group}, SWITCH, FIELD(field), 0, 0, false, NULL, NULL }

#define PATH_ROW(name, field, value, help, group)                                                                      \
    { {name, value, "", help, group}, PATH, FIELD(field), 0, 0, false, NULL, NULL }

static const struct row table[] = {
    CHOICE_ROW("task", task, "reverse", "TASK", task_row, "what to learn: reverse, copy or brackets", "data"),
    WHOLE_ROW("symbols", symbols, "10", 1, MOST_SYMBOLS, "words of the vocabulary: numbers from 0", "data"),
    WHOLE_ROW("min-len", min_len, "4", 1, 1e6, "shortest source", "data"),
    WHOLE_ROW("max-len", max_len, "10", 1, 1e6, "longest source", "data"),

    PATH_ROW("text", text_file, "FILE", "a text to learn from, in place of a task", "data"),
    CHOICE_ROW("tokens", tokens, "characters", "{bytes,characters}", text_tokens_row, "what a text is cut into",
               "data"),
    CHOICE_ROW("framing", framing, "windows", "{windows,lines}", framing_row, "how a text becomes examples", "data"),
    NUMBER_ROW("held-out", held_out, "SHARE", "0.1", 0, 1, true,
               "share of a text, its end, that is kept for validation", "data"),

    CHOICE_ROW("preset", preset, "lesson", "NAME", preset_row,
               "parts of a known model, all at once; options that are given, before or behind it, win over it",
               "model"),
    CHOICE_ROW("arch", arch, "encoder-decoder", "NAME", arch_row, "stacks that the model is made of", "model"),
    WHOLE_ROW("d-model", d_model, "64", 1, MOST_WIDTH, "width D of every row", "model"),
    WHOLE_ROW("heads", heads, "4", 1, MOST_HEADS, "attention heads H; must divide d-model, unless d-head is given",
              "model"),
    WHOLE_ROW("kv-heads", kv_heads, "0", 0, MOST_HEADS, "heads K of keys and values; must divide heads; 0: as many",
              "model"),
    WHOLE_ROW("d-head", d_head, "0", 0, MOST_WIDTH, "width Dh of a head; 0: d-model / heads", "model"),
    WHOLE_ROW("d-ff", d_ff, "256", 1, MOST_HIDDEN, "width F of the feed-forward networks", "model"),
    WHOLE_ROW("layers", layers, "2", 1, MOST_LAYERS, "layers of each stack", "model"),
    NUMBER_ROW("dropout", dropout, "RATE", "0.1", 0, 1, true,
               "share of elements that training drops, from 0 to below 1", "model"),
    WHOLE_ROW("max-positions", max_positions, "64", 2, MOST_POSITIONS,
              "positions that the model is made for; sinusoidal and learned ones end there, others extend", "model"),
    CHOICE_ROW("norm", norm, "layernorm", "NAME", norm_row, "normalisation of a row", "model"),
    CHOICE_ROW("norm-placement", placement, "post", "{post,pre}", norm_placement_row,
               "norms behind each residual addition, or before each sublayer", "model"),
    CHOICE_ROW("position", position, "sinusoidal", "NAME", position_row, "how order enters", "model"),
    NUMBER_ROW("rope-base", rope.base, "BASE", "10000", 1, MOST_ROPE_BASE, true,
               "base of rotary positions: the slowest pairs turn about that many times slower than the fastest",
               "model"),
    CHOICE_ROW("rope-scaling", rope.scaling, "none", "NAME", rope_scaling_row,
               "how rotary positions are stretched over longer sequences", "model"),
    NUMBER_ROW("rope-factor", rope.factor, "FACTOR", "1", 1, MOST_ROPE_FACTOR, true,
               "by how much rope-scaling stretches", "model"),
    CHOICE_ROW("ffn", ffn, "relu", "NAME", ffn_row, "feed-forward network", "model"),
    CHOICE_ROW("embedding-scale", embedding_scale, "sqrt", "{sqrt,one}", embedding_scale_row,
               "what embeddings of tokens are multiplied by", "model"),
    CHOICE_ROW("tie", tie, "none", "NAME", tie_row, "which matrices of tokens are one", "model"),
    CHOICE_ROW("bias", bias, "all", "NAME", bias_row, "which layers have biases", "model"),
    SWITCH_ROW("qk-norm", qk_norm,
               "normalise queries and keys of each head, by the model's norm, before they are compared", "model"),
    WHOLE_ROW("window", window, "0", 0, MOST_POSITIONS,
              "positions that self-attention sees, a token's own included (an encoder: as many ahead); 0: all",
              "model"),
    NUMBER_ROW("soft-cap", soft_cap, "CAP", "0", 0, MOST_SOFT_CAP, true,
               "self-attention's scores s become CAP tanh(s / CAP); 0: they stay", "model"),
    CHOICE_ROW("attention", attention, "fused", "{fused,explicit}", attention_core_row,
               "core that computes attention; the results are the same", "model"),

    WHOLE_ROW("batch-size", batch_size, "64", 1, 1e6, "sequences in a step", "training"),
    WHOLE_ROW("steps", steps, "3000", 1, 1e12, "steps of training", "training"),
    NUMBER_ROW("lr", lr, "RATE", "0.001", 0, 1e6, false, "learning rate after warmup", "training"),
    NUMBER_ROW("min-lr", min_lr, "RATE", "0", 0, 1e6, false, "learning rate that schedule cosine falls to", "training"),
    WHOLE_ROW("warmup", warmup, "400", 0, 1e12, "steps over which the learning rate rises from 0", "training"),
    NUMBER_ROW("clip", clip, "NORM", "1.0", 0, 1e30, false, "largest gradient norm; 0: no clipping", "training"),
    CHOICE_ROW("optimizer", optimizer, "adam", "NAME", optimizer_row, "optimiser", "training"),
    NUMBER_ROW("beta1", constants.beta1, "RATE", "0", 0, 1, true,
               "share of the mean gradient that a step keeps; 0: the optimiser's own", "training"),
    NUMBER_ROW("beta2", constants.beta2, "RATE", "0", 0, 1, true,
               "share of the mean squared gradient that a step keeps; 0: the optimiser's own", "training"),
    NUMBER_ROW("epsilon", constants.epsilon, "SIZE", "0", 0, 1, false,
               "what is added to the root of that mean; 0: the optimiser's own", "training"),
    NUMBER_ROW("weight-decay", weight_decay, "RATE", "0.01", 0, 1e6, false,
               "share of the matrices, times the learning rate, that adamw takes off them at every step", "training"),
    CHOICE_ROW("schedule", schedule, "warmup", "NAME", schedule_row, "learning-rate schedule", "training"),
    WHOLE_ROW("average", average, "32", 0, 1e6,
              "the model is the mean of the weights over about the last 1/N of the steps, every eighth counted; 0: the "
              "last weights",
              "training"),
    CHOICE_ROW("init", init, "xavier", "NAME", init_row, "initial weights", "training"),
    WHOLE_ROW("seed", seed, "0", 0, 9007199254740992.0, "seed of weights, examples and dropout", "training"),
    CHOICE_ROW("rng", rng, "philox", "{philox,torch}", rng_row,
               "random numbers: philox, or torch to repeat a run of PyTorch number for number", "training"),

    WHOLE_ROW("threads", threads, "0", 0, 1024, "threads; 0: one for each processor; results do not depend on it",
              "run"),
    WHOLE_ROW("log-every", log_every, "200", 1, 1e12, "steps between log lines", "run"),
    WHOLE_ROW("save-every", save_every, "200", 1, 1e12, "steps between validations and checkpoints", "run"),
    WHOLE_ROW("validation", validation, "500", 0, 1e6,
              "held-out examples that choose the best checkpoint, which becomes the result; 0: the last step is",
              "run"),
    SWITCH_ROW("log-gradients", log_gradients,
               "write gradient and update norms of every tensor, too, at logged steps (gradients.jsonl)", "run"),
};
_Static_assert(sizeof table / sizeof *table == RECIPE_OPTIONS, "RECIPE_OPTIONS counts the rows of the table");

/* Row i of the table, or NULL past its end. */
const ch_option *ch_recipe_option(size_t i) {
    return i < RECIPE_OPTIONS ? &table[i].option : NULL;
}

/* ---- one value ---- */

static const char *text_of(const ch_recipe *recipe, const struct row *row) {
    return row->type == PATH ? (const char *)recipe + row->field : recipe->text[row - table];
}

static const struct row *find(const char *name, ch_error *error) {
    const char *names[RECIPE_OPTIONS];
    for (int i = 0; i < RECIPE_OPTIONS; i++) {
        names[i] = table[i].option.name;
        if (strcmp(names[i], name) == 0) return &table[i];
    }
    char known[800];
    text_list(names, RECIPE_OPTIONS, known, sizeof known);
    const char *nearest = text_nearest(name, names, RECIPE_OPTIONS);
    fail(error, CH_USAGE, "unknown option '%s'%s%s%s; have %s", name, nearest ? " (did you mean '" : "",
         nearest ? nearest : "", nearest ? "'?)" : "", known);
    return NULL;
}

static ch_status set_whole(ch_recipe *recipe, const struct row *row, const char *text, ch_error *error) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool whole = *text && !isspace((unsigned char)*text) && !*end;
    if (!whole || errno || (double)value < row->least || (double)value > row->most)
        return fail(error, CH_USAGE, "%s: expected a whole number from %.0f to %.0f, found '%s'", row->option.name,
                    row->least, row->most, text);
    *(int64_t *)((char *)recipe + row->field) = value;
    return CH_OK;
}

static ch_status set_number(ch_recipe *recipe, const struct row *row, const char *text, ch_error *error) {
    char *end;
    double value = strtod(text, &end);
    bool decimal = *text && strspn(text, "0123456789+-.eE") == strlen(text) && !*end;
    bool high = row->below_most ? value >= row->most : value > row->most;
    if (!decimal || !(value >= row->least) || high)
        return fail(error, CH_USAGE, "%s: expected a number from %g to %s%g, found '%s'", row->option.name, row->least,
                    row->below_most ? "below " : "", row->most, text);
    *(double *)((char *)recipe + row->field) = value;
    return CH_OK;
}

static ch_status set_choice(ch_recipe *recipe, const struct row *row, const char *text, ch_error *error) {
    const ch_variant *variant = family_find(row->family, row->variants, text, error);
    if (!variant) return CH_USAGE;
    memcpy((char *)recipe + row->field, &variant, sizeof variant); /* a descriptor starts with its ch_variant */
    return CH_OK;
}

static ch_status set_switch(ch_recipe *recipe, const struct row *row, const char *text, ch_error *error) {
    bool on = strcmp(text, "on") == 0;
    if (!on && strcmp(text, "off") != 0)
        return fail(error, CH_USAGE, "%s: expected off or on, found '%s'", row->option.name, text);
    *(bool *)((char *)recipe + row->field) = on;
    return CH_OK;
}

static ch_status set_path(ch_recipe *recipe, const struct row *row, const char *text, ch_error *error) {
    size_t length = strlen(text);
    if (length >= RECIPE_PATH)
        return fail(error, CH_USAGE, "%s: expected a path of less than %d bytes, found %zu", row->option.name,
                    RECIPE_PATH, length);
    memcpy((char *)recipe + row->field, text, length + 1);
    return CH_OK;
}

static size_t size_of(enum type type) {
    return type == WHOLE    ? sizeof(int64_t)
           : type == NUMBER ? sizeof(double)
           : type == SWITCH ? sizeof(bool)
                            : sizeof(void *);
}

static ch_status set_row(ch_recipe *recipe, const struct row *row, const char *text, ch_error *error) {
    if (row->type == PATH) return set_path(recipe, row, text, error);
    char *field = (char *)recipe + row->field, before[sizeof(int64_t)];
    memcpy(before, field, size_of(row->type));
    ch_status status = row->type == WHOLE    ? set_whole(recipe, row, text, error)
                       : row->type == NUMBER ? set_number(recipe, row, text, error)
                       : row->type == SWITCH ? set_switch(recipe, row, text, error)
                                             : set_choice(recipe, row, text, error);
    if (status != CH_OK) return status;
    if (memcmp(before, field, size_of(row->type)) != 0) bands_note_change(&recipe->bands, row->option.name);
    snprintf(recipe->text[row - table], RECIPE_TEXT, "%s", text);
    return CH_OK;
}

/* What nobody gave is what the preset says, and else the default. */
static void set_preset(ch_recipe *recipe) {
    for (int i = 0; i < RECIPE_OPTIONS; i++) {
        const char *value = preset_value(recipe->preset, table[i].option.name);
        if (recipe->given[i]) continue;
        ch_status status = set_row(recipe, &table[i], value ? value : table[i].option.default_value, NULL);
        ch_assert(status == CH_OK);
    }
}

/* ---- the public face ---- */

ch_status ch_recipe_new(ch_recipe **recipe, ch_error *error) {
    *recipe = mem_new(1, sizeof **recipe);
    if (!*recipe) return fail_memory(error, "a recipe");
    for (int i = 0; i < RECIPE_OPTIONS; i++) {
        ch_status status = set_row(*recipe, &table[i], table[i].option.default_value, NULL);
        ch_assert(status == CH_OK);
    }
    return CH_OK;
}

void ch_recipe_free(ch_recipe *recipe) {
    mem_free(recipe);
}

ch_status ch_recipe_set(ch_recipe *recipe, const char *name, const char *value, ch_error *error) {
    const struct row *row = find(name, error);
    if (!row) return CH_USAGE;
    if (row->type != PATH && strlen(value) >= RECIPE_TEXT)
        return fail(error, CH_USAGE, "%s: expected a value of less than %d characters, found %zu", name, RECIPE_TEXT,
                    strlen(value));
    ch_status status = set_row(recipe, row, value, error);
    if (status != CH_OK) return status;
    recipe->given[row - table] = true;
    if (row->field == FIELD(preset)) set_preset(recipe);
    return CH_OK;
}

const char *ch_recipe_get(const ch_recipe *recipe, const char *name) {
    const struct row *row = find(name, NULL);
    ch_assert(row);
    return text_of(recipe, row);
}

const char *ch_recipe_unbanded(const ch_recipe *recipe) {
    return recipe->bands.dropped_for;
}

bool recipe_is_default(const ch_recipe *recipe, const char *option) {
    const struct row *row = find(option, NULL);
    ch_assert(row);
    return strcmp(text_of(recipe, row), row->option.default_value) == 0;
}

struct recipe_source recipe_source(const ch_recipe *recipe, const char *option) {
    const struct row *row = find(option, NULL);
    ch_assert(row);
    bool of_preset = !recipe->given[row - table] && preset_value(recipe->preset, option);
    bool is_default = strcmp(recipe->text[row - table], row->option.default_value) == 0;
    if (!of_preset || is_default) return (struct recipe_source){"", ""};
    return (struct recipe_source){" of preset ", recipe->preset->variant.name};
}

struct example_stream example_stream(const ch_recipe *recipe, enum philox_use use, struct torch_rng *torch) {
    return (struct example_stream){.task = recipe->task,
                                   .symbols = (int)recipe->symbols,
                                   .min_length = (int)recipe->min_len,
                                   .max_length = (int)recipe->max_len,
                                   .seed = (uint64_t)recipe->seed,
                                   .use = use,
                                   .torch = torch};
}

int recipe_threads(const ch_recipe *recipe) {
    return parallel_threads((int)recipe->threads);
}

/* ---- JSON ---- */

enum { RECIPE_SCHEMA = 1 };
#define SCHEMA_KEY "schema"
#define BANDS_KEY "bands"
#define BANDS_TEXT_KEY "bands_text"

/* Keys that are no options. */
static bool is_other_key(const char *name) {
    return strcmp(name, SCHEMA_KEY) == 0 || strcmp(name, BANDS_KEY) == 0 || strcmp(name, BANDS_TEXT_KEY) == 0;
}

struct js_value *recipe_to_json(const ch_recipe *recipe) {
    struct js_value *object = js_new_object();
    bool complete = object && js_set(object, SCHEMA_KEY, js_new_int(RECIPE_SCHEMA));
    for (int i = 0; i < RECIPE_OPTIONS && complete; i++) {
        const struct row *row = &table[i];
        const char *field = (const char *)recipe + row->field;
        struct js_value *value = row->type == WHOLE    ? js_new_int(*(const int64_t *)field)
                                 : row->type == NUMBER ? js_new_double(*(const double *)field)
                                                       : js_new_text(text_of(recipe, row));
        complete = js_set(object, row->option.name, value);
    }
    if (complete && recipe->bands.count) complete = js_set(object, BANDS_KEY, bands_to_json(&recipe->bands));
    if (complete && recipe->bands.count && recipe->bands.text) {
        char mark[17];
        snprintf(mark, sizeof mark, "%016llx", (unsigned long long)recipe->bands.text);
        complete = js_set(object, BANDS_TEXT_KEY, js_new_text(mark));
    }
    if (complete) return object;
    js_free(object);
    return NULL;
}

char *ch_recipe_json(const ch_recipe *recipe) {
    struct js_value *object = recipe_to_json(recipe);
    char *text = object ? js_dump(object, 2) : NULL;
    js_free(object);
    return text;
}

/* A value of a recipe file as the text that ch_recipe_set takes. */
static ch_status value_text(const struct js_value *value, const char *where, const char *name, char *text, size_t size,
                            ch_error *error) {
    int64_t whole;
    double number;
    const char *word;
    ch_error cause;
    switch (js_kind(value)) {
    case JS_INT:
        if (js_int(value, where, name, &whole, error) == CH_OK) snprintf(text, size, "%lld", (long long)whole);
        return CH_OK;
    case JS_DOUBLE:
        if (js_double(value, where, name, &number, error) == CH_OK) text_exactly(number, text, size);
        return CH_OK;
    default:
        if (js_text(value, where, name, &word, &cause) != CH_OK) return fail(error, CH_USAGE, "%s", cause.message);
        if (strlen(word) >= size) return fail(error, CH_USAGE, "%s: '%s': the value is too long", where, name);
        snprintf(text, size, "%s", word);
        return CH_OK;
    }
}

/* Optional, but not another than this build's. */
static ch_status check_schema(const struct js_value *object, const char *where, ch_error *error) {
    const struct js_value *schema = js_find(object, SCHEMA_KEY);
    int64_t version = RECIPE_SCHEMA;
    ch_status status = schema ? js_int(schema, where, SCHEMA_KEY, &version, error) : CH_OK;
    if (status != CH_OK || version == RECIPE_SCHEMA) return status;
    return fail(error, CH_FAILED, "%s: 'schema': expected %d, found %lld", where, RECIPE_SCHEMA, (long long)version);
}

ch_status recipe_from_json(ch_recipe *recipe, const struct js_value *object, const char *where, ch_error *error) {
    ch_status status = js_expect(object, JS_OBJECT, where, "recipe", error);
    if (status == CH_OK) status = check_schema(object, where, error);
    if (status != CH_OK) return status;
    ch_recipe changed = *recipe;
    void *cursor = NULL;
    const char *name;
    const struct js_value *value;
    while (js_next(object, &cursor, &name, &value)) {
        char text[RECIPE_TEXT];
        ch_error cause;
        if (is_other_key(name)) continue;
        status = value_text(value, where, name, text, sizeof text, error);
        if (status != CH_OK) return status;
        status = ch_recipe_set(&changed, name, text, &cause);
        if (status != CH_OK) return fail(error, status, "%s: %s", where, cause.message);
    }
    const struct js_value *bands = js_find(object, BANDS_KEY); /* of the options of the same file */
    const struct js_value *mark = js_find(object, BANDS_TEXT_KEY);
    status = mark ? bands_text_from_json(&changed.bands, mark, where, error) : CH_OK;
    if (status == CH_OK && bands) status = bands_from_json(&changed.bands, bands, where, error);
    if (status == CH_OK) *recipe = changed;
    return status;
}

enum { LARGEST_RECIPE = 1 << 20 };

ch_status ch_recipe_read(ch_recipe *recipe, const char *path, ch_error *error) {
    char *text;
    size_t length;
    ch_status status = file_read(path, LARGEST_RECIPE, &text, &length, error);
    if (status != CH_OK) return status;
    struct js_value *object;
    status = js_parse(text, length, path, &object, error);
    mem_free(text);
    if (status != CH_OK) return status;
    status = recipe_from_json(recipe, object, path, error);
    js_free(object);
    return status;
}
