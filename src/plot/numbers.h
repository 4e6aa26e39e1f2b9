/* Pieces of the JSON that panels give. Every function gives NULL when memory runs out. */
#ifndef CH_PLOT_NUMBERS_H
#define CH_PLOT_NUMBERS_H

#include "base/json.h"

struct js_value *numbers_floats(const float *value, int count);
struct js_value *numbers_doubles(const double *value, int count);
/* Any bytes as text that JSON can hold (see label.h). */
struct js_value *numbers_text(const char *text);
/* The value if it is complete; else frees it and gives NULL. */
struct js_value *numbers_finish(struct js_value *value, bool complete);

#endif
