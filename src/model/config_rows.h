/*
 * What a model is made of, a row for each part and size: an option of the recipe sets it, the config holds it, a key of
 * the model's file keeps it. Copying, comparing, writing and reading walk the table.
 */
#ifndef CH_MODEL_CONFIG_ROWS_H
#define CH_MODEL_CONFIG_ROWS_H

#include "model/config.h"

enum config_row_type { CONFIG_VARIANT, CONFIG_WHOLE, CONFIG_NUMBER, CONFIG_SWITCH };

struct config_row {
    const char *option;
    const char *key; /* in a file; NULL: the option's name with '_' for '-' */
    enum config_row_type type;
    size_t field; /* offset in struct config: const ch_variant *, int, double or bool */
    family_row family;
    double least, most; /* of a size; of a number, `most` itself is too much */
    const char *absent; /* what a file that leaves it out means; NULL: it may not */
};

enum { CONFIG_KEY = 32, CONFIG_TEXT = 32 };

/* Row i, or NULL past the end. */
const struct config_row *config_row(size_t i);
void config_row_key(const struct config_row *row, char key[CONFIG_KEY]);

/* From a text that the recipe has checked, and as a person would write it. */
void config_row_set(struct config *config, const struct config_row *row, const char *text);
void config_row_text(const struct config *config, const struct config_row *row, char text[CONFIG_TEXT]);
bool config_row_same(const struct config *a, const struct config *b, const struct config_row *row);

#endif
