#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 64 };

/* Levenshtein's distance, one row at a time. */
static size_t distance(const char *a, const char *b) {
    size_t row[LONGEST + 1], length_b = strlen(b);
    if (strlen(a) > LONGEST || length_b > LONGEST) return LONGEST;
    for (size_t j = 0; j <= length_b; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            size_t shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
            diagonal = row[j];
            row[j] = substituted < shorter + 1 ? substituted : shorter + 1;
        }
    }
    return row[length_b];
}

const char *text_nearest(const char *word, const char *const *names, size_t count) {
    const char *nearest = NULL;
    size_t length = strlen(word),
           best = length / 3 + (length > 3 ? 2 : 1); /* one slip in three letters; two swapped letters are two */
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, names[i]);
        if (d < best) {
            best = d;
            nearest = names[i];
        }
    }
    return nearest;
}

void text_list(const char *const *names, size_t count, char *out, size_t size) {
    size_t used = 0;
    if (size) out[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", names[i]);
    if (used >= size && size > 4) strcpy(out + size - 4, "...");
}

size_t text_control(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    if ((*c && *c < ' ') || *c == 0x7f) return 1;
    return c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0 ? 2 : 0; /* U+0080 to U+009F, one of which starts sequences */
}

double text_number(double x) {
    return isnan(x) ? fabs(x) : x;
}

const char *text_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

const char *text_range(int64_t least, int64_t most, char out[TEXT_RANGE]) {
    if (least == most)
        snprintf(out, TEXT_RANGE, "%lld", (long long)least);
    else
        snprintf(out, TEXT_RANGE, "%lld to %lld", (long long)least, (long long)most);
    return out;
}

void text_exactly(double x, char *out, size_t size) {
    snprintf(out, size, "%.15g", x);
    if (strtod(out, NULL) != x) snprintf(out, size, "%.17g", x);
}
