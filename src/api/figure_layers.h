/* The layers of ch_figure_training. */
#ifndef CH_API_FIGURE_LAYERS_H
#define CH_API_FIGURE_LAYERS_H

#include "api/figure.h"

ch_status figure_layers(const char *const *folders, int count, ch_figure **figure, ch_error *error);

#endif
