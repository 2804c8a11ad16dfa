/* SPDX-License-Identifier: Apache-2.0 */
/* axis.h: a panel of a chart with its head, scales and axes. */
#ifndef FUSESIM_REPORT_AXIS_H
#define FUSESIM_REPORT_AXIS_H

#include "report/canvas.h"

typedef enum {
    FSIM_SCALE_PLAIN,
    FSIM_SCALE_SECONDS,
    FSIM_SCALE_BYTES,
    FSIM_SCALE_COUNT,
    FSIM_SCALE_TIMES
} fsim_unit_of_scale;

/* Values to pixels. */
typedef struct {
    const char *name; /* "time" */
    fsim_unit_of_scale unit;
    bool log;
    double low, high; /* values at its ends; INFINITY and 0 before the first fsim_scale_reach of a logarithmic one */
    double from, to;  /* pixels */
} fsim_scale;

/* Lets the scale reach to a value; a logarithmic one leaves out what is not above 0. */
void fsim_scale_reach(fsim_scale *s, double value);
/* Adds room beside the values: a share of the scale at each end; a linear one that begins at 0 stays there. */
void fsim_scale_widen(fsim_scale *s, double share);
/* The pixel of a value. */
double fsim_scale_px(const fsim_scale *s, double value);

/* Draws head and a line below it at the top of the box, and returns the box without them. */
fsim_area fsim_panel_head(fsim_canvas *c, fsim_area b, const char *head, const char *below);
/* Draws the ticks, the name and the grid of an axis below or left of the plot. */
void fsim_axis_below(fsim_canvas *c, fsim_area plot, const fsim_scale *x);
/* The same left of it. */
void fsim_axis_left(fsim_canvas *c, fsim_area plot, const fsim_scale *y);

/* An entry of a legend: its symbol as gnuplot's point type; 0: a small box. */
typedef struct {
    const char *text;
    fsim_look look;
} fsim_key;
/* Draws a legend from the left upper corner of the box, in as many lines as it needs; returns their height in pixels.
 * c NULL: draws nothing. */
double fsim_put_keys(fsim_canvas *c, fsim_area b, const fsim_key *key, int keys);

#endif
