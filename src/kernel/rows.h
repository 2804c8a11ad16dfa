/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: how threads share the rows of a row kernel. */
#ifndef FUSESIM_KERNEL_ROWS_H
#define FUSESIM_KERNEL_ROWS_H

#include <stdint.h>

enum {
    FSIM_BAND_ROWS = 32,     /* neighbouring rows of a block where those, not a row's elements, are contiguous */
    FSIM_ROW_THREADS = 1024, /* that share a row at most */
    FSIM_LEAST_PIECE = 32    /* elements of a row that a block takes where several share one */
};

/* Threads that share a row of `width` elements, `vector` of them at once: a warp, or as many more as still have four
 * accesses each, at most `most`. */
int fsim_row_threads(int64_t width, int vector, int most);

/* Blocks of a kernel with `rows_per_block` rows a block. */
int64_t fsim_row_blocks(int64_t rows, int64_t rows_per_block);

/* `wanted` blocks share a row: how many do, and in *piece the elements of each, whole vectors. At least 1. */
int64_t fsim_row_pieces(int64_t width, int vector, int64_t wanted, int64_t *piece);

#endif
