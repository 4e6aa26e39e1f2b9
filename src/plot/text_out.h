/* Text for a terminal, built piece by piece: it knows the column it is in, and remembers that memory ran out. */
#ifndef CH_PLOT_TEXT_OUT_H
#define CH_PLOT_TEXT_OUT_H

#include "clearhead.h"
#include "plot/label.h"

struct text_out {
    char *text;
    size_t used, capacity;
    int column; /* columns written since the last newline */
    bool failed;
};

/* Text without a newline that takes `width` columns; 0 for an escape sequence. */
void text_out_add(struct text_out *out, const char *text, int width);
/* Blanks up to a column; nothing if it is reached already. */
void text_out_pad(struct text_out *out, int column);
void text_out_newline(struct text_out *out);
/* Any bytes as a label of at most `columns` columns. */
void text_out_label(struct text_out *out, const char *text, int columns, enum label_set set);
/* The characters that go with colours: plain ASCII without any. */
enum label_set text_out_set(ch_colours colours);
/* ASCII words, wrapped at `columns`, and a newline. */
void text_out_words(struct text_out *out, const char *words, int columns);
/* Hands the text over, or frees it and fails. */
ch_status text_out_finish(struct text_out *out, char **text, ch_error *error);

#endif
