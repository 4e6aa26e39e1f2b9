#include "words.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t words_character(const char *text, size_t length) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    if (length == 0) return 0;
    size_t bytes = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (bytes > length) return 0;
    uint32_t point = bytes < 2 ? s[0] : s[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (s[i] >> 6 != 2) return 0;
        point = point << 6 | (s[i] & 0x3fu);
    }
    return point < least[bytes] || point > 0x10ffff || point >> 11 == 0x1b ? 0 : bytes;
}

/* Bytes of the character that starts here, or 0 if a terminal must not see it: controls have one byte or two. */
static size_t printable(const char *text, size_t length) {
    const unsigned char *s = (const unsigned char *)text;
    size_t bytes = words_character(text, length);
    bool control = s[0] < ' ' || s[0] == 0x7f || (s[0] == 0xc2 && bytes == 2 && s[1] < 0xa0);
    return control ? 0 : bytes;
}

static void clean(char *text, size_t length, const char *spared) {
    for (char *c = text; c < text + length;) {
        size_t bytes = *c && strchr(spared, *c) ? 1 : printable(c, (size_t)(text + length - c));
        if (bytes == 0) *c = '?';
        c += bytes ? bytes : 1;
    }
}

void words_clean(char *text) {
    clean(text, strlen(text), "");
}

void words_clean_text(char *text, size_t length) {
    clean(text, length, "\n\t");
}

struct words_shown words_shown(const char *text) {
    struct words_shown shown;
    snprintf(shown.text, sizeof shown.text, "%s", text);
    words_clean(shown.text);
    return shown;
}

double words_plain(double x) {
    return isnan(x) ? fabs(x) : x;
}

void words_count(int64_t n, char out[WORDS]) {
    char digits[WORDS];
    int length = snprintf(digits, sizeof digits, "%" PRId64, n), used = 0;
    for (int i = 0; i < length; i++) {
        out[used++] = digits[i];
        int left = length - 1 - i;
        if (digits[i] != '-' && left > 0 && left % 3 == 0) out[used++] = ',';
    }
    out[used] = '\0';
}

void words_bytes(int64_t bytes, char out[WORDS]) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)bytes;
    size_t u = 0;
    for (; amount >= 1024.0 && u + 1 < sizeof unit / sizeof *unit; u++) amount /= 1024.0;
    snprintf(out, WORDS, "%.*f %s", u ? 1 : 0, amount, unit[u]);
}

void words_number(double x, int digits, char out[WORDS]) {
    x = words_plain(x);
    if (fabs(x) < 1e6)
        snprintf(out, WORDS, "%.*f", digits, x);
    else
        snprintf(out, WORDS, "%.3g", x);
}

const char *words_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

void words_time(double seconds, char out[WORDS]) {
    if (!(seconds < 1e9)) {
        snprintf(out, WORDS, "unknown time");
        return;
    }
    long s = lround(fmax(seconds, 0.0));
    if (s < 60)
        snprintf(out, WORDS, "%ld s", s);
    else if (s < 3600)
        snprintf(out, WORDS, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(out, WORDS, "%ld h %02ld min", s / 3600, s / 60 % 60);
}

enum { LONGEST = 48 };

/* Levenshtein's distance: the table of all prefixes, of which one row is kept. */
static size_t edits(const char *a, const char *b) {
    size_t length = strlen(b), row[LONGEST + 1];
    if (length > LONGEST) return SIZE_MAX;
    for (size_t j = 0; j <= length; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t best = corner + (a[i] == b[j] ? 0 : 1);
            if (row[j] + 1 < best) best = row[j] + 1;
            corner = row[j + 1];
            if (corner + 1 < best) best = corner + 1;
            row[j + 1] = best;
        }
    }
    return row[length];
}

int words_nearest(const char *word, const char *const *names, size_t count) {
    size_t length = strlen(word),
           best = length / 3 + (length > 3 ? 2 : 1); /* one slip in three letters; two swapped letters are two */
    int nearest = -1;
    if (length > LONGEST) return -1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edits(word, names[i]);
        if (distance >= best) continue;
        best = distance;
        nearest = (int)i;
    }
    return nearest;
}
