/* Any bytes: js_parse refuses them with a sentence, or gives a tree that can be walked and written, and what is written
 * reads back as the same. */
#include "base/json.h"
#include "base/memory.h"
#include "fuzz.h"

#include <string.h>

static void walk(const struct js_value *value) {
    int64_t whole;
    double number;
    bool truth;
    const char *text;
    enum js_kind kind = js_kind(value);
    ch_assert((js_int(value, "x", "v", &whole, NULL) == CH_OK) == (kind == JS_INT));
    ch_assert((js_double(value, "x", "v", &number, NULL) == CH_OK) == (kind == JS_INT || kind == JS_DOUBLE));
    ch_assert((js_bool(value, "x", "v", &truth, NULL) == CH_OK) == (kind == JS_BOOL));
    ch_assert((js_text(value, "x", "v", &text, NULL) == CH_OK) == (kind == JS_TEXT));
    ch_assert((js_expect(value, JS_ARRAY, "x", "v", NULL) == CH_OK) == (kind == JS_ARRAY));
    ch_assert((js_expect(value, JS_OBJECT, "x", "v", NULL) == CH_OK) == (kind == JS_OBJECT));
    ch_assert(kind != JS_TEXT || js_is_text(text));
    for (size_t i = 0; kind == JS_ARRAY && i < js_count(value); i++) walk(js_at(value, i));
    void *cursor = NULL;
    const char *key;
    const struct js_value *member;
    size_t members = 0;
    while (js_next(value, &cursor, &key, &member)) {
        ch_assert(js_find(value, key) == member);
        walk(member);
        members++;
    }
    ch_assert(members == (kind == JS_OBJECT ? js_count(value) : 0));
}

/* Built by hand from its parts, a scalar is what was parsed. */
static struct js_value *rebuild(const struct js_value *value) {
    int64_t whole;
    double number;
    bool truth;
    const char *text;
    struct js_value *copy = js_new_array();
    bool ok = true;
    if (js_int(value, "x", "v", &whole, NULL) == CH_OK)
        ok = js_add(copy, js_new_int(whole));
    else if (js_double(value, "x", "v", &number, NULL) == CH_OK)
        ok = js_add(copy, js_new_double(number));
    else if (js_bool(value, "x", "v", &truth, NULL) == CH_OK)
        ok = js_add(copy, js_new_bool(truth));
    else if (js_text(value, "x", "v", &text, NULL) == CH_OK)
        ok = js_add(copy, js_new_text(text));
    ch_assert(ok);
    return copy;
}

static char *dump_again(const char *text) {
    struct js_value *value;
    ch_status status = js_parse(text, strlen(text), "again", &value, NULL);
    ch_assert(status == CH_OK);
    char *again = js_dump(value, 0);
    js_free(value);
    ch_assert(again);
    return again;
}

static void check_round_trip(const struct js_value *value) {
    char *compact = js_dump(value, 0), *indented = js_dump(value, 2);
    ch_assert(compact && indented);
    char *from_compact = dump_again(compact), *from_indented = dump_again(indented);
    ch_assert(strcmp(compact, from_compact) == 0 && strcmp(compact, from_indented) == 0);
    struct js_value *copy = rebuild(value), *object = js_new_object();
    if (js_count(copy)) {
        char *copied = js_dump(js_at(copy, 0), 0);
        ch_assert(copied && strcmp(copied, compact) == 0);
        mem_free(copied);
    }
    bool set = js_set(object, "copy", copy);
    ch_assert(set);
    js_free(object);
    mem_free(compact);
    mem_free(indented);
    mem_free(from_compact);
    mem_free(from_indented);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct js_value *value;
    ch_error error = {0};
    ch_status status = js_parse((const char *)(length ? bytes : (const uint8_t *)""), length, "input", &value, &error);
    if (status == CH_OK) {
        walk(value);
        check_round_trip(value);
    } else {
        ch_assert(!value && error.status == status && strlen(error.message) > strlen("input: "));
    }
    js_free(value);
    return 0;
}
