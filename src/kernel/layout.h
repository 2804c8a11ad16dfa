/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h: lays out a kernel for a group. The column `schedule` of fusion/template.def names the function for each
 * template. cost/ asks here for each layout that it prices, and emit/ for the one that was chosen. */
#ifndef FUSESIM_KERNEL_LAYOUT_H
#define FUSESIM_KERNEL_LAYOUT_H

#include "kernel/chained.h"
#include "kernel/schedule.h"
#include "kernel/stream.h"
#include "kernel/tiling.h"

/* A group to lay out. `tiling` is for contractions, `chain` for chains, `turning` for pointwise kernels and copies
 * that turn a tensor around; NULL: the group has no tiles. */
typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    const fsim_group *group;
    fsim_tiling *tiling;
    const fsim_chained *chain;
    const fsim_turning *turning;
    fsim_chained_layout chained; /* set by fsim_schedule_of for a chain: how blocks share it */
} fsim_layout;

/* Lays out a kernel of the group's template. The caller sets the fields of *s that it asks for, and gets
 * the closest layout:
 *     streaming      vector; with transposing tiles each thread has as many points as the tile has for it
 *     rows           vector, band, pieces, turns
 *     contractions   tile_m, tile_n, split_k; tile_m is 0: a thread for each result, or rows of results
 *     chains         the same; tile_m is 0: a block for each row
 * A layout that it returned, asked for again, is returned unchanged. Registers of streaming and row kernels, and where
 * a row is kept, depend on the price and are left alone. False where there is no such layout. */
bool fsim_schedule_of(fsim_layout *l, fsim_schedule *s);

/* Iterates over the tiles that the group can have: lays out the first one from number *i on, without splitting k,
 * and sets *i to its number. False when there are no more. Every layout with tiles has one of these. */
bool fsim_next_tile(fsim_layout *l, int *i, fsim_schedule *s);

#endif
