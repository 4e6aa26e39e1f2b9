/* Family preset: what the parts of a known model are, as values of options. An option that somebody gives wins over it,
 * and it wins over the defaults. */
#ifndef CH_RECIPE_PRESET_H
#define CH_RECIPE_PRESET_H

#include "base/family.h"

enum { PRESET_VALUES = 16 };

struct preset {
    ch_variant variant;
    struct {
        const char *option, *value;
    } value[PRESET_VALUES]; /* unused ones: NULL */
};

const ch_variant *preset_row(size_t i);
/* What it says of an option; NULL: nothing. */
const char *preset_value(const struct preset *preset, const char *option);

#endif
