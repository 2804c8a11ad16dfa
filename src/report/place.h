/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: labels of points where they cover no other mark and no other label. */
#ifndef FUSESIM_REPORT_PLACE_H
#define FUSESIM_REPORT_PLACE_H

#include "report/canvas.h"

typedef struct {
    fsim_canvas *c;
    fsim_area in; /* where labels may be */
    fsim_area *taken;
    int count, room, marks_from; /* from this one on: marks, then labels; before it lines, which a leader may cross */
} fsim_places;

/* Is it within, and nothing there? */
bool fsim_place_is_free(const fsim_places *p, const fsim_area *b);
/* Notes that something is there. */
void fsim_place_take(fsim_places *p, fsim_area b);
/* The place of a text around a point. */
fsim_area fsim_place_of_words(double x, double y, const char *text, double size);

/* A label of a mark at (x, y) with a radius. */
typedef struct {
    double x, y, radius;
    fsim_ink ink;
    double size;
} fsim_labelled;
/* Draws the label beside the mark; where no place is free, further away, with a line to the mark. False: nowhere. */
bool fsim_place_label(fsim_places *p, const fsim_labelled *at, const char *text, int rings);

#endif
