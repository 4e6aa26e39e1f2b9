/*
 * Labels: any bytes in, a short piece of valid, printable text out, whose width on a screen is known.
 *
 * Bytes that are no UTF-8 become U+FFFD, control and invisible characters are written as escapes (\x1b,
 * \u202e), and what is too long is cut and ends in an ellipsis ("~" in ASCII).
 */
#ifndef CH_PLOT_LABEL_H
#define CH_PLOT_LABEL_H

#include <stddef.h>

enum { LABEL_BYTES = 512, NUMBER_BYTES = 32 };

enum label_set { LABEL_UTF8, LABEL_ASCII }; /* in ASCII, other characters become "?" */

struct label {
    char text[LABEL_BYTES];
    int width; /* columns on a terminal */
};

/* text (NULL is empty) in at most `most` columns. */
struct label label_clean(const char *text, int most, enum label_set set);
/* The label of row or column i: labels[i], or the number i where labels is NULL. */
struct label label_at(const char *const *labels, int i, int most, enum label_set set);

/* Bytes of the first character of a cleaned text, with the marks that sit on it (0 at its end); *width gets
 * its columns. */
size_t label_character(const char *text, int *width);

/* How long a cleaned text is: in columns, or drawn in letters of some size. */
typedef double (*label_measure)(const char *text, void *context);
/* A text broken into at most `most` lines of at most `room` each, after blanks and slashes where there are any; what
 * the last line has no room for is cut. Returns how many lines there are; an empty text has none. */
int label_wrap(const char *text, enum label_set set, double room, label_measure measure, void *context,
               struct label *line, int most);
/* The measure of a terminal: columns. */
double label_columns(const char *text, void *unused);

/* A value as a person reads it: two decimals, no "-0.00", "?" for NaN. */
void number_text(double value, char out[NUMBER_BYTES]);

#endif
