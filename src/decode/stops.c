#include "decode/stops.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <string.h>

ch_status stops_new(struct stops *stops, const char *const *text, int count, ch_error *error) {
    *stops = (struct stops){.text = mem_new((size_t)count, sizeof *stops->text), .count = count};
    ch_status status = stops->text ? CH_OK : fail_memory(error, "the stop strings");
    for (int i = 0; i < count && status == CH_OK; i++) {
        if (!*text[i]) status = fail(error, CH_USAGE, "stop: expected a text, found an empty one at place %d", i + 1);
        if (status == CH_OK && !(stops->text[i] = mem_copy_string(text[i])))
            status = fail_memory(error, "the stop strings");
    }
    if (status != CH_OK) stops_free(stops);
    return status;
}

void stops_free(struct stops *stops) {
    for (int i = 0; i < stops->count && stops->text; i++) mem_free(stops->text[i]);
    mem_free(stops->text);
    mem_free(stops->held);
    *stops = (struct stops){0};
}

void stops_clear(struct stops *stops) {
    stops->given = stops->length = 0;
    stops->stopped = false;
}

/* Bytes of the longest stop string that `length` bytes end with, 0 if they end with none. */
static size_t complete(const struct stops *stops, const char *bytes, size_t length) {
    size_t longest = 0;
    for (int i = 0; i < stops->count; i++) {
        size_t its = strlen(stops->text[i]);
        if (its <= length && its > longest && memcmp(bytes + length - its, stops->text[i], its) == 0) longest = its;
    }
    return longest;
}

/* Bytes of the longest start of a stop string that `length` bytes end with. */
static size_t begun(const struct stops *stops, const char *bytes, size_t length) {
    size_t longest = 0;
    for (int i = 0; i < stops->count; i++) {
        size_t its = strlen(stops->text[i]) - 1;
        if (its > length) its = length;
        while (its > longest && memcmp(bytes + length - its, stops->text[i], its) != 0) its--;
        if (its > longest) longest = its;
    }
    return longest;
}

static void drop_given(struct stops *stops) {
    if (stops->given) memmove(stops->held, stops->held + stops->given, stops->length - stops->given);
    stops->length -= stops->given;
    stops->given = 0;
}

ch_status stops_take(struct stops *stops, const char *bytes, size_t length, const char **out, size_t *out_length,
                     ch_error *error) {
    *out_length = 0;
    drop_given(stops);
    void *held = stops->held;
    if (!mem_grow(&held, &stops->capacity, stops->length + length, 1)) return fail_memory(error, "the text");
    *out = stops->held = held;
    for (size_t i = 0; i < length && !stops->stopped; i++) {
        stops->held[stops->length++] = bytes[i];
        size_t stop = complete(stops, stops->held, stops->length);
        stops->length -= stop;
        stops->stopped = stop > 0;
    }
    size_t give = stops->length;
    if (!stops->stopped) give -= begun(stops, stops->held, give);
    if (!stops->stopped) give -= utf8_unfinished(stops->held, give);
    *out_length = stops->given = give;
    return CH_OK;
}

void stops_flush(struct stops *stops, const char **out, size_t *out_length) {
    drop_given(stops);
    *out = stops->held;
    *out_length = stops->given = stops->length;
}
