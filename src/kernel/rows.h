/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: how threads share the rows of a row kernel. */
#ifndef FUSESIM_KERNEL_ROWS_H
#define FUSESIM_KERNEL_ROWS_H

#include "kernel/schedule.h"

enum {
    FSIM_BAND_ROWS = 32,     /* neighbouring rows in a block, where elements of neighbouring rows are contiguous and not
                                those of a row */
    FSIM_ROW_THREADS = 1024, /* most threads for a row */
    FSIM_LEAST_PIECE = 32    /* least elements of a row for a block, where several blocks share it */
};

/* Threads that share a row of `width` elements, `vector` of them at once: a warp, or as many more as still have four
 * accesses each, at most `most`. */
int fsim_row_threads(int64_t width, int vector, int most);

/* Sets in *s how blocks take rows of `width` elements, s->vector of them at once: a band of them, or as many side by
 * side as there are threads for. Sets block, grid, band, row_threads, rows_per_block. */
void fsim_lay_out_rows(int64_t rows, int64_t width, bool band, fsim_schedule *s);

/* A product whose results a block needs row by row (o->whole_row), elements of elem_bytes: its threads sum up the
 * results of some rows into shared memory. Sets in *s what it is launched with. */
void fsim_lay_out_product_rows(const fsim_group *o, int elem_bytes, fsim_schedule *s);

/* `wanted` blocks share a row: how many do, and in *piece the elements of each, whole vectors. At least 1. */
int64_t fsim_row_pieces(int64_t width, int vector, int64_t wanted, int64_t *piece);

#endif
