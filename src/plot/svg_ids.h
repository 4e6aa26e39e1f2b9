/*
 * Cairo names the surfaces of an SVG by numbers that count through the whole life of the process, so that the same
 * picture drawn twice is not the same file. Here they are numbered from 1 on in each file.
 */
#ifndef CH_PLOT_SVG_IDS_H
#define CH_PLOT_SVG_IDS_H

#include <stdbool.h>
#include <stddef.h>

/* Renumbers in place; *length shrinks. False if memory runs out: the text is then as it was. */
bool svg_renumber(char *text, size_t *length);

#endif
