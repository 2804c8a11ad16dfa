/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: how threads share the rows of a row kernel. */
#ifndef FUSESIM_KERNEL_ROWS_H
#define FUSESIM_KERNEL_ROWS_H

#include "kernel/schedule.h"

enum {
    FSIM_BAND_ROWS = 32, /* rows of a block (a band) where neighbouring rows are contiguous in memory, and elements of
                            one row are not */
    FSIM_ROW_THREADS = 1024, /* most threads for a row */
    FSIM_LEAST_PIECE = 32    /* least elements of a row for a block, where several blocks share it */
};

/* Threads that share a row of `width` elements, each loading `vector` at once: a power of two. A short row has as many
 * as it takes to load it at once, so that a warp has several rows; a longer one a warp, or more while each thread has
 * at least four loads. At most `most`. */
int fsim_row_threads(int64_t width, int vector, int most);

/* Sets in *s how blocks divide rows of `width` elements, s->vector of them a load: a band of rows a block, or as
 * many rows side by side as the block has threads for. Sets block, grid, band, row_threads, rows_per_block. */
void fsim_lay_out_rows(int64_t rows, int64_t width, bool band, fsim_schedule *s);

/* The rows of a scan along a dimension. below: how many elements neighbours of a row lie apart. */
typedef struct {
    int64_t rows, width, below;
} fsim_scan_shape;
/* Those of scan `node`. */
fsim_scan_shape fsim_scan_shape_of(const fsim_graph *g, int node);

enum { FSIM_SCAN_EACH = 4 }; /* neighbouring elements of a row that a thread takes in a step */
/* Sets in *s how threads share the rows of a scan: those of contiguous elements several threads, which take a step
 * together; of others a thread each. Sets block, grid, row_threads, rows_per_block. */
void fsim_lay_out_scan(const fsim_scan_shape *x, fsim_schedule *s);

/* A product whose result is needed by whole rows (o->whole_row): a block's threads sum up the results of some rows
 * into shared memory, elem_bytes each. Sets the launch in *s. */
void fsim_lay_out_product_rows(const fsim_group *o, int elem_bytes, fsim_schedule *s);

/* Bytes of shared memory in which a block holds its part of o's sums over all rows, as s shares the rows; columns are
 * padded to whole steps of the threads. */
int64_t fsim_columns_bytes(const fsim_graph *g, const fsim_group *o, const fsim_schedule *s);
/* Bytes of one such sum: of the widest. */
int fsim_sum_bytes(const fsim_graph *g, const fsim_group *o);
/* Bytes of shared memory in which a block keeps its rows of all that several loops over a row read, as s shares the
 * rows; each tensor's are padded to whole loads, in a band to whole steps of the threads. */
int64_t fsim_kept_bytes(const fsim_graph *g, const fsim_group *o, const fsim_schedule *s);
/* Blocks of the second launch, which adds the parts of all blocks: FSIM_BAND_ROWS sums each. */
int64_t fsim_gathering_blocks(const fsim_group *o);

/* The number of blocks that share a row where `wanted` should, and in *piece the elements of each, a multiple of
 * `vector`. At least 1. */
int64_t fsim_row_pieces(int64_t width, int vector, int64_t wanted, int64_t *piece);

#endif
