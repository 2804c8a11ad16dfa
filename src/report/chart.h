/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h: the charts of plans (charts.def), a panel each. */
#ifndef FUSESIM_REPORT_CHART_H
#define FUSESIM_REPORT_CHART_H

#include "report/axis.h"

typedef enum {
#define FSIM_CHART(id, name, help) FSIM_CHART_##id,
#include "report/charts.def"
#undef FSIM_CHART
    FSIM_CHARTS
} fsim_chart_kind;
extern const char *const fsim_chart_names[FSIM_CHARTS];

/* The same workload on some GPUs. */
typedef struct {
    fsim_canvas *c;
    const fsim_prediction *p;
    int count;
} fsim_charted;

/* Each panel says how high it likes to be where it is so wide, and draws itself into a box. */
typedef double fsim_panel_height(const fsim_charted *s, double width);
typedef void fsim_panel_draw(const fsim_charted *s, fsim_area b);
#define FSIM_CHART(id, name, help)                                                                                     \
    fsim_panel_height fsim_height_of_##name;                                                                           \
    fsim_panel_draw fsim_draw_##name;
#include "report/charts.def"
#undef FSIM_CHART

/* Does the workload say layers, so that there is a chart of them? */
bool fsim_has_layers(const fsim_charted *s);

/* A row for each of several names, one above the other, with bars or marks. chart_rows.c */
typedef struct {
    fsim_area plot;
    double row_px;   /* the height of a row */
    double letters;  /* the size of names */
    double names_px; /* the width of their column */
    int rows;
} fsim_rows;
/* The names on the left, in a third of the box at most; `right` pixels stay free beside the plot, and `below` below it.
 * Nothing else is drawn. */
fsim_rows fsim_rows_begin(fsim_area b, const char *const *name, int rows, fsim_area margins);
/* The middle of row i. */
double fsim_row_y(const fsim_rows *r, int i);
/* Draws the names. ink: of each; NULL: all alike. */
void fsim_rows_names(fsim_canvas *c, const fsim_rows *r, const char *const *name, const fsim_ink *ink);
/* An interval as a line with ends. */
void fsim_put_whisker(fsim_canvas *c, double from, double to, double y, double half);

/* "7 up + gelu", at most so wide. */
const char *fsim_kernel_words(const fsim_charted *s, const fsim_prediction *p, const fsim_kernel *k, int number);

#endif
