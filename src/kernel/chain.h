/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: how a block of a chained contraction is laid out (the chain itself: fusion/chain.h).
 *
 * A block keeps m rows and walks the intermediate's width n columns at a time. In each step it computes m x n scores
 * of the first product, applies the operators between the products, and adds the scores times n rows of the second
 * product's operand to its m x columns results. Shared memory holds the first product's operand with the rows, its
 * other operand, the second product's other operand, and, without tensor cores, the scores. A block has at most
 * FSIM_CHAIN_RESULTS results of a row. Where a row has more, `chunks` blocks share it, and each of them computes the
 * whole intermediate again.
 *
 * On tensor cores a warp has 16 rows. Few rows (the queries of a group in decode attention) would leave a block with
 * one or two warps, which can't keep an SM busy. There `across` warps have the same rows side by side, each with its
 * share of a tile's columns and results of its own, and combine these in shared memory at the end.
 *
 * Groups of four warps have 64 rows. Their operands lie in lines of 64 elements without gaps, and while a step's are
 * multiplied, the next step's are loaded. */
#ifndef FUSESIM_KERNEL_CHAIN_H
#define FUSESIM_KERNEL_CHAIN_H

#include "fusion/chain.h"

enum {
    FSIM_CHAIN_RESULTS = FSIM_KEPT_WIDTH, /* most results of a row that one block computes */
    FSIM_CHAIN_KEPT_DEPTH =
        FSIM_KEPT_WIDTH,        /* longest k of the first product whose rows always stay in shared memory;
                                   longer ones do on tensor cores where batches have few rows and the tile leaves room */
    FSIM_CHAIN_ROWS_MOST = 128, /* of a block */
    FSIM_CHAIN_PARTS_AHEAD = 16 /* partial values of a row that the combining launch loads before it uses the first */
};

/* What a block is to compute. */
typedef struct {
    int64_t batch_rows, width, depth,
        columns;             /* rows of one batch; columns of the intermediate; k of the first product; results a row */
    bool tensor;             /* computes on tensor cores */
    bool groups;             /* .. of an architecture whose groups of four warps multiply from shared memory (wgmma),
                                and both operands that change with the columns are copied asynchronously */
    int elem_bytes;          /* bytes of an element in shared memory */
    bool whole;              /* a tile must hold whole rows of the intermediate */
    bool first_along_k;      /* neighbouring elements of the first product's other operand follow k, not the columns */
    bool shares;             /* warps may share the columns of their rows: what they leave can be combined */
    int reductions;          /* where they do: running values of a row beside its results */
    bool second_along_width; /* neighbouring elements of the second product's other operand follow the intermediate's
                                width, not the results */
    int64_t shared_most;     /* shared memory that a block may use; INT64_MAX: the caller checks the result */
    int m, n;                /* rows and columns of the tile that the price assumes */
} fsim_chain_request;

/* One operand's tile in shared memory. */
typedef struct {
    int64_t offset, count; /* bytes from the start of shared memory; elements, the gaps between lines included */
    int lead;              /* stride in elements from one line to the next */
} fsim_chain_operand_tile;

typedef struct {
    int m, n, threads;
    bool grouped;              /* groups of four warps multiply from shared memory, 64 rows each */
    int stages;                /* tiles of each operand that changes with the columns in shared memory at once */
    int across;                /* warps that share the columns of the same rows */
    int64_t depth, depth_step; /* k of the first product, padded; how much of it is staged at once */
    bool kept;               /* the rows' operand stays in shared memory; otherwise it is loaded again for each tile */
    int64_t columns, chunks; /* results of a row that a block computes, padded; blocks that share a row's results */
    fsim_chain_operand_tile tile[FSIM_CHAIN_OPERANDS];
    int64_t scores;       /* offset of the scores in bytes; without tensor cores only */
    int64_t shared_bytes; /* of a block */
    int registers;        /* registers of a thread */
} fsim_chain_layout;

/* Sets *out for the request: the tile asked for, made smaller until its sums fit a thread's registers and its
 * operands fit shared memory. False where no tile fits. */
bool fsim_chain_layout_of(const fsim_chain_request *r, fsim_chain_layout *out);

/* Where rows are too few to fill the GPU, several blocks share the width of each row: `*piece` columns a block, a
 * multiple of n. Returns the number of blocks a row; it differs from `split`, which the price wants, where the width
 * does not divide. 1: one block walks the whole width. */
int64_t fsim_chain_pieces(int64_t width, int n, int split, int64_t *piece);

#endif
