/* Stop strings in bytes that come piece by piece: what is written never depends on the pieces, and nothing is held back
 * that need not be. */
#include "models.h"

#include "base/memory.h"
#include "decode/stops.h"

#include <string.h>

enum { MOST = 64 };

struct written {
    char text[MOST];
    bool stopped;
};

/* Takes the text in pieces of so many bytes; what is written in all, the flush included unless it stopped. */
static struct written write_in_pieces(const char *const *stop, int count, const char *text, size_t piece) {
    struct written written = {{0}, false};
    struct stops stops;
    ch_error error;
    const char *out;
    size_t length, left = strlen(text), used = 0;
    check_ok(stops_new(&stops, stop, count, &error), &error);
    for (; left > 0; left -= piece, text += piece) {
        if (piece > left) piece = left;
        check_ok(stops_take(&stops, text, piece, &out, &length, &error), &error);
        if (length) memcpy(written.text + used, out, length);
        used += length;
    }
    written.stopped = stops.stopped;
    stops_flush(&stops, &out, &length);
    if (length) memcpy(written.text + used, out, length);
    stops_free(&stops);
    return written;
}

static void check_written(const char *const *stop, int count, const char *text, const char *expected, bool stopped) {
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        struct written written = write_in_pieces(stop, count, text, piece);
        assert_string_equal(written.text, expected);
        assert_int_equal(written.stopped, stopped);
    }
}

static void writing_ends_before_a_stop_string(void **state) {
    (void)state;
    static const char *const end[] = {"\n\n"}, *const nested[] = {"abcd", "bc"}, *const twins[] = {"cd", "abcd"},
                             *const itself[] = {"aab"}, *const euro[] = {"\xE2\x82\xAC"}, *const one[] = {"x"};
    check_written(end, 1, "one\ntwo\n\nthree", "one\ntwo", true);
    check_written(end, 1, "one\ntwo\n", "one\ntwo\n", false);
    check_written(end, 1, "\n\n", "", true);
    check_written(end, 1, "", "", false);
    check_written(nested, 2, "zabcd", "za", true);   /* "bc" is complete first */
    check_written(nested, 2, "zabd", "zabd", false); /* held back, and let go */
    check_written(twins, 2, "zabcd", "z", true);     /* complete together: the longer one */
    check_written(twins, 2, "zbcd", "zb", true);
    check_written(itself, 1, "aaaab", "aa", true); /* begins again within itself */
    check_written(itself, 1, "aaaa", "aaaa", false);
    check_written(euro, 1, "3 \xE2\x82\xAC 4", "3 ", true);
    check_written(euro, 1, "3 \xE2\x82\xAB 4", "3 \xE2\x82\xAB 4", false); /* two of its three bytes */
    check_written(one, 1, "yxx", "y", true);
    check_written(one, 1, "3 \xE2\x82\xAC 4", "3 \xE2\x82\xAC 4", false);
    check_written(one, 1, "3 \xE2\x82", "3 \xE2\x82", false); /* what is never finished, too */
    check_written(NULL, 0, "all of it", "all of it", false);
}

/* All texts of up to 7 letters a and b, against a search by hand: the end that comes first. */
static void every_short_text(void **state) {
    (void)state;
    static const char *const stop[] = {"aba", "bb", "babb"};
    for (int length = 0; length <= 7; length++)
        for (int bits = 0; bits < 1 << length; bits++) {
            char text[8] = "", expected[8];
            for (int i = 0; i < length; i++) text[i] = bits >> i & 1 ? 'b' : 'a';
            strcpy(expected, text);
            bool stopped = false;
            for (int end = 1; end <= length && !stopped; end++)
                for (int begin = 0; begin < end && !stopped; begin++) /* the longest of those that end here */
                    for (int s = 0; s < 3; s++) {
                        size_t bytes = (size_t)(end - begin);
                        if (strlen(stop[s]) != bytes || memcmp(text + begin, stop[s], bytes) != 0) continue;
                        expected[begin] = '\0';
                        stopped = true;
                    }
            check_written(stop, 3, text, expected, stopped);
        }
}

static void only_a_possible_start_is_held_back(void **state) {
    (void)state;
    static const char *const stop[] = {"</s>", "<end>"};
    static const struct {
        const char *take, *gives;
    } step[] = {{"a <", "a "}, {"b", "<b"}, {"</", ""}, {"s", ""}, {"e", "</se"}, {"<en", ""}, {"<en", "<en"}};
    struct stops stops;
    ch_error error;
    const char *out;
    size_t length;
    check_ok(stops_new(&stops, stop, 2, &error), &error);
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        check_ok(stops_take(&stops, step[i].take, strlen(step[i].take), &out, &length, &error), &error);
        assert_int_equal(length, strlen(step[i].gives));
        assert_memory_equal(out, step[i].gives, length);
    }
    check_ok(stops_take(&stops, "d> and more", 11, &out, &length, &error), &error);
    assert_int_equal(length, 0);
    assert_true(stops.stopped);
    check_ok(stops_take(&stops, "more", 4, &out, &length, &error), &error);
    assert_int_equal(length, 0);
    stops_flush(&stops, &out, &length);
    assert_int_equal(length, 0);
    stops_free(&stops);
}

static void characters_come_whole(void **state) {
    (void)state;
    static const struct {
        const char *take, *gives;
    } step[] = {{"a\xE2", "a"},   {"\x82", ""},         {"\xAC", "\xE2\x82\xAC"},         {"\xE2\x82z", "\xE2\x82z"},
                {"\x82", "\x82"}, {"\xF0\x9F\x8C", ""}, {"\x8D\xC3", "\xF0\x9F\x8C\x8D"}, {"\xC3\xA9", "\xC3\xC3\xA9"}};
    struct stops stops;
    ch_error error;
    const char *out;
    size_t length;
    check_ok(stops_new(&stops, NULL, 0, &error), &error);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
            check_ok(stops_take(&stops, step[i].take, strlen(step[i].take), &out, &length, &error), &error);
            assert_int_equal(length, strlen(step[i].gives));
            assert_memory_equal(out, step[i].gives, length);
        }
        check_ok(stops_take(&stops, "\xC3", 1, &out, &length, &error), &error);
        stops_clear(&stops); /* another text begins */
    }
    stops_free(&stops);
}

static void an_empty_stop_string(void **state) {
    (void)state;
    static const char *const stop[] = {"a", ""};
    struct stops stops;
    ch_error error;
    check_sentence(stops_new(&stops, stop, 2, &error), CH_USAGE, &error, "stop", "an empty one at place 2", NULL);
    stops_free(&stops);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_ends_before_a_stop_string),
        cmocka_unit_test(every_short_text),
        cmocka_unit_test(only_a_possible_start_is_held_back),
        cmocka_unit_test(characters_come_whole),
        cmocka_unit_test(an_empty_stop_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
