/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/rows.h"

enum { WARP = 32, ACCESSES = 4 };

int fsim_row_threads(int64_t width, int vector, int most)
{
    int threads = WARP;
    while (threads < most && threads < FSIM_ROW_THREADS && (int64_t)threads * vector * ACCESSES < width)
        threads *= 2;
    return threads;
}

int64_t fsim_row_blocks(int64_t rows, int64_t rows_per_block) { return (rows + rows_per_block - 1) / rows_per_block; }

int64_t fsim_row_pieces(int64_t width, int vector, int64_t wanted, int64_t *piece)
{
    int64_t pieces = wanted > width / FSIM_LEAST_PIECE ? width / FSIM_LEAST_PIECE : wanted;
    pieces = pieces < 1 ? 1 : pieces;
    *piece = (width + pieces - 1) / pieces;
    *piece = (*piece + vector - 1) / vector * vector;
    return (width + *piece - 1) / *piece;
}
