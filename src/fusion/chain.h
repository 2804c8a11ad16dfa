/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: kernels that hold several contractions, or one contraction with reductions.
 *
 *   chained   first -> middle -> second, where the middle's elements never leave the chip. A block owns some rows. It
 *             walks the width of the intermediate in tiles and adds each tile's product to its results. A reduction
 *             over the row in the middle (softmax) must be one whose running value can be corrected later by one
 *             factor for the row: online softmax. FlashAttention and the fused MLP are such chains.
 *   siblings  contractions that read the same operand in the same way: one contraction with their columns side by
 *             side
 *   rows      one contraction whose output tile holds whole rows: reductions over them, and what reads those, are its
 *             epilogue
 *   totals    one contraction whose epilogue adds up all of its elements, tile by tile; rows may have such sums, too
 *
 * All of it is decided for the contractions alone, from the graph, so that a refusal holds for every larger set too. */
#ifndef FUSESIM_FUSION_CHAIN_H
#define FUSESIM_FUSION_CHAIN_H

#include "fusion/joint.h"

/* FSIM_TILE_ROW: the longest row that one output tile holds. FSIM_CHAIN_LEAST: rows, and columns, of the smallest
 * tile of a chain. FSIM_KEPT_WIDTH: the most columns of an operand that stay in shared memory for the whole
 * kernel. FSIM_REGISTER_RESULTS: the most results of a block that stay in registers. */
enum { FSIM_TILE_ROW = 256, FSIM_CHAIN_LEAST = 16, FSIM_KEPT_WIDTH = 256, FSIM_REGISTER_RESULTS = 32768 };

/* How the contractions and reductions of node[0, count) can be one kernel. Needs a contraction, and a second one
 * or a reduction. False with *why; why->final where that holds for every larger set too. */
bool fsim_joint_of(const fsim_limits *limits, const int *node, int count, fsim_joint *out, fsim_refusal *why);
/* May contraction n be the first one of a chain, which computes of it what the second one reads? */
bool fsim_may_lead_chain(const fsim_limits *limits, int n);
/* The chains that begin with contraction n, in out[0, room). Returns how many; -1 where there may be more. */
int fsim_chains_from(const fsim_limits *limits, int n, fsim_joint *out, int room);
/* How many other contractions a kernel may hold side by side with contraction n, since they read the same. */
int fsim_contraction_siblings(const fsim_limits *limits, int n);
/* Which these are, in out[0, room). Returns how many; -1 where there are more. */
int fsim_siblings_of(const fsim_limits *limits, int n, int *out, int room);
/* May contraction n be in a chain? */
bool fsim_may_be_chained(const fsim_limits *limits, int n);
/* The most contractions that a kernel may hold together with contraction n, itself included: 1, two of a chain, or
 * siblings. */
int fsim_contraction_company(const fsim_limits *limits, int n);
/* Splits the point digits of x and y, two maps over the same points, until both have the same extents. False where
 * an extent of one does not divide the other's. */
bool fsim_map_align(const fsim_map *x, const fsim_map *y, fsim_map *out_x, fsim_map *out_y);
/* The digits of an operand's map over which its element changes: its rows and its k. */
fsim_map fsim_map_without_broadcasts(const fsim_map *m);
/* Some chain that begins with contraction `first`: both contractions and every primitive on a path between them,
 * ascending. Returns how many; 0 where there is no chain, or one of more than `room`. */
int fsim_chain_from(const fsim_limits *limits, int first, int *node, int room);

/* A kernel needs the first contraction's result at `at`, a map over (row, column). Are the rows of the map rows of
 * the result, and its columns columns? *rows_from: the operand of the contraction that belongs to the rows. */
bool fsim_tile_rows(const fsim_graph *g, int first, const fsim_map *at, const fsim_joint *joint, int *rows_from);

#endif
