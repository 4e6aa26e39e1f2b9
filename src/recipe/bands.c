#include "recipe/bands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading: as strictly as an option --------------------------------------------------------- */

static ch_status check_keys(const struct js_value *object, const char *where, const char *name, ch_error *error) {
    void *cursor = NULL;
    const char *key;
    const struct js_value *value;
    ch_status status = js_expect(object, JS_OBJECT, where, name, error);
    while (status == CH_OK && js_next(object, &cursor, &key, &value))
        if (strcmp(key, "step") != 0 && strcmp(key, "low") != 0 && strcmp(key, "high") != 0)
            status = fail(error, CH_USAGE, "%s: '%s': unknown key '%s'; have step, low, high", where, name, key);
    return status;
}

static ch_status read_loss(const struct js_value *object, const char *key, const char *where, const char *name,
                           double *out, ch_error *error) {
    char place[64];
    snprintf(place, sizeof place, "%s.%s", name, key);
    ch_status status = js_double(js_find(object, key), where, place, out, error);
    if (status != CH_OK || *out >= 0) return status;
    return fail(error, CH_USAGE, "%s: '%s': expected a loss of at least 0, found %g", where, place, *out);
}

/* after: the step of the band before it; 0: it is the first. */
static ch_status read_band(const struct js_value *object, int64_t after, const char *where, const char *name,
                           ch_band *band, ch_error *error) {
    char place[64];
    snprintf(place, sizeof place, "%s.step", name);
    ch_status status = check_keys(object, where, name, error);
    if (status == CH_OK) status = js_int(js_find(object, "step"), where, place, &band->step, error);
    if (status == CH_OK && band->step <= after)
        status = fail(error, CH_USAGE, "%s: '%s': expected a step behind %lld, since steps ascend, found %lld", where,
                      place, (long long)after, (long long)band->step);
    if (status == CH_OK) status = read_loss(object, "low", where, name, &band->low, error);
    if (status == CH_OK) status = read_loss(object, "high", where, name, &band->high, error);
    if (status == CH_OK && band->low > band->high)
        status = fail(error, CH_USAGE, "%s: '%s': expected low to be at most high, found %g and %g", where, name,
                      band->low, band->high);
    return status;
}

ch_status bands_from_json(struct bands *bands, const struct js_value *array, const char *where, ch_error *error) {
    struct bands read = {0};
    ch_error cause;
    if (js_expect(array, JS_ARRAY, where, "bands", &cause) != CH_OK) return fail(error, CH_USAGE, "%s", cause.message);
    size_t count = js_count(array);
    if (count > MOST_BANDS)
        return fail(error, CH_USAGE, "%s: 'bands': expected at most %d, found %zu", where, MOST_BANDS, count);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "bands[%zu]", i);
        int64_t after = i ? read.band[i - 1].step : 0;
        if (read_band(js_at(array, i), after, where, name, &read.band[i], &cause) != CH_OK)
            return fail(error, CH_USAGE, "%s", cause.message);
    }
    read.count = (int)count;
    read.text = bands->text;
    *bands = read;
    return CH_OK;
}

ch_status bands_text_from_json(struct bands *bands, const struct js_value *mark, const char *where, ch_error *error) {
    const char *text;
    ch_error cause;
    if (js_text(mark, where, "bands_text", &text, &cause) != CH_OK) return fail(error, CH_USAGE, "%s", cause.message);
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return fail(error, CH_USAGE, "%s: 'bands_text': expected the 16 digits of a text's mark, found '%.40s'", where,
                    text);
    bands->text = strtoull(text, NULL, 16);
    return CH_OK;
}

/* ---- writing, finding, dropping ---------------------------------------------------------------- */

static struct js_value *band_to_json(const ch_band *band) {
    struct js_value *object = js_new_object();
    if (object && js_set(object, "step", js_new_int(band->step)) && js_set(object, "low", js_new_double(band->low)) &&
        js_set(object, "high", js_new_double(band->high)))
        return object;
    js_free(object);
    return NULL;
}

struct js_value *bands_to_json(const struct bands *bands) {
    struct js_value *array = js_new_array();
    bool complete = array;
    for (int i = 0; i < bands->count && complete; i++) complete = js_add(array, band_to_json(&bands->band[i]));
    if (complete) return array;
    js_free(array);
    return NULL;
}

const ch_band *bands_find(const struct bands *bands, int64_t step) {
    for (int i = 0; i < bands->count; i++)
        if (bands->band[i].step == step) return &bands->band[i];
    return NULL;
}

/* A band is of several seeds, and those of another generator are as good. */
static bool shapes_nothing(const char *option) {
    static const char *const free_ones[] = {"attention", "seed",       "rng",          "threads",
                                            "log-every", "save-every", "log-gradients"};
    for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
        if (strcmp(free_ones[i], option) == 0) return true;
    return false;
}

void bands_check_text(struct bands *bands, uint64_t mark) {
    if (!bands->count || !bands->text || bands->text == mark) return;
    bands->count = 0;
    bands->dropped_for = "text";
}

void bands_note_change(struct bands *bands, const char *option) {
    if (!bands->count || shapes_nothing(option)) return;
    bands->count = 0;
    bands->dropped_for = option;
}
