/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h: a group's contractions as matrix products in tiles (kernel/product.h, kernel/tiling.h), as text. */
#ifndef FUSESIM_EMIT_TILE_H
#define FUSESIM_EMIT_TILE_H

#include "emit/emit.h"
#include "kernel/tiling.h"

/* A tile, and what its text calls things. */
typedef struct {
    const fsim_tiling *of;
    const fsim_tile_plan *plan;
    const char *kind;    /* in the dialect: f d i l f16 bf16 tf32 */
    const char *partial; /* parameter that holds the parts' sums; NULL: there is one part */
    int threads;         /* of a block */
} fsim_tile_writing;

/* The text of the tile, from block `first` on; write[i]: is it one of its results? */
void fsim_tile_text(fsim_emitter *e, const fsim_tile_writing *t, int64_t first, const bool *write);
/* The second launch's, which adds up the parts of the depth; returns its blocks. */
int64_t fsim_tile_sum_blocks(const fsim_tile_writing *t);
/* The text of that launch; write[i] as in fsim_tile_text. */
void fsim_tile_sum_text(fsim_emitter *e, const fsim_tile_writing *t, const bool *write);

#endif
