/* Vocabularies of each kind: which tokens there are, what they say, and that a text becomes tokens and the same text
 * again; UTF-8, strictly. */
#include "models.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokens.h"

#include <stdlib.h>
#include <string.h>

/* ---- UTF-8 ---- */

/* Walks all sequences of `bytes` bytes that begin with lead bytes from..to; how many are characters. What is decoded
 * must be encoded as the same bytes: so no other form of a character passes, and by their number all of them do. */
static long count_characters(int from, int to, size_t bytes) {
    long count = 0;
    char text[UTF8_BYTES], again[UTF8_BYTES];
    long tails = 1L << (8 * (bytes - 1));
    for (int lead = from; lead <= to; lead++)
        for (long tail = 0; tail < tails; tail++) {
            uint32_t point;
            text[0] = (char)lead;
            for (size_t i = 1; i < bytes; i++) text[i] = (char)(tail >> (8 * (bytes - 1 - i)));
            if (utf8_decode(text, bytes, &point) != bytes) continue;
            if (utf8_encode(point, again) != bytes || memcmp(text, again, bytes) != 0)
                fail_msg("U+%04X has two forms", (unsigned)point);
            count++;
        }
    return count;
}

static void utf8_has_one_form_of_each_character(void **state) {
    (void)state;
    assert_int_equal(count_characters(0, 0xFF, 1), 0x80);
    assert_int_equal(count_characters(0, 0xFF, 2), 0x800 - 0x80);
    assert_int_equal(count_characters(0xE0, 0xEF, 3), 0x10000 - 0x800 - 0x800); /* but for surrogates */
    assert_int_equal(count_characters(0xF4, 0xF4, 4), 0x110000 - 0x100000);     /* up to U+10FFFF */
    assert_int_equal(count_characters(0xF0, 0xF0, 4), 0x40000 - 0x10000);       /* no overlong ones */
    assert_int_equal(count_characters(0xF5, 0xF5, 4), 0);
}

static void utf8_reads_no_further_than_the_text(void **state) {
    (void)state;
    uint32_t point;
    static const char euro[] = "\xE2\x82\xAC";
    for (size_t length = 0; length < 3; length++) assert_int_equal(utf8_decode(euro, length, &point), 0);
    assert_int_equal(utf8_decode(euro, 4, &point), 3);
    assert_int_equal(point, 0x20AC);
    assert_int_equal(utf8_decode("", 1, &point), 1);
    assert_int_equal(point, 0);
}

/* Of the starts of a text of characters those within one are unfinished, by as many bytes as it has there. */
static void utf8_knows_what_is_unfinished(void **state) {
    (void)state;
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x8Dz", unfinished[] = "01012012300";
    for (size_t length = 0; length < sizeof text; length++)
        assert_int_equal(utf8_unfinished(text, length), length ? unfinished[length - 1] - '0' : 0);
    assert_int_equal(utf8_unfinished("\x82\xAC\x82\xAC", 4), 0); /* no character begins */
    assert_int_equal(utf8_unfinished("\xFF", 1), 0);
}

/* ---- vocabularies ---- */

static struct ch_vocab vocab_of(const struct vocab_plan *plan) {
    struct ch_vocab vocab;
    ch_error error;
    check_ok(vocab_new(&vocab, plan, &error), &error);
    assert_int_equal(ch_vocab_size(&vocab), vocab_plan_size(plan));
    return vocab;
}

static void special_tokens_follow_the_symbols(void **state) {
    (void)state;
    struct vocab_plan plan = {.tokens = &tokens_numbers, .symbols = 7};
    for (plan.specials = 0; plan.specials < 16; plan.specials++) {
        struct ch_vocab vocab = vocab_of(&plan);
        const int token[] = {ch_vocab_pad(&vocab), ch_vocab_sos(&vocab), ch_vocab_eos(&vocab), ch_vocab_mask(&vocab)};
        static const char *const text[] = {"<pad>", "<sos>", "<eos>", "<mask>"};
        int next = 7;
        for (int i = 0; i < 4; i++) {
            assert_int_equal(token[i], plan.specials >> i & 1 ? next : -1);
            if (token[i] < 0) continue;
            size_t length;
            assert_string_equal(ch_vocab_text(&vocab, next), text[i]);
            ch_vocab_bytes(&vocab, next++, &length);
            assert_int_equal(length, 0);
        }
        assert_int_equal(ch_vocab_size(&vocab), next);
        vocab_free(&vocab);
    }
}

/* Encodes, and writes out what each token stands for: the same bytes. */
static void check_there_and_back(const struct ch_vocab *vocab, const char *text, size_t length, size_t tokens) {
    int *token = malloc((length + 1) * sizeof *token);
    size_t count, counted, at = 0, bytes;
    ch_error error;
    check_ok(ch_vocab_encode(vocab, text, length, token, length, &count, &error), &error);
    check_ok(ch_vocab_encode(vocab, text, length, NULL, 0, &counted, &error), &error);
    assert_int_equal(count, tokens);
    assert_int_equal(counted, tokens);
    for (size_t i = 0; i < count; i++) {
        const char *piece = ch_vocab_bytes(vocab, token[i], &bytes);
        assert_true(at + bytes <= length);
        assert_memory_equal(text + at, piece, bytes);
        at += bytes;
    }
    assert_int_equal(at, length);
    if (tokens)
        check_sentence(ch_vocab_encode(vocab, text, length, token, tokens - 1, &count, &error), CH_FAILED, &error,
                       "the most that fit", NULL);
    free(token);
}

static void every_byte_is_a_token(void **state) {
    (void)state;
    struct vocab_plan plan = {.tokens = &tokens_bytes};
    struct ch_vocab vocab = vocab_of(&plan);
    assert_int_equal(ch_vocab_size(&vocab), 256);
    char all[256];
    for (int b = 0; b < 256; b++) all[b] = (char)b;
    check_there_and_back(&vocab, all, sizeof all, 256);
    check_there_and_back(&vocab, "", 0, 0);
    static const struct {
        int token;
        const char *text;
    } shown[] = {{'a', "a"},    {'\n', "\\n"}, {'\t', "\\t"},  {'\r', "\\r"},  {' ', "' '"},  {0, "\\x00"},
                 {27, "\\x1b"}, {'~', "~"},    {127, "\\x7f"}, {128, "\\x80"}, {255, "\\xff"}};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        assert_string_equal(ch_vocab_text(&vocab, shown[i].token), shown[i].text);
    vocab_free(&vocab);
}

static const char poem[] = "na\xC3\xAFve caf\xC3\xA9, 3 \xE2\x82\xAC\n\xF0\x9F\x8C\x8D an \xC2\x85";

/* The characters of a text; free with mem_free. */
static char *characters_of(const char *text, size_t length, int *count) {
    struct characters characters;
    ch_error error;
    char *list;
    check_ok(characters_new(&characters, &error), &error);
    check_ok(characters_add(&characters, text, length, 0, "poem.txt", &error), &error);
    check_ok(characters_list(&characters, &list, count, &error), &error);
    characters_free(&characters);
    return list;
}

static void characters_are_those_of_a_text(void **state) {
    (void)state;
    int count, checked;
    ch_error error;
    char *list = characters_of(poem, sizeof poem - 1, &count);
    assert_string_equal(list, "\n ,3acefnv\xC2\x85\xC3\xA9\xC3\xAF\xE2\x82\xAC\xF0\x9F\x8C\x8D");
    assert_int_equal(count, 15);
    check_ok(characters_check(list, &checked, &error), &error);
    assert_int_equal(checked, count);
    struct vocab_plan plan = {
        .tokens = &tokens_characters, .symbols = count, .characters = list, .specials = VOCAB_SOS | VOCAB_EOS};
    struct ch_vocab vocab = vocab_of(&plan);
    check_there_and_back(&vocab, poem, sizeof poem - 1, 22);
    assert_string_equal(ch_vocab_text(&vocab, 0), "\\n");
    assert_string_equal(ch_vocab_text(&vocab, 1), "' '");
    assert_string_equal(ch_vocab_text(&vocab, 10), "\\u0085");
    assert_string_equal(ch_vocab_text(&vocab, 13), "\xE2\x82\xAC");
    assert_int_equal(ch_vocab_eos(&vocab), 16);
    int token[8];
    size_t found;
    check_sentence(ch_vocab_encode(&vocab, "cane\xC3\xA8", 6, token, 8, &found, &error), CH_FAILED, &error,
                   "character 5, '\xC3\xA8' (U+00E8)", "15 characters of the vocabulary", NULL);
    assert_int_equal(found, 4);
    check_sentence(ch_vocab_parse(&vocab, "ca\xC3", token, 8, &found, &error), CH_FAILED, &error,
                   "the byte at offset 2 is 0xc3", "UTF-8", NULL);
    vocab_free(&vocab);
    mem_free(list);
}

static void a_file_of_characters_is_text(void **state) {
    (void)state;
    struct characters characters;
    ch_error error;
    check_ok(characters_new(&characters, &error), &error);
    check_sentence(characters_add(&characters, "abc\xFF", 4, 100, "a.txt", &error), CH_FAILED, &error,
                   "a.txt: the byte at offset 103 is 0xff", "UTF-8", NULL);
    check_sentence(characters_add(&characters, "a\xED\xA0\x80", 4, 0, "a.txt", &error), CH_FAILED, &error,
                   "offset 1 is 0xed", NULL);
    check_sentence(characters_add(&characters, "ab\0c", 4, 0, "a.txt", &error), CH_FAILED, &error, "offset 2 is 0x00",
                   "no zeros", NULL);
    characters_free(&characters);
}

static void lists_of_characters_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *list, *says;
    } wrong[] = {{"", "found none"},
                 {"aa", "character 2 is U+0061, behind U+0061"},
                 {"abdc", "character 4"},
                 {"a\xC3", "character 2 is not UTF-8"},
                 {"\xC3\xA9"
                  "a",
                  "character 2 is U+0061, behind U+00E9"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int count;
        ch_error error;
        check_sentence(characters_check(wrong[i].list, &count, &error), CH_FAILED, &error, wrong[i].says, NULL);
    }
}

/* Numbers whose first symbols a task names. */
static void symbols_may_have_names(void **state) {
    (void)state;
    struct vocab_plan plan = vocab_lesson(6);
    plan.names = "()[]";
    struct ch_vocab vocab = vocab_of(&plan);
    int token[8];
    size_t count;
    ch_error error;
    check_ok(ch_vocab_parse(&vocab, "( [ ] ) 5", token, 8, &count, &error), &error);
    static const int expected[] = {0, 2, 3, 1, 5};
    assert_int_equal(count, 5);
    assert_memory_equal(token, expected, sizeof expected);
    check_sentence(ch_vocab_parse(&vocab, "( 1", token, 8, &count, &error), CH_FAILED, &error, "word 2, '1'",
                   "expected symbols from ( to 5", NULL);
    vocab_free(&vocab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_knows_what_is_unfinished),
        cmocka_unit_test(utf8_has_one_form_of_each_character),
        cmocka_unit_test(utf8_reads_no_further_than_the_text),
        cmocka_unit_test(special_tokens_follow_the_symbols),
        cmocka_unit_test(every_byte_is_a_token),
        cmocka_unit_test(characters_are_those_of_a_text),
        cmocka_unit_test(a_file_of_characters_is_text),
        cmocka_unit_test(lists_of_characters_are_checked),
        cmocka_unit_test(symbols_may_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
