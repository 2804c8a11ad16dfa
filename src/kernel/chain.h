/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: how a block of a chained contraction is laid out (the chain itself: fusion/chain.h).
 *
 * A block keeps m rows and walks the intermediate's width n columns at a time: it makes m x n scores of the first
 * product, what lies between the products, and adds the scores times n rows of the second's operand to its m x columns
 * results. Shared memory holds the rows' operand, the first product's other operand, the second's, and, without tensor
 * cores, the scores. Rows with more results than FSIM_CHAIN_RESULTS are made in `chunks` by as many blocks, each of
 * which makes the intermediate for itself. */
#ifndef FUSESIM_KERNEL_CHAIN_H
#define FUSESIM_KERNEL_CHAIN_H

#include "fusion/chain.h"

enum {
    FSIM_CHAIN_RESULTS = 256,    /* of a row, of one block */
    FSIM_CHAIN_KEPT_DEPTH = 256, /* of the first product: deeper rows do not stay in shared memory, they are loaded
                                    again for each tile */
    FSIM_CHAIN_ROWS_MOST = 128   /* of a block */
};

/* What a block is to compute. */
typedef struct {
    int64_t batch_rows, width, depth, columns; /* rows of one batch; of the intermediate; k of the first product;
                                                  results a row */
    bool tensor;                               /* on tensor cores */
    int elem_bytes;                            /* of an element in shared memory */
    bool whole;                                /* a tile holds whole rows of the intermediate */
    bool first_along_k; /* elements of the first's other operand that lie beside each other follow k, not the columns */
    bool second_along_width; /* .. of the second's follow the intermediate's width, not the results */
    int64_t shared_most;     /* bytes of a block; INT64_MAX: whoever asks checks what comes out */
    int m, n;                /* rows and columns of the tile that the price assumes */
} fsim_chain_request;

/* One operand's tile in shared memory. */
typedef struct {
    int64_t offset, count; /* bytes from the start; elements, the gaps between lines included */
    int lead;              /* elements from one line to the next */
} fsim_chain_operand_tile;

typedef struct {
    int m, n, threads;
    int64_t depth, depth_step; /* of the first product, filled up; what is staged of it at once */
    int64_t columns, chunks;   /* results of a block, filled up; blocks that share a row's results */
    fsim_chain_operand_tile tile[FSIM_CHAIN_OPERANDS];
    int64_t scores;       /* offset, bytes; without tensor cores */
    int64_t shared_bytes; /* of a block */
    int registers;        /* a thread */
} fsim_chain_layout;

/* Layout for the request: the tile asked for, made smaller until a thread can hold its sums and a block its operands.
 * False where no tile can. */
bool fsim_chain_layout_of(const fsim_chain_request *r, fsim_chain_layout *out);

/* Few rows: blocks share the width of one row, `*piece` columns each, whole tiles of n. Returns how many pieces there
 * are of the `split` that the price assumes; 1 where one block walks the whole width. */
int64_t fsim_chain_pieces(int64_t width, int n, int split, int64_t *piece);

#endif
