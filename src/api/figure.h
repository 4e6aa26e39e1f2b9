/* Figures: a page and the memory behind it. Joins what is shown, which knows nothing of drawing, with the plots, which
 * know nothing of models. A maker's own struct begins with a ch_figure, so that one pointer serves both. */
#ifndef CH_API_FIGURE_H
#define CH_API_FIGURE_H

#include "plot/page.h"

struct ch_figure {
    struct page page;
    void (*release)(struct ch_figure *figure); /* frees the maker's struct and all it owns, whole or half-built */
};

/* Hands the figure over, or releases it after a failure. */
ch_status figure_deliver(struct ch_figure *figure, ch_status status, ch_figure **out);

#endif
