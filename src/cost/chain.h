/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: a block of a chained contraction: what it computes and loads. cost/chained.c makes a kernel of it.
 *
 * A block keeps m rows and walks its share of the intermediate's width in steps of n. In each step it computes m x n
 * of the first product, applies the operators between the products, and adds that, times n rows of the second
 * product's operand, to its m x results sums. The next step's operands are loaded meanwhile. split: so many blocks
 * share the width of one row, and a second launch combines their results (flash-decoding). chunks: so many blocks
 * share the results of one row where it has more than 256; each computes the intermediate again. */
#ifndef FUSESIM_COST_CHAIN_H
#define FUSESIM_COST_CHAIN_H

#include "fusion/group.h"

typedef struct {
    double batch, m, width, k, results; /* m: rows of one batch */
    int elem_bytes;
    int stored_bytes[FSIM_CHAIN_OPERANDS]; /* of an element in memory: less than elem_bytes where tiles are widened */
    bool tensor, online;
    double causal; /* side of the causal mask; 0: none */
} fsim_chain_shape;

typedef struct {
    int m, n, split;
    double chunks; /* blocks that share a row's results */
    bool kept;     /* the rows' operand stays in shared memory */
} fsim_chain_tile;

typedef struct {
    double blocks, steps; /* steps of one block; the mean, where a mask skips some */
    double chunks;        /* blocks that share a row's results */
    double loads[FSIM_CHAIN_OPERANDS +
                 1]; /* how often each element of an operand is loaded from L2. The last entry: how often an element of
                        the intermediate is computed; below 1 where a mask skips some */
    double first_flops, second_flops; /* of one block, with partial tiles padded */
    double fixing_flops; /* of the whole kernel: online softmax rescales its sums in each step, and the second launch
                            combines partial results */
    double l2_bytes, shared_bytes_moved;
    double partial_bytes; /* of l2_bytes: partial results, written by one launch and read by the next */
    bool streams; /* rows of the first product's operand do not fit in a block: it loads them again in each step */
} fsim_chain_block;

/* The sizes of a chained group, whose contractions are `first` and `anchor`. results: columns of the second product;
 * elem_bytes: of the first product's first operand. */
fsim_chain_shape fsim_chain_shape_of(const fsim_graph *g, const fsim_group *o, bool tensor);
/* What a block of this tile computes and loads, counted from the tile's own loops. */
fsim_chain_block fsim_chain_block_of(const fsim_chain_shape *s, fsim_chain_tile t);

#endif
