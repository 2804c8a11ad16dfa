/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h: writes a group's contractions as matrix products in tiles (kernel/product.h, kernel/tiling.h). */
#ifndef FUSESIM_EMIT_TILE_H
#define FUSESIM_EMIT_TILE_H

#include "emit/rows.h"
#include "kernel/tiling.h"

/* A tile, and the names in its text. */
typedef struct {
    const fsim_tiling *of;
    const fsim_tile_plan *plan;
    const char *kind;       /* arithmetic, in the dialect's names: f d i l f16 bf16 tf32 */
    const char *partial;    /* parameter for the partial sums; NULL where k is not split */
    int threads;            /* threads of a block */
    fsim_rows_work *totals; /* sums over all tiles; NULL: there are none */
} fsim_tile_writing;

/* The kind of plan p's products. */
const char *fsim_tile_kind(fsim_emitter *e, const fsim_tile_plan *p);
/* Writes the tile up to its sums, which are in variables of each thread. Call fsim_tile_end_text behind it. */
void fsim_tile_sums_text(fsim_emitter *e, const fsim_tile_writing *t, int64_t first);
/* Writes what closes it. */
void fsim_tile_end_text(fsim_emitter *e);
/* Writes the tile; blocks from `first` on compute it. write[i]: is the group's write i one of its results? */
void fsim_tile_text(fsim_emitter *e, const fsim_tile_writing *t, int64_t first, const bool *write);
/* Where k is split: the number of blocks in the second launch, which adds the partial sums. */
int64_t fsim_tile_sum_blocks(const fsim_tile_writing *t);
/* Writes that launch; write[i] as in fsim_tile_text. */
void fsim_tile_sum_text(fsim_emitter *e, const fsim_tile_writing *t, const bool *write);

#endif
