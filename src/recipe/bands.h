/*
 * Bands: where the validation loss of a healthy run of a recipe lies at some steps. A recipe's file holds them as
 *   "bands": [{"step": 250, "low": 2.4, "high": 2.6}, ...]
 * with ascending steps. They mean nothing once an option that shapes training or its validation has another value than
 * when they were measured, and are dropped then.
 */
#ifndef CH_RECIPE_BANDS_H
#define CH_RECIPE_BANDS_H

#include "base/json.h"

enum { MOST_BANDS = 64 };

struct bands {
    int count;
    ch_band band[MOST_BANDS];
    const char *dropped_for; /* the option that was changed; NULL: none was */
};

/* where: the file, for the sentence. On an error nothing is changed. */
ch_status bands_from_json(struct bands *bands, const struct js_value *array, const char *where, ch_error *error);
/* NULL when memory runs out. */
struct js_value *bands_to_json(const struct bands *bands);
/* Told of each option that gets another value; its name lives for ever. */
void bands_note_change(struct bands *bands, const char *option);
/* The band of a step, or NULL. */
const ch_band *bands_find(const struct bands *bands, int64_t step);

#endif
