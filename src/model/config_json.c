/* Config to JSON and back. What is read is checked as strictly as what a user types. */
#include "model/config_rows.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static void attention_name(char *out, const struct config *config, enum config_attention which, int layer) {
    snprintf(out, CONFIG_ATTENTION_NAME, config_attention_name(config, which), layer);
}

/* ---- writing ---- */

static struct js_value *list(const int *number, int count) {
    struct js_value *array = js_new_array();
    for (int i = 0; i < count; i++)
        if (!js_add(array, js_new_int(number[i]))) {
            js_free(array);
            return NULL;
        }
    return array;
}

static struct js_value *shape_to_json(const struct attention_shape *shape) {
    struct js_value *o = js_new_object();
    bool complete = o && js_set(o, "heads", js_new_int(shape->heads)) &&
                    js_set(o, "kv_heads", js_new_int(shape->kv_heads)) &&
                    js_set(o, "d_head", js_new_int(shape->d_head)) &&
                    js_set(o, "kv_of_head", list(shape->kv_of_head, shape->heads)) &&
                    js_set(o, "original_head", list(shape->original_head, shape->heads)) &&
                    js_set(o, "original_heads", js_new_int(shape->original_heads));
    if (complete) return o;
    js_free(o);
    return NULL;
}

static struct js_value *shapes_to_json(const struct config *config) {
    struct js_value *o = js_new_object();
    for (enum config_attention which = CONFIG_ENCODER_SELF; which < CONFIG_ATTENTIONS; which++)
        for (int layer = 0; config_has(config, which) && layer < config->layers; layer++) {
            char name[CONFIG_ATTENTION_NAME];
            attention_name(name, config, which, layer);
            if (o && js_set(o, name, shape_to_json(config_shape(config, which, layer)))) continue;
            js_free(o);
            return NULL;
        }
    return o;
}

static struct js_value *row_to_json(const struct config *config, const struct config_row *row) {
    char text[CONFIG_TEXT];
    const void *field = (const char *)config + row->field;
    if (row->type == CONFIG_WHOLE) return js_new_int(*(const int *)field);
    if (row->type == CONFIG_NUMBER) return js_new_double(*(const double *)field);
    config_row_text(config, row, text);
    return js_new_text(text);
}

struct js_value *config_to_json(const struct config *config) {
    struct js_value *o = js_new_object();
    bool complete = o && js_set(o, "schema", js_new_int(CONFIG_SCHEMA)) &&
                    js_set(o, "head", js_new_text(config->head->variant.name)) &&
                    js_set(o, "classes", js_new_int(config->classes)) && config_vocab_to_json(config, o);
    const struct config_row *row;
    for (size_t i = 0; complete && (row = config_row(i)); i++) {
        char key[CONFIG_KEY];
        config_row_key(row, key);
        complete = js_set(o, key, row_to_json(config, row));
    }
    if (complete && js_set(o, "task", js_new_text(config->task)) && js_set(o, "attention", shapes_to_json(config)))
        return o;
    js_free(o);
    return NULL;
}

/* ---- reading ---- */

struct reader {
    const struct js_value *object;
    const char *where;
    ch_error *error;
    ch_status status; /* of the first failure; later reads do nothing */
};

static ch_status refuse_number(struct reader *r, const char *key, int64_t least, int64_t most, int64_t value) {
    char range[TEXT_RANGE];
    return fail(r->error, CH_FAILED, "%s: '%s': expected %s, found %lld", r->where, key, text_range(least, most, range),
                (long long)value);
}

static int64_t read_int(struct reader *r, const char *key, int64_t least, int64_t most) {
    int64_t value = least;
    if (r->status != CH_OK) return least;
    r->status = js_int(js_find(r->object, key), r->where, key, &value, r->error);
    if (r->status == CH_OK && (value < least || value > most)) r->status = refuse_number(r, key, least, most, value);
    return r->status == CH_OK ? value : least;
}

static const char *read_text(struct reader *r, const char *key) {
    const char *text = "";
    if (r->status == CH_OK) r->status = js_text(js_find(r->object, key), r->where, key, &text, r->error);
    return r->status == CH_OK ? text : "";
}

static void read_variant(struct reader *r, const char *key, const struct config_row *row, struct config *config) {
    const char *text = read_text(r, key);
    ch_error cause;
    if (r->status != CH_OK) return;
    if (family_find(key, row->family, text, &cause))
        config_row_set(config, row, text);
    else
        r->status = fail(r->error, CH_FAILED, "%s: %s", r->where, cause.message);
}

static void read_number(struct reader *r, const char *key, const struct config_row *row, double *value) {
    if (r->status == CH_OK) r->status = js_double(js_find(r->object, key), r->where, key, value, r->error);
    if (r->status == CH_OK && !(*value >= row->least && *value < row->most))
        r->status = fail(r->error, CH_FAILED, "%s: '%s': expected %g to below %g, found %g", r->where, key, row->least,
                         row->most, *value);
}

static void read_switch(struct reader *r, const char *key, bool *value) {
    const char *text = read_text(r, key);
    *value = strcmp(text, "on") == 0;
    if (r->status == CH_OK && !*value && strcmp(text, "off") != 0)
        r->status = fail(r->error, CH_FAILED, "%s: '%s': expected on or off, found '%s'", r->where, key, text);
}

static void read_row(struct reader *r, const struct config_row *row, struct config *config) {
    char key[CONFIG_KEY];
    config_row_key(row, key);
    void *field = (char *)config + row->field;
    if (row->absent && r->status == CH_OK && !js_find(r->object, key))
        config_row_set(config, row, row->absent);
    else if (row->type == CONFIG_VARIANT)
        read_variant(r, key, row, config);
    else if (row->type == CONFIG_WHOLE)
        *(int *)field = (int)read_int(r, key, (int64_t)row->least, (int64_t)row->most);
    else if (row->type == CONFIG_NUMBER)
        read_number(r, key, row, field);
    else
        read_switch(r, key, field);
}

static bool is_row(const char *key) {
    const struct config_row *row;
    for (size_t i = 0; (row = config_row(i)); i++) {
        char name[CONFIG_KEY];
        config_row_key(row, name);
        if (strcmp(name, key) == 0) return true;
    }
    return false;
}

/* known: keys besides the rows of the config's table, which `rows` allows. */
static void refuse_unknown_keys(struct reader *r, const char *const *known, size_t count, bool rows) {
    void *cursor = NULL;
    const char *key;
    const struct js_value *value;
    while (r->status == CH_OK && js_next(r->object, &cursor, &key, &value)) {
        bool found = rows && is_row(key);
        for (size_t i = 0; i < count; i++) found = found || strcmp(known[i], key) == 0;
        if (!found)
            r->status = fail(r->error, CH_FAILED, "%s: the model's config names '%s', which this build does not know",
                             r->where, key);
    }
}

static void read_list(struct reader *r, const char *key, int *out, int count, int64_t most) {
    if (r->status != CH_OK) return;
    const struct js_value *array = js_find(r->object, key);
    r->status = js_expect(array, JS_ARRAY, r->where, key, r->error);
    if (r->status == CH_OK && js_count(array) != (size_t)count)
        r->status = fail(r->error, CH_FAILED, "%s: '%s': expected %d number%s, one for each head, found %zu", r->where,
                         key, count, text_plural((uint64_t)count), js_count(array));
    for (int i = 0; i < count && r->status == CH_OK; i++) {
        int64_t value;
        r->status = js_int(js_at(array, (size_t)i), r->where, key, &value, r->error);
        if (r->status != CH_OK) return;
        if (value < 0 || value > most)
            r->status = refuse_number(r, key, 0, most, value);
        else
            out[i] = (int)value;
    }
}

/* Older files do not say: as many as the highest number tells. */
static void read_original_heads(struct reader *r, struct attention_shape *shape) {
    int least = 1;
    for (int h = 0; r->status == CH_OK && h < shape->heads; h++)
        if (shape->original_head[h] >= least) least = shape->original_head[h] + 1;
    if (r->status == CH_OK) shape->original_heads = least;
    if (r->status == CH_OK && js_find(r->object, "original_heads"))
        shape->original_heads = (int)read_int(r, "original_heads", least, MOST_HEADS);
}

static void read_shape(struct reader *outer, const struct js_value *attention, const char *name,
                       struct attention_shape *shape) {
    static const char *const known[] = {"heads", "kv_heads", "d_head", "kv_of_head", "original_head", "original_heads"};
    struct reader r = *outer;
    r.object = js_find(attention, name);
    if (r.status == CH_OK) r.status = js_expect(r.object, JS_OBJECT, r.where, name, r.error);
    refuse_unknown_keys(&r, known, sizeof known / sizeof *known, false);
    int heads = (int)read_int(&r, "heads", 1, MOST_HEADS), kv_heads = (int)read_int(&r, "kv_heads", 1, heads);
    int d_head = (int)read_int(&r, "d_head", 1, MOST_WIDTH);
    if (r.status == CH_OK && (int64_t)heads * d_head > MOST_HIDDEN)
        r.status = fail(r.error, CH_FAILED, "%s: '%s': expected heads times d_head to be at most %d, found %d times %d",
                        r.where, name, MOST_HIDDEN, heads, d_head);
    if (r.status == CH_OK && !attention_shape_uniform(shape, heads, heads, d_head))
        r.status = fail_memory(r.error, "the model's shapes");
    if (r.status == CH_OK) shape->kv_heads = kv_heads;
    read_list(&r, "kv_of_head", shape->kv_of_head, heads, kv_heads - 1);
    read_list(&r, "original_head", shape->original_head, heads, MOST_HEADS - 1);
    read_original_heads(&r, shape);
    outer->status = r.status;
}

static void read_shapes(struct reader *r, struct config *config) {
    if (r->status != CH_OK) return;
    const struct js_value *attention = js_find(r->object, "attention");
    r->status = js_expect(attention, JS_OBJECT, r->where, "attention", r->error);
    size_t expected = (size_t)config_attentions(config);
    if (r->status == CH_OK && js_count(attention) != expected)
        r->status = fail(r->error, CH_FAILED, "%s: 'attention': expected %zu shapes, found %zu", r->where, expected,
                         js_count(attention));
    if (r->status != CH_OK) return;
    config->shape = mem_new(expected, sizeof *config->shape);
    if (!config->shape) r->status = fail_memory(r->error, "the model's shapes");
    for (enum config_attention which = CONFIG_ENCODER_SELF; which < CONFIG_ATTENTIONS; which++)
        for (int layer = 0; config_has(config, which) && layer < config->layers && r->status == CH_OK; layer++) {
            char name[CONFIG_ATTENTION_NAME];
            attention_name(name, config, which, layer);
            read_shape(r, attention, name, config_shape(config, which, layer));
        }
}

/* Absent in the files of older builds, which had one. */
static void read_head(struct reader *r, struct config *config) {
    config->head = &head_next_token;
    if (r->status != CH_OK || !js_find(r->object, "head")) return;
    ch_error cause;
    const ch_variant *head = family_find("head", head_row, read_text(r, "head"), &cause);
    if (r->status == CH_OK && !head) r->status = fail(r->error, CH_FAILED, "%s: %s", r->where, cause.message);
    if (r->status != CH_OK) return;
    config->head = (const struct head *)head;
    if (config->head->decodes != config->arch->decoder)
        r->status = fail(r->error, CH_FAILED, "%s: 'head': expected %s of a model that is %s, found %s", r->where,
                         config->arch->decoder ? "next-token" : "masked-token or classification",
                         config->arch->variant.name, head->name);
    if (r->status != CH_OK) return;
    bool classes = config->head->classes;
    config->classes = (int)read_int(r, "classes", classes ? 2 : 0, classes ? MOST_SYMBOLS : 0);
}

/* What an assembly cannot do without. */
static void check_specials(struct reader *r, const struct config *config) {
    if (r->status != CH_OK) return;
    bool pairs = config->arch->encoder && config->arch->decoder;
    unsigned needed = pairs ? VOCAB_LESSON : config->head->classes ? VOCAB_SOS : config->head->decodes ? 0 : VOCAB_MASK;
    if ((config_vocab(config).specials & needed) != needed)
        r->status = fail(r->error, CH_FAILED,
                         "%s: 'specials': expected %s, which a model that is %s with a head %s needs", r->where,
                         pairs                   ? "<pad>, <sos> and <eos>"
                         : config->head->classes ? "<sos>"
                                                 : "<mask>",
                         config->arch->variant.name, config->head->variant.name);
}

static void check_tie(struct reader *r, const struct config *config) {
    const char *clash = r->status == CH_OK ? tie_clash(config->tie, config->arch, config->head) : NULL;
    if (clash)
        r->status =
            fail(r->error, CH_FAILED, "%s: 'tie': found '%s' in a model that is %s with a head %s: %s", r->where,
                 config->tie->variant.name, config->arch->variant.name, config->head->variant.name, clash);
}

/* Rotary positions have one table, and so one width of heads. */
static void check_head_widths(struct reader *r, const struct config *config) {
    int width = config_position(config).d_head;
    for (int i = 0; r->status == CH_OK && i < 2 * config->layers; i++) {
        enum config_attention which = i < config->layers ? CONFIG_ENCODER_SELF : CONFIG_DECODER_SELF;
        if (!config_has(config, which)) continue;
        int layer = i % config->layers, found = config_shape(config, which, layer)->d_head;
        char name[CONFIG_ATTENTION_NAME];
        attention_name(name, config, which, layer);
        if (found != width)
            r->status = fail(r->error, CH_FAILED,
                             "%s: '%s': expected d_head %d as in all self-attentions, since "
                             "positions are rotary, found %d",
                             r->where, name, width, found);
    }
}

/* What fits no other part, in the words of the recipe. */
static void check_together(struct reader *r, const struct config *config) {
    ch_error cause;
    if (r->status != CH_OK) return;
    ch_status status = position_check(config->position, &config->rope, config_position(config).d_head, &cause);
    if (status == CH_OK) status = soft_cap_check(config->soft_cap, &cause);
    if (status != CH_OK) r->status = fail(r->error, CH_FAILED, "%s: %s", r->where, cause.message);
    if (config->position->rotary) check_head_widths(r, config);
}

static ch_status read_config(struct config *config, const struct js_value *object, const char *where, ch_error *error) {
    static const char *const known[] = {"schema",    "head",   "classes",  "task",
                                        "attention", "tokens", "specials", "characters"};
    struct reader r = {.object = object, .where = where, .error = error, .status = CH_OK};
    r.status = js_expect(object, JS_OBJECT, where, "config", error);
    read_int(&r, "schema", CONFIG_SCHEMA, CONFIG_SCHEMA);
    refuse_unknown_keys(&r, known, sizeof known / sizeof *known, true);
    const struct config_row *row;
    for (size_t i = 0; (row = config_row(i)); i++) read_row(&r, row, config);
    read_head(&r, config);
    if (r.status == CH_OK) r.status = config_vocab_from_json(config, object, where, error);
    check_specials(&r, config);
    snprintf(config->task, sizeof config->task, "%s", read_text(&r, "task"));
    read_shapes(&r, config);
    check_tie(&r, config);
    if (r.status == CH_OK && config->position->even_width && config->d_model % 2)
        r.status = fail(error, CH_FAILED, "%s: 'd_model': expected an even number, found %d", where, config->d_model);
    check_together(&r, config);
    if (r.status != CH_OK) config_free(config);
    return r.status;
}

ch_status config_from_json(struct config *config, const char *text, const char *where, ch_error *error) {
    *config = (struct config){0};
    struct js_value *object;
    ch_status status = js_parse(text, strlen(text), where, &object, error);
    if (status != CH_OK) return status;
    status = read_config(config, object, where, error);
    js_free(object);
    return status;
}

/* ---- from shapes alone: a state_dict of the lesson's code ---- */

static ch_status matrix_size(const struct st_file *file, const char *name, int rank, int64_t *shape, const char *where,
                             ch_error *error) {
    const struct st_tensor *tensor = st_find(file, name);
    if (!tensor || tensor->rank != rank)
        return fail(
            error, CH_FAILED,
            "%s: %s '%s': expected a model that clearhead wrote, or the state_dict of the lesson's encoder-decoder",
            where, tensor ? "wrong number of dimensions of" : "there is no tensor", name);
    for (int d = 0; d < rank; d++) {
        shape[d] = tensor->shape[d];
        if (shape[d] < 1 || shape[d] > MOST_HIDDEN)
            return fail(error, CH_FAILED, "%s: '%s': a dimension of %lld is out of range", where, name,
                        (long long)shape[d]);
    }
    return CH_OK;
}

static int count_layers(const struct st_file *file, const char *pattern) {
    for (int layer = 0;; layer++) {
        char name[CONFIG_ATTENTION_NAME];
        snprintf(name, sizeof name, pattern, layer);
        if (!st_find(file, name)) return layer;
    }
}

static ch_status check_heads(const struct config *config, int heads, const char *where, ch_error *error) {
    if (heads <= 0)
        return fail(error, CH_FAILED,
                    "%s does not say how many heads it has, and shapes do not tell: give it with --heads N", where);
    if (config->d_model % heads || heads > MOST_HEADS)
        return fail(error, CH_USAGE, "%s: expected a number of heads that divides its width %d, found heads %d", where,
                    config->d_model, heads);
    return CH_OK;
}

ch_status config_from_shapes(struct config *config, const struct st_file *file, int heads, const char *where,
                             ch_error *error) {
    *config = (struct config){.arch = &arch_encoder_decoder,
                              .head = &head_next_token,
                              .norm = &norm_layernorm,
                              .placement = &norm_post,
                              .position = &position_sinusoidal,
                              .ffn = &ffn_relu};
    config_fill_absent(config);
    int64_t embedding[2] = {0}, table[3] = {0}, hidden[2] = {0};
    ch_status status = matrix_size(file, "src_emb.weight", 2, embedding, where, error);
    if (status == CH_OK) status = matrix_size(file, "pos.pe", 3, table, where, error);
    if (status == CH_OK) status = matrix_size(file, "enc.0.ff.net.0.weight", 2, hidden, where, error);
    if (status != CH_OK) return status;
    config->d_model = (int)embedding[1];
    config->symbols = (int)embedding[0] - VOCAB_SPECIALS;
    config->max_positions = (int)table[1];
    config->d_ff = (int)hidden[0];
    config->layers = count_layers(file, "enc.%d.attn.W_q.weight");
    int decoder = count_layers(file, "dec.%d.self_attn.W_q.weight");
    if (config->layers < 1 || decoder != config->layers)
        return fail(error, CH_FAILED, "%s: expected as many decoder as encoder layers, found %d and %d", where, decoder,
                    config->layers);
    if (config->symbols < 1)
        return fail(error, CH_FAILED,
                    "%s: 'src_emb.weight': expected at least 4 rows, a symbol and <pad>, <sos>, <eos>, found %lld",
                    where, (long long)embedding[0]);
    if (config->d_model % 2)
        return fail(error, CH_FAILED,
                    "%s: 'src_emb.weight': expected an even width, since sinusoidal positions come in pairs, found %d",
                    where, config->d_model);
    status = check_heads(config, heads, where, error);
    return status == CH_OK ? config_uniform(config, heads, error) : status;
}
