/* The functions of panel_maps, which stand in files of their own. */
#ifndef CH_PLOT_HEATMAP_PANEL_H
#define CH_PLOT_HEATMAP_PANEL_H

#include "plot/heatmap.h"
#include "plot/panel.h"

double heatmap_height(cairo_t *cr, const void *grid, double width);
void heatmap_draw(cairo_t *cr, const void *grid, struct box box);
void heatmap_text(struct text_out *out, const void *grid, ch_colours colours, int columns);

#endif
