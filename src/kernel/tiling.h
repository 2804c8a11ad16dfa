/* SPDX-License-Identifier: Apache-2.0 */
/* tiling.h: the contractions of a group in tiles: which of them share a tile, and how a block and the grid are laid
 * out.
 *
 * All tiles that the generator can write come from here: cost/ and emit/ get a layout through layout.h. Contractions
 * without tiles are summed up by one thread a result: transposed convolutions, groups with few filters, and results
 * that depend on more than two contractions, or whose elements are not one to one with the contraction's. */
#ifndef FUSESIM_KERNEL_TILING_H
#define FUSESIM_KERNEL_TILING_H

#include "hw/hw.h"
#include "kernel/product.h"
#include "kernel/schedule.h"
#include "kernel/tile.h"

/* What one tile computes: one product, or two with the same rows whose results meet in an operator. */
typedef struct {
    fsim_tile_product product[2];
    int products;
    bool tensor;           /* computes on tensor cores */
    fsim_tile_shape shape; /* its sides apart, for which there are many wishes: set by fsim_tiling_lay_out */
    fsim_tile_layout l;    /* set by fsim_tiling_lay_out */
    int vector;            /* the same: neighbouring results that a thread stores at once */
    int64_t blocks;        /* the same: blocks for one part of k */
} fsim_tile_plan;

enum { FSIM_AFTER_TILES = -2 };

typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    const fsim_group *group;
    fsim_tile_plan *plan;
    int plans, room;
    int *of;         /* per write of the group: its plan; -1: it is stored where its value is computed;
                        FSIM_AFTER_TILES: by the launch that adds up what blocks leave of sums over all tiles */
    int64_t row;     /* reductions follow, of rows of so many results: they are whole in a tile; 0: none do */
    bool in_passing; /* some write has no plan */
    int parts; /* set by fsim_tiling_lay_out: parts of k, each of `span`, whose sums a second launch adds; 1: k is not
                  split */
    int64_t span;
    fsim_tile_wish sides; /* for which the plans are laid out now; m 0: for none */
    fsim_arena *a;
} fsim_tiling;

/* Tiles above each other, of all batches, in the layout that was set: a column's sum has so many parts. */
int64_t fsim_tiles_down(const fsim_tiling *t);

/* Does the generator write products in this arithmetic for the architecture's tensor cores? */
bool fsim_tensor_text(const fsim_architecture *arch, fsim_dtype arithmetic);
/* .. and by groups of four warps? */
bool fsim_tile_groups(const fsim_architecture *arch, fsim_dtype arithmetic);
/* The least architecture that the text of this plan's products is compiled for; 0: any. */
int fsim_tile_sm(const fsim_tile_plan *p);

/* How the group's contractions share tiles; NULL where they fit none. In a. */
fsim_tiling *fsim_tiling_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *group, fsim_arena *a);

/* Lays the tiling out with the tile that `wish` asks for, as far as extents, operands and registers allow, and sets
 * the fields of *s for the block and the grid. The template, the vector and the fields of rows are left alone. False
 * where no block fits. */
bool fsim_tiling_lay_out(fsim_tiling *t, fsim_tile_wish wish, fsim_schedule *s);

/* An operand, numbered as in kernel/tile.h: 0 is the rows' operand, which all products share; the others are the
 * columns' operands. */
const fsim_tile_side *fsim_tile_side_of(const fsim_tile_plan *p, int operand);

/* How many tiles load each element of the contraction's operand 0 and operand 1. */
void fsim_tiling_loads(const fsim_tiling *t, double loads[2]);

/* Threads that go through a row of `length` results of a tile. */
int fsim_tile_row_threads(int64_t length);

/* A group whose contractions have no tiles: a thread sums up one result. Sets the launch in *s. */
void fsim_lay_out_direct(const fsim_group *o, fsim_schedule *s);

#endif
