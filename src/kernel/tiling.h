/* SPDX-License-Identifier: Apache-2.0 */
/* tiling.h: the contractions of a group in tiles: which of them share one, and how a block, and the grid, are laid out.
 *
 * This is the one owner of the tiles that the generator can write: cost/ prices a layout of fsim_tiling_lay_out, emit/
 * writes the layout that was priced. Not in tiles, and then a thread sums up one result by itself: transposed
 * convolutions, groups with few filters, results that more than two contractions meet in or that lie elsewhere than one
 * to one with the contraction's. */
#ifndef FUSESIM_KERNEL_TILING_H
#define FUSESIM_KERNEL_TILING_H

#include "hw/hw.h"
#include "kernel/product.h"
#include "kernel/schedule.h"
#include "kernel/tile.h"

/* What one tile computes: a product, or two of the same rows whose results meet. */
typedef struct {
    fsim_tile_product product[2];
    int products;
    bool tensor;        /* on tensor cores */
    fsim_tile_layout l; /* once laid out */
    int vector;         /* .. neighbouring results of a thread that are stored at once */
    int64_t blocks;     /* .. of one part of the depth */
} fsim_tile_plan;

typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    const fsim_group *group;
    fsim_tile_plan *plan;
    int plans, room;
    int *of;         /* per write of the group: its plan; -1: stored in passing */
    bool in_passing; /* some write is */
    int parts;       /* once laid out: of the depth, each of `span`, summed by a second launch; 1: there is none */
    int64_t span;
    fsim_arena *a;
} fsim_tiling;

/* How the group's contractions share tiles; NULL where they don't fit any. In a. */
fsim_tiling *fsim_tiling_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *group, fsim_arena *a);

/* Lays the tiling out as wished, as far as extents, operands' places and registers allow, and sets in *s what a block
 * and the grid then are: template, vector, and what rows need, are left alone. False where it fits no block. */
bool fsim_tiling_lay_out(fsim_tiling *t, fsim_tile_wish wish, fsim_schedule *s);

/* The tiles that these contractions can have, one after the other: lays out the first of them from *i on, in one part,
 * and sets *i to it; false behind the last. Every layout that fsim_tiling_lay_out can give has one of these tiles. */
bool fsim_tile_choice(fsim_tiling *t, int *i, fsim_schedule *s);

/* An operand of kernel/tile.h: the rows', which all products share, or a product's columns'. */
const fsim_tile_side *fsim_tile_side_of(const fsim_tile_plan *p, int operand);

/* Tiles side by side that load each element of the contraction's operand 0, and of operand 1, as laid out. */
void fsim_tiling_loads(const fsim_tiling *t, double loads[2]);

/* A group whose contractions share no tile: a thread sums up one result. Sets in *s what it is launched with. */
void fsim_lay_out_direct(const fsim_group *o, fsim_schedule *s);

#endif
