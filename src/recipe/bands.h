/*
 * Bands: where the validation loss of a healthy run of a recipe lies at some steps. A recipe's file holds them as
 *   "bands": [{"step": 250, "low": 2.4, "high": 2.6}, ...]
 * with ascending steps, and for a text that it does not name
 *   "bands_text": "0123456789abcdef"
 * the mark of the text (material.h). They mean nothing once an option that shapes training or its validation has
 * another value than when they were measured, or the text is another one, and are dropped then.
 */
#ifndef CH_RECIPE_BANDS_H
#define CH_RECIPE_BANDS_H

#include "base/json.h"

enum { MOST_BANDS = 64 };

struct bands {
    int count;
    ch_band band[MOST_BANDS];
    uint64_t text;           /* the mark of the text; 0: that of the recipe */
    const char *dropped_for; /* the option that was changed; NULL: none was */
};

/* where: the file, for the sentence. On an error nothing is changed. */
ch_status bands_from_json(struct bands *bands, const struct js_value *array, const char *where, ch_error *error);
/* The mark of the text that they were measured on. */
ch_status bands_text_from_json(struct bands *bands, const struct js_value *mark, const char *where, ch_error *error);
/* Drops them if they are of another text. */
void bands_check_text(struct bands *bands, uint64_t mark);
/* NULL when memory runs out. */
struct js_value *bands_to_json(const struct bands *bands);
/* Told of each option that gets another value; its name lives for ever. */
void bands_note_change(struct bands *bands, const char *option);
/* The band of a step, or NULL. */
const ch_band *bands_find(const struct bands *bands, int64_t step);

#endif
