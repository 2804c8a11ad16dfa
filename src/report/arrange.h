/* SPDX-License-Identifier: Apache-2.0 */
/* arrange.h: places for the boxes and lines of a graph, row by row from top to bottom (Sugiyama, Tagawa and Toda, IEEE
 * SMC 11:2, 1981): a box is below all that lead to it. */
#ifndef FUSESIM_REPORT_ARRANGE_H
#define FUSESIM_REPORT_ARRANGE_H

#include "base/arena.h"

typedef struct {
    double width, height; /* wanted */
    double x, y;          /* found: of its upper left corner */
    int row;
} fsim_box;

typedef struct {
    double x, y;
} fsim_place;

/* From one box to another that comes later in the list. */
typedef struct {
    int from, to;
    bool far;       /* found: it passes too many rows; it has no places */
    fsim_place *at; /* found: where it leaves the box, then its row; where it enters and leaves each row that it passes;
                       where it ends */
    int places;
} fsim_line;

typedef struct {
    fsim_box *box;
    int boxes;
    fsim_line *line;
    int lines;
    double gap_x, gap_y;  /* wanted: between boxes of a row, between rows */
    int most_in_row;      /* wanted */
    int most_passed;      /* wanted: rows that a line passes at most */
    double width, height; /* found: of all */
} fsim_arrangement;

/* Fills in what is found. In a; the same input gives the same places. */
void fsim_arrange(fsim_arrangement *x, fsim_arena *a);

#endif
