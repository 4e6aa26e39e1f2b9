#include "plot/label.h"
#include "base/utf8.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { REPLACEMENT = 0xFFFD, PIECE = 16 };
enum { SHOWN_AS_ESCAPE = -1 }; /* a width that says: must not reach a screen */

/* Characters that are not one column wide; where terminals differ, the wider count, so that lines never overflow. */
static const struct {
    uint32_t first, last;
    int width;
} ranges[] = {
    {0x0000, 0x001F, SHOWN_AS_ESCAPE},
    {0x007F, 0x009F, SHOWN_AS_ESCAPE},
    {0x00AD, 0x00AD, SHOWN_AS_ESCAPE},
    {0x0300, 0x036F, 0},
    {0x0483, 0x0489, 0},
    {0x0591, 0x05BD, 0},
    {0x0610, 0x061A, 0},
    {0x061C, 0x061C, SHOWN_AS_ESCAPE},
    {0x064B, 0x065F, 0},
    {0x1100, 0x115F, 2},
    {0x1AB0, 0x1AFF, 0},
    {0x1DC0, 0x1DFF, 0},
    {0x200B, 0x200F, SHOWN_AS_ESCAPE},
    {0x2028, 0x202E, SHOWN_AS_ESCAPE},
    {0x2060, 0x206F, SHOWN_AS_ESCAPE},
    {0x20D0, 0x20FF, 0},
    {0x231A, 0x231B, 2},
    {0x2329, 0x232A, 2},
    {0x23E9, 0x23FA, 2},
    {0x25FD, 0x25FE, 2},
    {0x2600, 0x27BF, 2},
    {0x2B1B, 0x2B55, 2},
    {0x2E80, 0x303E, 2},
    {0x3041, 0xA4CF, 2},
    {0xA960, 0xA97F, 2},
    {0xAC00, 0xD7A3, 2},
    {0xF900, 0xFAFF, 2},
    {0xFE00, 0xFE0F, SHOWN_AS_ESCAPE},
    {0xFE10, 0xFE19, 2},
    {0xFE20, 0xFE2F, 0},
    {0xFE30, 0xFE6F, 2},
    {0xFEFF, 0xFEFF, SHOWN_AS_ESCAPE},
    {0xFF01, 0xFF60, 2},
    {0xFFE0, 0xFFE6, 2},
    {0xFFF9, 0xFFFB, SHOWN_AS_ESCAPE},
    {0x16FE0, 0x18DFF, 2},
    {0x1B000, 0x1B2FF, 2},
    {0x1F000, 0x1F9FF, 2},
    {0x1FA70, 0x1FAFF, 2},
    {0x20000, 0x3FFFD, 2},
    {0xE0000, 0xE0FFF, SHOWN_AS_ESCAPE},
};

static int columns_of(uint32_t point) {
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return ranges[i].width;
    return 1;
}

/* The code point that a text begins with, and its bytes; what is no character (or a noncharacter, which cairo refuses)
 * is one byte of U+FFFD. */
static size_t decode(const char *text, uint32_t *point) {
    uint32_t value;
    size_t bytes = utf8_decode(text, strnlen(text, UTF8_BYTES), &value);
    bool none = bytes == 0 || (value >= 0xFDD0 && value <= 0xFDEF) || (value & 0xFFFE) == 0xFFFE;
    *point = none ? REPLACEMENT : value;
    return none ? 1 : bytes;
}

/* What is shown for one character of a label, and its columns. */
static int show(const char *text, size_t bytes, uint32_t point, enum label_set set, char out[PIECE]) {
    int width = columns_of(point);
    if (width == SHOWN_AS_ESCAPE) return snprintf(out, PIECE, point < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)point);
    if (set == LABEL_ASCII && point > 126) {
        strcpy(out, width ? "?" : "");
        return width ? 1 : 0;
    }
    if (point == REPLACEMENT) {
        strcpy(out, "\xEF\xBF\xBD");
        return 1;
    }
    memcpy(out, text, bytes);
    out[bytes] = '\0';
    return width;
}

struct label label_clean(const char *text, int most, enum label_set set) {
    struct label label = {.width = 0};
    const char *ellipsis = set == LABEL_ASCII ? "~" : "…";
    size_t used = 0, cut = 0; /* cut: where the ellipsis would still fit */
    int cut_width = 0;
    for (const char *at = text ? text : ""; *at;) {
        uint32_t point;
        size_t bytes = decode(at, &point);
        char piece[PIECE];
        int width = show(at, bytes, point, set, piece);
        size_t length = strlen(piece);
        if (label.width + width > most || used + length + sizeof "…" > LABEL_BYTES) {
            strcpy(label.text + cut, most > 0 ? ellipsis : "");
            label.width = cut_width + (most > 0);
            return label;
        }
        memcpy(label.text + used, piece, length + 1);
        used += length;
        label.width += width;
        if (label.width < most) {
            cut = used;
            cut_width = label.width;
        }
        at += bytes;
    }
    return label;
}

struct label label_at(const char *const *labels, int i, int most, enum label_set set) {
    char number[NUMBER_BYTES];
    if (labels) return label_clean(labels[i], most, set);
    snprintf(number, sizeof number, "%d", i);
    return label_clean(number, most, set);
}

size_t label_character(const char *text, int *width) {
    uint32_t point;
    *width = 0;
    if (!*text) return 0;
    size_t bytes = decode(text, &point);
    *width = columns_of(point);
    while (text[bytes]) {
        size_t next = decode(text + bytes, &point);
        if (columns_of(point) != 0) break;
        bytes += next;
    }
    return bytes;
}

double label_columns(const char *text, void *unused) {
    int columns = 0, width;
    (void)unused;
    for (size_t bytes; (bytes = label_character(text, &width)) > 0; text += bytes) columns += width;
    return columns;
}

/* The first `bytes` of a cleaned text, without blanks at the end, and a tail behind them. */
static struct label label_part(const char *text, size_t bytes, const char *tail) {
    struct label label = {.width = 0};
    while (bytes > 0 && text[bytes - 1] == ' ') bytes--;
    snprintf(label.text, sizeof label.text, "%.*s%s", (int)bytes, text, tail);
    label.width = (int)label_columns(label.text, NULL);
    return label;
}

/* Bytes of the longest start that has room, with the tail; at least one character. */
static size_t line_length(const char *text, const char *tail, double room, label_measure measure, void *context) {
    size_t used = 0, best = 0;
    int width;
    for (size_t bytes; (bytes = label_character(text + used, &width)) > 0; used += bytes) {
        struct label longer = label_part(text, used + bytes, tail);
        if (used > 0 && measure(longer.text, context) > room) return best ? best : used;
        if (text[used] == ' ' || text[used] == '/') best = used + bytes;
    }
    return used;
}

int label_wrap(const char *text, enum label_set set, double room, label_measure measure, void *context,
               struct label *line, int most) {
    struct label whole = label_clean(text, LABEL_BYTES - (int)sizeof "…", set);
    int count = 0;
    for (const char *at = whole.text; *at && count < most;) {
        size_t bytes = line_length(at, "", room, measure, context);
        const char *tail = count + 1 < most || !at[bytes] ? "" : set == LABEL_ASCII ? "~" : "…";
        if (*tail) bytes = line_length(at, tail, room, measure, context);
        line[count++] = label_part(at, bytes, tail);
        at += bytes;
        at += strspn(at, " ");
    }
    return count;
}

void number_text(double value, char out[NUMBER_BYTES]) {
    if (isnan(value)) {
        strcpy(out, "?");
        return;
    }
    snprintf(out, NUMBER_BYTES, fabs(value) < 1e6 ? "%.2f" : "%.3g", value);
    if (strcmp(out, "-0.00") == 0) strcpy(out, "0.00");
}
