#include "base/family.h"
#include "base/text.h"

#include <string.h>

enum { MOST_VARIANTS = 64 };

const ch_variant *family_find(const char *family, family_row row, const char *name, ch_error *error) {
    const char *names[MOST_VARIANTS];
    size_t count = 0;
    for (const ch_variant *variant; count < MOST_VARIANTS && (variant = row(count)); count++) {
        if (strcmp(variant->name, name) == 0) return variant;
        names[count] = variant->name;
    }
    char known[256];
    text_list(names, count, known, sizeof known);
    const char *nearest = text_nearest(name, names, count);
    fail(error, CH_USAGE, "unknown %s '%s'; have %s%s%s%s", family, name, known, nearest ? " (did you mean '" : "",
         nearest ? nearest : "", nearest ? "'?)" : "");
    return NULL;
}
