/* SPDX-License-Identifier: Apache-2.0 */
/* chart_axis.h: axes of times and of bytes, in units that suit them. */
#ifndef FUSESIM_REPORT_CHART_AXIS_H
#define FUSESIM_REPORT_CHART_AXIS_H

#include <stdio.h>

typedef struct {
    const char *name;
    double low, high; /* of the values on it; INFINITY and 0: none yet. A low of 0 begins the axis there */
    double scale;     /* of its unit, when it has been put: values are divided by it */
} fsim_chart_axis;
typedef enum { FSIM_IN_SECONDS, FSIM_IN_BYTES } fsim_chart_unit;

/* Lets the axis reach to the value. */
void fsim_include_on(fsim_chart_axis *x, double value);
/* Sets label, range, with room for points and labels (also where there is only one value), and tics. letter: x or y. */
void fsim_put_axis(FILE *out, fsim_chart_axis *x, char letter, fsim_chart_unit kind);

#endif
