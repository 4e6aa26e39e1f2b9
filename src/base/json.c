#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

/* js_value is json_t under a name of ours. */
static json_t *inner(const struct js_value *value) {
    return (json_t *)value; /* jansson's iterators want it without const, and change nothing */
}

static struct js_value *outer(json_t *value) {
    return (struct js_value *)value;
}

/* ---- memory ----------------------------------------------------------------------------------- */

/*
 * jansson allocates through mem_new. Its parser, though, does not survive an allocation that fails: the growth of its
 * token buffer is not checked, and a lost closing quote sends it past the buffer's end. So a failure while parsing
 * does not return to jansson; it jumps back to js_parse, and to leave nothing behind then, the parse keeps a list of
 * the blocks it took. What jansson frees meanwhile is freed when the parse has ended, one way or the other.
 */
struct blocks {
    void **block;
    size_t count, capacity;
};

struct parse {
    jmp_buf out_of_memory;
    struct blocks taken, released;
};

static _Thread_local struct parse *current_parse; /* jansson's allocation hooks have no argument to carry it */

static bool blocks_reserve(struct blocks *list) {
    return mem_grow((void **)&list->block, &list->capacity, list->count + 1, sizeof *list->block);
}

static void blocks_free(struct blocks *list, bool contents) {
    for (size_t i = 0; contents && i < list->count; i++) mem_free(list->block[i]);
    mem_free(list->block);
}

static void *hook_allocate(size_t bytes) {
    struct parse *parse = current_parse;
    if (!parse) return mem_new(bytes, 1);
    void *block = blocks_reserve(&parse->taken) ? mem_new(bytes, 1) : NULL;
    if (!block) longjmp(parse->out_of_memory, 1);
    return parse->taken.block[parse->taken.count++] = block;
}

static void hook_release(void *block) {
    struct parse *parse = current_parse;
    if (!parse) {
        mem_free(block);
    } else if (block) {
        if (!blocks_reserve(&parse->released)) longjmp(parse->out_of_memory, 1);
        parse->released.block[parse->released.count++] = block;
    }
}

static void install_hooks(void) {
    json_set_alloc_funcs(hook_allocate, hook_release);
}

/* The hooks are the process's, so they are set once, before the first value exists. A program that uses jansson itself
 * can go on doing so: without ch_set_allocator both sides end in malloc and free. */
static void prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_hooks);
}

/* ---- parsing ---------------------------------------------------------------------------------- */

/* On its own, so that no local variable lives across the jump. */
static json_t *parse_text(struct parse *parse, const char *text, size_t length, json_error_t *reason, bool *ran_out) {
    if (setjmp(parse->out_of_memory) != 0) {
        current_parse = NULL;
        *ran_out = true;
        return NULL;
    }
    current_parse = parse;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, reason);
    current_parse = NULL;
    return root;
}

ch_status js_parse(const char *text, size_t length, const char *where, struct js_value **value, ch_error *error) {
    ch_assert(text && where && value);
    *value = NULL;
    prepare();
    struct parse parse = {.taken = {0}};
    json_error_t reason;
    bool ran_out = false;
    json_t *root = parse_text(&parse, text, length, &reason, &ran_out);
    blocks_free(&parse.taken, ran_out);
    blocks_free(&parse.released, !ran_out); /* they are among the taken ones, too */
    if (ran_out) return fail(error, CH_NO_MEMORY, "%s: out of memory for its JSON", where);
    if (!root)
        return fail(error, CH_FAILED, "%s: not valid JSON at line %d, column %d: %s", where, reason.line, reason.column,
                    reason.text);
    *value = outer(root);
    return CH_OK;
}

void js_free(struct js_value *value) {
    json_decref(inner(value));
}

/* ---- reading ---------------------------------------------------------------------------------- */

enum js_kind js_kind(const struct js_value *value) {
    static const enum js_kind kinds[] = {
        [JSON_OBJECT] = JS_OBJECT, [JSON_ARRAY] = JS_ARRAY, [JSON_STRING] = JS_TEXT, [JSON_INTEGER] = JS_INT,
        [JSON_REAL] = JS_DOUBLE,   [JSON_TRUE] = JS_BOOL,   [JSON_FALSE] = JS_BOOL,  [JSON_NULL] = JS_NULL};
    ch_assert(value);
    return kinds[json_typeof(inner(value))];
}

const struct js_value *js_find(const struct js_value *object, const char *key) {
    return outer(json_object_get(inner(object), key));
}

const struct js_value *js_at(const struct js_value *array, size_t i) {
    return outer(json_array_get(inner(array), i));
}

size_t js_count(const struct js_value *value) {
    return json_is_array(inner(value)) ? json_array_size(inner(value)) : json_object_size(inner(value));
}

bool js_next(const struct js_value *object, void **cursor, const char **key, const struct js_value **value) {
    *cursor = *cursor ? json_object_iter_next(inner(object), *cursor) : json_object_iter(inner(object));
    if (!*cursor) return false;
    *key = json_object_iter_key(*cursor);
    *value = outer(json_object_iter_value(*cursor));
    return true;
}

static ch_status mismatch(const struct js_value *value, const char *expected, const char *where, const char *name,
                          ch_error *error) {
    static const char *const found[] = {
        [JS_NULL] = "null",     [JS_BOOL] = "true or false", [JS_INT] = "a whole number", [JS_DOUBLE] = "a fraction",
        [JS_TEXT] = "a string", [JS_ARRAY] = "an array",     [JS_OBJECT] = "an object"};
    if (!value) return fail(error, CH_FAILED, "%s: '%s' is missing, expected %s", where, name, expected);
    return fail(error, CH_FAILED, "%s: '%s': expected %s, found %s", where, name, expected, found[js_kind(value)]);
}

ch_status js_int(const struct js_value *value, const char *where, const char *name, int64_t *out, ch_error *error) {
    if (!json_is_integer(inner(value))) return mismatch(value, "a whole number", where, name, error);
    *out = json_integer_value(inner(value));
    return CH_OK;
}

ch_status js_double(const struct js_value *value, const char *where, const char *name, double *out, ch_error *error) {
    if (!json_is_number(inner(value))) return mismatch(value, "a number", where, name, error);
    *out = json_number_value(inner(value));
    return CH_OK;
}

ch_status js_bool(const struct js_value *value, const char *where, const char *name, bool *out, ch_error *error) {
    if (!json_is_boolean(inner(value))) return mismatch(value, "true or false", where, name, error);
    *out = json_is_true(inner(value));
    return CH_OK;
}

ch_status js_text(const struct js_value *value, const char *where, const char *name, const char **out,
                  ch_error *error) {
    if (!json_is_string(inner(value))) return mismatch(value, "a string", where, name, error);
    *out = json_string_value(inner(value));
    return CH_OK;
}

ch_status js_expect(const struct js_value *value, enum js_kind kind, const char *where, const char *name,
                    ch_error *error) {
    ch_assert(kind == JS_ARRAY || kind == JS_OBJECT);
    if (value && js_kind(value) == kind) return CH_OK;
    return mismatch(value, kind == JS_ARRAY ? "an array" : "an object", where, name, error);
}

/* ---- building --------------------------------------------------------------------------------- */

struct js_value *js_new_object(void) {
    prepare();
    return outer(json_object());
}

struct js_value *js_new_array(void) {
    prepare();
    return outer(json_array());
}

struct js_value *js_new_int(int64_t value) {
    prepare();
    return outer(json_integer(value));
}

struct js_value *js_new_double(double value) {
    prepare();
    return outer(isfinite(value) ? json_real(value) : json_null());
}

struct js_value *js_new_bool(bool value) {
    prepare();
    return outer(json_boolean(value));
}

struct js_value *js_new_text(const char *text) {
    prepare();
    return outer(json_string(text));
}

bool js_is_text(const char *text) {
    uint32_t point;
    for (size_t left = strlen(text), bytes; left > 0; text += bytes, left -= bytes)
        if ((bytes = utf8_decode(text, left, &point)) == 0) return false;
    return true;
}

bool js_set(struct js_value *object, const char *key, struct js_value *value) {
    return json_object_set_new(inner(object), key, inner(value)) == 0;
}

bool js_add(struct js_value *array, struct js_value *value) {
    return json_array_append_new(inner(array), inner(value)) == 0;
}

char *js_dump(const struct js_value *value, int indent) {
    ch_assert(value && indent >= 0);
    size_t flags =
        JSON_ENCODE_ANY | JSON_REAL_PRECISION(17) | (indent ? JSON_INDENT((size_t)indent) : (size_t)JSON_COMPACT);
    /* Measured, then written: the text is ours to free, whoever set jansson's hooks last. */
    size_t length = json_dumpb(inner(value), NULL, 0, flags);
    char *text = length ? mem_new(length + 1, 1) : NULL;
    if (text && json_dumpb(inner(value), text, length, flags) != length) {
        mem_free(text);
        return NULL;
    }
    return text;
}
