#include "model/config_rows.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct config, name)
#define VARIANT_ROW(option, field, family, absent)                                                                     \
    { option, NULL, CONFIG_VARIANT, FIELD(field), family, 0, 0, absent }
#define WHOLE_ROW(option, field, least, most, absent)                                                                  \
    { option, NULL, CONFIG_WHOLE, FIELD(field), NULL, least, most, absent }
#define SWITCH_ROW(option, field, absent)                                                                              \
    { option, NULL, CONFIG_SWITCH, FIELD(field), NULL, 0, 0, absent }
#define NUMBER_ROW(option, field, least, most, absent)                                                                 \
    { option, NULL, CONFIG_NUMBER, FIELD(field), NULL, least, most, absent }

static const struct config_row table[] = {
    {"arch", "architecture", CONFIG_VARIANT, FIELD(arch), arch_row, 0, 0, NULL},
    VARIANT_ROW("norm", norm, norm_row, NULL),
    VARIANT_ROW("norm-placement", placement, norm_placement_row, NULL),
    VARIANT_ROW("position", position, position_row, NULL),
    NUMBER_ROW("rope-base", rope.base, 1, MOST_ROPE_BASE, "10000"),
    VARIANT_ROW("rope-scaling", rope.scaling, rope_scaling_row, "none"),
    NUMBER_ROW("rope-factor", rope.factor, 1, MOST_ROPE_FACTOR, "1"),
    VARIANT_ROW("ffn", ffn, ffn_row, NULL),
    VARIANT_ROW("embedding-scale", embedding_scale, embedding_scale_row, "sqrt"),
    VARIANT_ROW("tie", tie, tie_row, "none"),
    VARIANT_ROW("bias", bias, bias_row, "all"),
    SWITCH_ROW("qk-norm", qk_norm, "off"),
    WHOLE_ROW("window", window, 0, MOST_POSITIONS, "0"),
    NUMBER_ROW("soft-cap", soft_cap, 0, MOST_SOFT_CAP, "0"),
    WHOLE_ROW("d-model", d_model, 1, MOST_WIDTH, NULL),
    WHOLE_ROW("d-ff", d_ff, 1, MOST_HIDDEN, NULL),
    WHOLE_ROW("layers", layers, 1, MOST_LAYERS, NULL),
    WHOLE_ROW("max-positions", max_positions, 2, MOST_POSITIONS, NULL),
    WHOLE_ROW("symbols", symbols, 1, MOST_SYMBOLS, NULL),
    NUMBER_ROW("dropout", dropout, 0, 1, NULL),
};

enum { ROWS = sizeof table / sizeof *table };

const struct config_row *config_row(size_t i) {
    return i < ROWS ? &table[i] : NULL;
}

void config_row_key(const struct config_row *row, char key[CONFIG_KEY]) {
    snprintf(key, CONFIG_KEY, "%s", row->key ? row->key : row->option);
    for (char *at = key; *at; at++)
        if (*at == '-') *at = '_';
}

void config_row_set(struct config *config, const struct config_row *row, const char *text) {
    void *field = (char *)config + row->field;
    const ch_variant *variant;
    switch (row->type) {
    case CONFIG_VARIANT:
        variant = family_find(row->option, row->family, text, NULL);
        ch_assert(variant);
        memcpy(field, &variant, sizeof variant);
        return;
    case CONFIG_WHOLE:
        *(int *)field = (int)strtol(text, NULL, 10);
        return;
    case CONFIG_NUMBER:
        *(double *)field = strtod(text, NULL);
        return;
    case CONFIG_SWITCH:
        *(bool *)field = strcmp(text, "on") == 0;
        return;
    }
}

void config_row_text(const struct config *config, const struct config_row *row, char text[CONFIG_TEXT]) {
    const void *field = (const char *)config + row->field;
    switch (row->type) {
    case CONFIG_VARIANT:
        snprintf(text, CONFIG_TEXT, "%s", (*(const ch_variant *const *)field)->name);
        return;
    case CONFIG_WHOLE:
        snprintf(text, CONFIG_TEXT, "%d", *(const int *)field);
        return;
    case CONFIG_SWITCH:
        snprintf(text, CONFIG_TEXT, "%s", *(const bool *)field ? "on" : "off");
        return;
    case CONFIG_NUMBER:
        text_exactly(*(const double *)field, text, CONFIG_TEXT);
        return;
    }
}

void config_fill_absent(struct config *config) {
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].absent) config_row_set(config, &table[i], table[i].absent);
}

bool config_row_same(const struct config *a, const struct config *b, const struct config_row *row) {
    char one[CONFIG_TEXT], other[CONFIG_TEXT];
    config_row_text(a, row, one);
    config_row_text(b, row, other);
    return strcmp(one, other) == 0;
}
