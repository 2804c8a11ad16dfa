/* SPDX-License-Identifier: Apache-2.0 */
/* replayed.h: what replay.c and replayed.c share. */
#ifndef FUSESIM_PLAN_SEARCH_REPLAYED_H
#define FUSESIM_PLAN_SEARCH_REPLAYED_H

#include "plan/price/plan.h"
#include "plan/search/pebbles.h"

enum { MOST_KERNELS = 256, MOST_EVENTS = FSIM_MOST_EVENTS + 1 };

/* A choice among forms of derivatives, and another form of it. */
typedef struct {
    int choice, form;
} either;

typedef struct {
    const fsim_problem *p;
    const fsim_plan *base;
    const fsim_graph *g; /* the plan's */
    const signed char *fate;
    fsim_arena *a;
    fsim_pebble_game game;
    int value[FSIM_MOST_PEBBLES]; /* its tensor */
    int *value_of;                /* by tensor; -1: it is none */
    int *home;                    /* by primitive: its kernel */
    fsim_pebble_maker maker[FSIM_MOST_PEBBLES];
    int makers, maker_kernel[FSIM_MOST_PEBBLES], *maker_of; /* maker_of: by kernel; -1: it is none */
    fsim_pebble_step step[MOST_KERNELS];
    int step_kernel[MOST_KERNELS];
    either either[MOST_KERNELS][FSIM_MOST_EITHER];
    /* Of what is played now: */
    int events, runs[FSIM_MOST_PEBBLES];
    struct {
        int kernel, event;
    } launch[MOST_KERNELS + MOST_EVENTS]; /* what runs, in order */
    int launches;
    int now[FSIM_MOST_PEBBLES]; /* per value: the event that made it; 0: the forward pass */
    signed char *form;
    fsim_derive how;
    fsim_copy_read *read;
    int read_room;
} replay;

/* The plan's kernels on that graph, with one more for each event, listed in the order in which they run. False where a
 * primitive has no place. */
bool fsim_replayed(const replay *w, const fsim_graph *to, fsim_partition *out);

#endif
