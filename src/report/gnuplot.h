/* SPDX-License-Identifier: Apache-2.0 */
/* gnuplot.h: charts through gnuplot, or a program that takes its place. */
#ifndef FUSESIM_REPORT_GNUPLOT_H
#define FUSESIM_REPORT_GNUPLOT_H

#include "base/fault.h"
#include <stdbool.h>
#include <stdio.h>

enum { FSIM_CHART_WIDTH = 1200, FSIM_CHART_HEIGHT = 600 }; /* pixels, of every terminal below; the height of most */

/* Colours that the colour-blind can tell apart (Okabe and Ito): "#0072B2". */
enum { FSIM_CHART_COLORS = 8 };
extern const char *const fsim_chart_colors[FSIM_CHART_COLORS];

/* The `set terminal` for a file that ends in .svg, .png or .pdf; NULL for another. All are as wide and as high, with
 * letters and points as large where point sizes are multiplied by *points. */
const char *fsim_gnuplot_terminal(fsim_arena *a, const char *path, int height, double *points);
/* text between single quotes, where gnuplot expands nothing; control characters, which would end the line, as blanks.
 */
void fsim_gnuplot_text(FILE *out, const char *text);
/* Where a chart goes and who draws it. */
typedef struct {
    const char *path;    /* ends in .svg, .png or .pdf */
    const char *program; /* NULL or "": gnuplot */
} fsim_chart_file;

#define FSIM_CHART_ENDINGS "a chart's name ends in .svg, .png or .pdf"

/* Runs the script into to->path, which appears whole or not at all. False with *fault set: FSIM_UNAVAILABLE where the
 * program is not there or does not draw, FSIM_FAILED where files could not be written. */
bool fsim_gnuplot_draw(fsim_arena *a, const char *script, const fsim_chart_file *to, fsim_fault *fault);

#endif
