/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h: the one entry from a group to its schedule. Column `schedule` of fusion/template.def names the function
 * that lays out a template's kernels; cost/ asks here for each layout that it prices, emit/ for the one that was
 * chosen. */
#ifndef FUSESIM_KERNEL_LAYOUT_H
#define FUSESIM_KERNEL_LAYOUT_H

#include "kernel/chained.h"
#include "kernel/schedule.h"
#include "kernel/tiling.h"

/* A group to lay out. Contractions in tiles need `tiling`, chains in tiles `chain`; NULL: it has no tiles. */
typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    const fsim_group *group;
    fsim_tiling *tiling;
    const fsim_chained *chain;
    fsim_chained_layout chained; /* of a chain, once laid out: how blocks share it */
} fsim_layout;

/* Lays out a kernel of the group's template. *s says what is asked for, and receives the layout that comes closest:
 *     streaming      vector
 *     rows           vector, band, pieces
 *     contractions   tile_m, tile_n, split_k; tile_m is 0: a thread for each result, or rows of results
 *     chains         the same; tile_m is 0: a block for each row
 * Asked for what it gave, it gives the same again. Registers of streaming kernels and of rows, and where a row is kept,
 * depend on what is priced and are left alone. False where there is no such layout. */
bool fsim_schedule_of(fsim_layout *l, fsim_schedule *s);

/* The tiles that the group can have, one after the other: lays out the first of them from *i on, in one part, and sets
 * *i to it; false behind the last. Every layout with tiles has one of these. */
bool fsim_next_tile(fsim_layout *l, int *i, fsim_schedule *s);

#endif
