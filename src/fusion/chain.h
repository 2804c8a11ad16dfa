/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: what more than one contraction, or a contraction with reductions, may be in one kernel.
 *
 *   chained   first -> middle -> second, the middle's elements never leaving the chip: a block keeps some rows, walks
 * the width of the intermediate in tiles, and adds each tile's product to its results. Row reductions in the middle
 * (softmax) must be such that a running value can be put right later by a factor a row: online softmax. FlashAttention
 * and the fused MLP are found this way. siblings  contractions that read one operand alike: one contraction with their
 * columns side by side rows      one contraction whose output tile holds whole rows: reductions over them, and what
 * follows, are its epilogue All of it is decided on the graph, for the contractions alone, so that a refusal holds for
 * every larger set too. */
#ifndef FUSESIM_FUSION_CHAIN_H
#define FUSESIM_FUSION_CHAIN_H

#include "fusion/group.h"

typedef enum { FSIM_ALONE, FSIM_CHAINED, FSIM_SIBLINGS, FSIM_ROWS } fsim_joint_kind;

typedef struct fsim_joint {
    fsim_joint_kind kind;
    int first, second;   /* chained: the contractions; else first only */
    int side;            /* chained: which of the second's operands is made from the first's result */
    int64_t rows, width; /* chained: of the intermediate */
    int64_t batch;       /* chained: blocks of rows that share both other operands */
    bool online;         /* chained: running reductions, put right tile by tile */
    fsim_map frame;      /* chained: (row, place in it) to the element of the second's operand */
    fsim_map other;      /* chained: row to where the second's other operand starts for it */
} fsim_joint;

/* Rows and steps of the tiles that a chained kernel may have; FSIM_TILE_ROW is the widest row that one output tile
 * holds. */
enum { FSIM_TILE_ROW = 256, FSIM_CHAIN_LEAST = 16, FSIM_KEPT_WIDTH = 256, FSIM_REGISTER_RESULTS = 32768 };

/* Contractions and reductions of node[0, count) in one kernel; needs one contraction, and something besides. False with
 * *why, final where it holds for every larger set. */
bool fsim_joint_of(const fsim_limits *limits, const int *node, int count, fsim_joint *out, fsim_refusal *why);
/* May first and second be chained, whatever joins them? false with *why. */
bool fsim_may_chain(const fsim_limits *limits, int first, int second, fsim_joint *out, fsim_refusal *why);
/* Are both contractions of one first operand, read alike, with the same batch, m, k and arithmetic, so that one kernel
 * can load it once for both? Convolutions never are. */
bool fsim_are_siblings(const fsim_graph *g, int a, int b);
/* The points' digits of x and y, two maps over the same points, cut so that both have the same extents. False where the
 * cuts do not fall into line. */
bool fsim_map_align(const fsim_map *x, const fsim_map *y, fsim_map *out_x, fsim_map *out_y);
/* The digits of an operand that move it: its rows and its k. */
fsim_map fsim_map_moving(const fsim_map *m);
/* Some contraction chained with `first` behind it: every primitive on a path between them and both, ascending, at most
 * room. Returns how many; 0 where there is none, or no room. */
int fsim_chain_from(const fsim_limits *limits, int first, int *node, int room);

/* The first contraction's result is wanted at `at` over (row, place): are its rows the rows, its columns the places?
 * *rows_from is its operand that belongs to the row. batch: of chained ones, 0 else. */
bool fsim_tile_rows(const fsim_graph *g, int first, const fsim_map *at, const fsim_joint *joint, int *rows_from);

/* What the results of node are, given those of its arguments (FSIM_FREE for what comes from elsewhere). */
fsim_row_kind fsim_row_kind_of(const fsim_node *n, const fsim_row_kind *arg);

/* Bytes of shared memory of a chained kernel's block: `kept` first-operand columns and `results` results a row,
 * elements of elem_bytes. The results lie in registers where there are at most FSIM_REGISTER_RESULTS. */
int64_t fsim_chain_bytes(int64_t m, int64_t n, int64_t kept, int64_t results, int elem_bytes);

#endif
