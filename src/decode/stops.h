/*
 * Stop strings: writing ends before the first of them that is complete. Bytes come piece by piece; what might be the
 * start of a stop string is held back until it is known, and so is a character of which bytes are still to come. Where
 * two are complete with the same byte the longer one counts, so what is written does not depend on how the bytes came
 * in pieces.
 */
#ifndef CH_DECODE_STOPS_H
#define CH_DECODE_STOPS_H

#include "base/error.h"

struct stops {
    char **text; /* (count) */
    int count;
    char *held; /* first the bytes that were given out, then those that are held back */
    size_t given, length, capacity;
    bool stopped;
};

/* Copies the texts; an empty one is refused by its number, from 1. */
ch_status stops_new(struct stops *stops, const char *const *text, int count, ch_error *error);
void stops_free(struct stops *stops);

/* Forgets what came, for another text. */
void stops_clear(struct stops *stops);
/* Takes bytes; *out gets those that may be written now, until the next call. After a stop string (stops->stopped) there
 * are none any more. */
ch_status stops_take(struct stops *stops, const char *bytes, size_t length, const char **out, size_t *out_length,
                     ch_error *error);
/* What is still held back, when nothing more will come. */
void stops_flush(struct stops *stops, const char **out, size_t *out_length);

#endif
