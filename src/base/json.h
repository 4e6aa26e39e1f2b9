/*
 * JSON: the only door to the JSON library, so that another could take its place.
 *
 * Parsing is strict: a key that comes twice, bytes after the value, nesting deeper than 2048 and text that is not
 * UTF-8 are refused. Objects keep the order of their keys. Whole numbers stay whole (int64), other numbers are
 * doubles and survive writing and reading bit for bit.
 */
#ifndef CH_BASE_JSON_H
#define CH_BASE_JSON_H

#include "base/error.h"

struct js_value;

enum js_kind { JS_NULL, JS_BOOL, JS_INT, JS_DOUBLE, JS_TEXT, JS_ARRAY, JS_OBJECT };

/* Parses exactly `length` bytes. `where` (a path, mostly) starts the sentence of a failure. Free with js_free. */
ch_status js_parse(const char *text, size_t length, const char *where, struct js_value **value, ch_error *error);
/* Frees a value and all it holds; NULL is fine. Only for roots: what js_set and js_add took belongs to its owner. */
void js_free(struct js_value *value);

/* ---- reading: everything is borrowed from the root ------------------------------------------- */

enum js_kind js_kind(const struct js_value *value);

/* The value of a key, or NULL if the key is missing or `object` is no object. */
const struct js_value *js_find(const struct js_value *object, const char *key);
/* Element i of an array, or NULL past its end. */
const struct js_value *js_at(const struct js_value *array, size_t i);
/* Elements of an array or keys of an object; 0 for anything else. */
size_t js_count(const struct js_value *value);

/* Walks the keys of an object in their order: start with *cursor NULL, false after the last. */
bool js_next(const struct js_value *object, void **cursor, const char **key, const struct js_value **value);

/* The typed readers take what js_find or js_at gave; NULL means missing and is a failure. `where` and `name` make the
 * sentence: "runs/a/recipe.json: 'steps': expected a whole number, found a string". */
ch_status js_int(const struct js_value *value, const char *where, const char *name, int64_t *out, ch_error *error);
ch_status js_double(const struct js_value *value, const char *where, const char *name, double *out, ch_error *error);
ch_status js_bool(const struct js_value *value, const char *where, const char *name, bool *out, ch_error *error);
ch_status js_text(const struct js_value *value, const char *where, const char *name, const char **out, ch_error *error);
/* Checks that the value is an array or an object. */
ch_status js_expect(const struct js_value *value, enum js_kind kind, const char *where, const char *name,
                    ch_error *error);

/* ---- building --------------------------------------------------------------------------------- */

/* NULL when memory runs out. js_set and js_add accept that NULL and then return false, so a tree can be built with
 * the check at its end: `ok = js_set(o, "a", js_new_int(1)) && js_set(o, "b", js_new_text(t));`. */
struct js_value *js_new_object(void);
struct js_value *js_new_array(void);
struct js_value *js_new_int(int64_t value);
struct js_value *js_new_double(double value); /* null if it is not finite: JSON has no other word for it */
struct js_value *js_new_bool(bool value);
struct js_value *js_new_text(const char *text); /* NULL, too, if js_is_text says no */

/* JSON text is UTF-8; what comes from outside (a path, an argument) may not be. */
bool js_is_text(const char *text);

/* Both own the value from here on, even when they fail. js_set replaces the value of a key that is there. */
bool js_set(struct js_value *object, const char *key, struct js_value *value);
bool js_add(struct js_value *array, struct js_value *value);

/* The value as text, on one line (indent 0) or indented by so many blanks. NULL when memory runs out. Free with
 * mem_free. */
char *js_dump(const struct js_value *value, int indent);

#endif
