/* SPDX-License-Identifier: Apache-2.0 */
/* gnuplot.h: drawings by gnuplot, or a program that takes its place. */
#ifndef FUSESIM_REPORT_GNUPLOT_H
#define FUSESIM_REPORT_GNUPLOT_H

#include "base/fault.h"
#include <stdbool.h>
#include <stdio.h>

/* text between single quotes, where gnuplot expands nothing; control characters, which would end the line, as blanks.
 */
void fsim_gnuplot_text(FILE *out, const char *text);

/* Where a chart goes, who draws it, and how it looks. */
typedef struct {
    const char *path;    /* ends in .svg, .png or .pdf */
    const char *program; /* NULL or "": gnuplot */
    const struct fsim_chart_style *style;
} fsim_chart_file;

#define FSIM_CHART_ENDINGS "a chart's name ends in .svg, .png or .pdf"
enum { FSIM_CHART_SVG, FSIM_CHART_PNG, FSIM_CHART_PDF };
/* One of these, by the name's ending; -1: another. */
int fsim_chart_ending(const char *path);

struct fsim_svg_words;
/* Runs the script into to->path, which appears whole or not at all; an SVG gets the words. False with *fault set:
 * FSIM_UNAVAILABLE where the program is not there or does not draw, FSIM_FAILED where files could not be written. */
bool fsim_gnuplot_draw(fsim_arena *a, const char *script, const fsim_chart_file *to, const struct fsim_svg_words *words,
                       fsim_fault *fault);

#endif
