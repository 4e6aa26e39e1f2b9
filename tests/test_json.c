/* base/json: what is accepted, what each refusal says, round trips, and life without memory. */
#include "base/json.h"
#include "base/memory.h"
#include "scarce.h"
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct js_value *parse(const char *text) {
    struct js_value *value;
    ch_error error;
    if (js_parse(text, strlen(text), "x.json", &value, &error) != CH_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

static void kinds_and_values(void **state) {
    (void)state;
    struct js_value *root = parse("{\"i\": -9223372036854775808, \"d\": 2.5e-3, \"b\": true, \"t\": \"a\\u00e9\\n\", "
                                  "\"n\": null, \"a\": [1, 2, 3], \"o\": {}}");
    int64_t i;
    double d, whole;
    bool b;
    const char *t;
    assert_int_equal(js_int(js_find(root, "i"), "x", "i", &i, NULL), CH_OK);
    assert_true(i == INT64_MIN);
    assert_int_equal(js_double(js_find(root, "d"), "x", "d", &d, NULL), CH_OK);
    assert_true(d == 2.5e-3);
    assert_int_equal(js_double(js_at(js_find(root, "a"), 2), "x", "a", &whole, NULL), CH_OK);
    assert_true(whole == 3.0);
    assert_int_equal(js_bool(js_find(root, "b"), "x", "b", &b, NULL), CH_OK);
    assert_true(b);
    assert_int_equal(js_text(js_find(root, "t"), "x", "t", &t, NULL), CH_OK);
    assert_string_equal(t, "a\xc3\xa9\n");
    assert_int_equal(js_kind(js_find(root, "n")), JS_NULL);
    assert_int_equal(js_expect(js_find(root, "o"), JS_OBJECT, "x", "o", NULL), CH_OK);
    assert_int_equal(js_count(root), 7);
    assert_int_equal(js_count(js_find(root, "a")), 3);
    assert_int_equal(js_count(js_find(root, "t")), 0);
    assert_null(js_find(root, "missing"));
    assert_null(js_find(js_find(root, "a"), "i"));
    assert_null(js_at(js_find(root, "a"), 3));
    js_free(root);
    js_free(NULL);
}

static void wrong_kinds_have_their_sentence(void **state) {
    (void)state;
    struct js_value *root = parse("{\"steps\": \"many\", \"half\": 0.5, \"list\": [1]}");
    ch_error error;
    int64_t i;
    double d;
    bool b;
    const char *t;
    assert_int_equal(js_int(js_find(root, "steps"), "r.json", "steps", &i, &error), CH_FAILED);
    assert_string_equal(error.message, "r.json: 'steps': expected a whole number, found a string");
    js_int(js_find(root, "half"), "r.json", "half", &i, &error);
    assert_string_equal(error.message, "r.json: 'half': expected a whole number, found a fraction");
    js_double(js_find(root, "steps"), "r.json", "steps", &d, &error);
    assert_string_equal(error.message, "r.json: 'steps': expected a number, found a string");
    js_bool(js_find(root, "list"), "r.json", "list", &b, &error);
    assert_string_equal(error.message, "r.json: 'list': expected true or false, found an array");
    js_text(js_find(root, "gone"), "r.json", "gone", &t, &error);
    assert_string_equal(error.message, "r.json: 'gone' is missing, expected a string");
    js_expect(js_find(root, "list"), JS_OBJECT, "r.json", "list", &error);
    assert_string_equal(error.message, "r.json: 'list': expected an object, found an array");
    js_free(root);
}

static void bad_text_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "line 1"},
        {"{\"a\": 1,\n \"a\": 2}", "line 2"},
        {"{\"a\": 1,\n \"a\": 2}", "duplicate"},
        {"{} {}", "end of file expected"},
        {"[1,]", "line 1"},
        {"[1", "line 1"},
        {"\"\\u0000\"", "line 1"},
        {"{\"\\u0000\": 1}", "line 1"},
        {"\"\xff\"", "byte 0xff"},
        {"[9223372036854775808]", "too big"},
        {"[1e999]", "overflow"},
        {"[NaN]", "line 1"},
        {"[01]", "line 1"},
        {"// no", "line 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct js_value *value = (struct js_value *)1;
        ch_error error = {0};
        assert_int_equal(js_parse(bad[i].text, strlen(bad[i].text), "r.json", &value, &error), CH_FAILED);
        assert_null(value);
        assert_ptr_equal(strstr(error.message, "r.json: not valid JSON at line "), error.message);
        if (!strstr(error.message, bad[i].says)) fail_msg("'%s' does not say '%s'", error.message, bad[i].says);
    }
}

static void depth_is_limited(void **state) {
    (void)state;
    enum { DEEP = 100000 };
    char *text = malloc(DEEP);
    memset(text, '[', DEEP);
    struct js_value *value;
    assert_int_equal(js_parse(text, DEEP, "deep", &value, NULL), CH_FAILED);
    free(text);
}

static void the_length_counts(void **state) {
    (void)state;
    struct js_value *value;
    assert_int_equal(js_parse("[1]garbage", 3, "x", &value, NULL), CH_OK);
    js_free(value);
    assert_int_equal(js_parse("[1]\0", 4, "x", &value, NULL), CH_FAILED);
}

static void order_and_text_are_kept(void **state) {
    (void)state;
    struct js_value *root = js_new_object(), *list = js_new_array();
    assert_true(js_add(list, js_new_int(1)) && js_add(list, js_new_text("\xe2\x82\xac\"\\\n")));
    assert_true(js_set(root, "zebra", js_new_int(INT64_MAX)) && js_set(root, "apple", list) &&
                js_set(root, "mango", js_new_double(3)) && js_set(root, "no", js_new_bool(false)) &&
                js_set(root, "inf", js_new_double((double)INFINITY)) &&
                js_set(root, "nan", js_new_double((double)NAN)));
    char *text = js_dump(root, 0);
    assert_string_equal(text, "{\"zebra\":9223372036854775807,\"apple\":[1,\"\xe2\x82\xac\\\"\\\\\\n\"],"
                              "\"mango\":3.0,\"no\":false,\"inf\":null,\"nan\":null}");
    void *cursor = NULL;
    const char *key, *expected[] = {"zebra", "apple", "mango", "no", "inf", "nan"};
    const struct js_value *value;
    for (size_t i = 0; i < 6; i++) {
        assert_true(js_next(root, &cursor, &key, &value));
        assert_string_equal(key, expected[i]);
        assert_ptr_equal(value, js_find(root, key));
    }
    assert_false(js_next(root, &cursor, &key, &value));
    mem_free(text);
    js_free(root);
    struct js_value *one = parse("{\"a\":[1]}");
    text = js_dump(one, 2);
    assert_string_equal(text, "{\n  \"a\": [\n    1\n  ]\n}");
    mem_free(text);
    js_free(one);
}

static void doubles_survive(void **state) {
    (void)state;
    static const double values[] = {0.1, 1e-3, -0.0, 5e-324, 1.7976931348623157e308, 1.0 / 3, 9007199254740993.0, 1e22};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct js_value *value = js_new_double(values[i]);
        char *text = js_dump(value, 0);
        struct js_value *again = parse(text);
        double read;
        assert_int_equal(js_double(again, "x", "x", &read, NULL), CH_OK);
        assert_memory_equal(&read, &values[i], sizeof read);
        assert_int_equal(js_kind(again), JS_DOUBLE);
        js_free(value);
        js_free(again);
        mem_free(text);
    }
}

static void text_is_utf8(void **state) {
    (void)state;
    static const char *const good[] = {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {
        "\x80", "\xc1\x81",  "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5", "a\xe2\x82", "\xff"};
    struct js_value *root = js_new_object();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(js_is_text(good[i]));
        assert_true(js_set(root, good[i], js_new_text(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(js_is_text(bad[i]));
        assert_null(js_new_text(bad[i]));
        assert_false(js_set(root, bad[i], js_new_int(1)));
    }
    js_free(root);
}

/* ---- memory: every allocation fails once; nothing leaks and nothing breaks ---------------------- */

/* Tokens end on the sizes at which a growing buffer overflows: 14 letters between quotes are 16 bytes. */
static const char memory_text[] =
    "{\"encoder_layers\": 12345678901234567, \"abcdefghijklmn\": [0.123456789012345678, {\"k\": null}], "
    "\"a\": \"thirty letters of a long string..\", \"b\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":5,\"g\":6,\"h\":7,\"i\":8}";

static bool parse_and_dump(void) {
    struct js_value *value;
    ch_status status = js_parse(memory_text, strlen(memory_text), "x", &value, NULL);
    if (status != CH_OK) {
        assert_int_equal(status, CH_NO_MEMORY);
        assert_null(value);
        return false;
    }
    char *text = js_dump(value, 0);
    js_free(value);
    mem_free(text);
    return text != NULL;
}

static bool build(void) {
    struct js_value *root = js_new_object(), *list = js_new_array();
    bool ok = js_set(root, "list", list);
    for (int i = 0; ok && i < 20; i++)
        ok = js_add(list, js_new_double(i / 3.0)) && js_set(root, (char[]){(char)('a' + i), 0}, js_new_text("text"));
    js_free(root);
    return ok;
}

static void memory_runs_out(void **state) {
    (void)state;
    static bool (*const work[])(void) = {parse_and_dump, build};
    for (size_t w = 0; w < 2; w++) {
        long failures = 0;
        for (bool ok = false; !ok && failures < 1000;) {
            scarce_begin(++failures, true);
            ok = work[w]();
            assert_int_equal(scarce_end("JSON"), !ok);
        }
        assert_in_range(failures, 10, 999); /* the memory really comes from there */
    }
}

static void *parse_often(void *context) {
    for (int i = 0; i < 200; i++) {
        struct js_value *value;
        if (js_parse(memory_text, strlen(memory_text), "x", &value, NULL) != CH_OK) return context;
        js_free(value);
    }
    return NULL;
}

static void threads_share_nothing(void **state) {
    (void)state;
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, parse_often, thread), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_nothing), /* first: the threads race for the hooks, too */
        cmocka_unit_test(kinds_and_values),      cmocka_unit_test(wrong_kinds_have_their_sentence),
        cmocka_unit_test(bad_text_is_refused),   cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(the_length_counts),     cmocka_unit_test(order_and_text_are_kept),
        cmocka_unit_test(doubles_survive),       cmocka_unit_test(text_is_utf8),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
