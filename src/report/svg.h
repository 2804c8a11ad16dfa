/* SPDX-License-Identifier: Apache-2.0 */
/* svg.h: what gnuplot's SVG lacks: a title and a description of the chart, and a text for who points at a mark. */
#ifndef FUSESIM_REPORT_SVG_H
#define FUSESIM_REPORT_SVG_H

#include <stdio.h>

/* Pixels from the upper left corner of a drawing. */
typedef struct {
    double left, top, right, bottom;
} fsim_area;

/* What a reader sees who points at a place. */
typedef struct {
    fsim_area at;
    const char *text;
} fsim_tip;

typedef struct fsim_svg_words {
    const char *title, *about;
    const fsim_tip *tip; /* places in pixels of the drawing */
    int tips;
} fsim_svg_words;

/* Copies gnuplot's SVG to out with these words in place of gnuplot's own. */
void fsim_svg_write(FILE *out, const char *svg, const fsim_svg_words *words);

#endif
