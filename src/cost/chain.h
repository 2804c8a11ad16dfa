/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: a block of a chained contraction: what it computes, moves and holds. cost/kernel.c makes a kernel of it.
 *
 * A block keeps m rows, and walks its share of the intermediate's width in steps of n: m x n of the first product, what
 * lies between, then that times n rows of the second's operand, added to m x results sums. Both operands' next tiles
 * are loaded meanwhile. split: blocks share the width of one row, and a second launch puts their results together
 * (flash-decoding). Of more than 256 results a row, other blocks make the rest, and the intermediate again. */
#ifndef FUSESIM_COST_CHAIN_H
#define FUSESIM_COST_CHAIN_H

#include "fusion/group.h"

typedef struct {
    double batch, m, width, k, results; /* m: rows of one batch */
    int elem_bytes;
    bool tensor, online;
    double causal; /* side of the mask; 0 */
} fsim_chain_shape;

typedef struct {
    int m, n, split;
    double chunks; /* blocks that share a row's results */
} fsim_chain_tile;

typedef struct {
    double blocks, steps;                  /* steps: of one block, on average where a mask leaves some out */
    double chunks;                         /* blocks that share a row's results */
    double loads[FSIM_CHAIN_OPERANDS + 1]; /* how often each element of an operand is loaded from L2; at last, the
                                              intermediate's: less than 1 where a mask leaves some out */
    double first_flops, second_flops;      /* of one block, partial tiles filled up */
    double
        fixing_flops; /* of the whole kernel: online softmax rescales its sums at each step; splits are put together */
    double l2_bytes, shared_bytes_moved;
    bool streams; /* the rows are wider than a block keeps: they are loaded again in each step */
} fsim_chain_block;

/* The sizes of a chained group: first and anchor are its contractions. results: columns of the second product;
 * elem_bytes: of the first operand of the first. */
fsim_chain_shape fsim_chain_shape_of(const fsim_graph *g, const fsim_group *o, bool tensor);
/* What a block of this tile computes and loads, counted from the tile's own loops. */
fsim_chain_block fsim_chain_block_of(const fsim_chain_shape *s, fsim_chain_tile t);

#endif
