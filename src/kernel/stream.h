/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h: how threads share the points of a streaming kernel. */
#ifndef FUSESIM_KERNEL_STREAM_H
#define FUSESIM_KERNEL_STREAM_H

#include "graph/map.h"
#include <stdint.h>

enum {
    FSIM_BLOCK = 256,        /* threads of a block */
    FSIM_TRANSPOSE_TILE = 32 /* rows and columns of the transposing tile in shared memory */
};

/* Elements that each thread of a block of `block` threads takes. The price asks for `vector`. Where that is four,
 * small elements (the widest tensor has elem_bytes) get more, up to 16 bytes, while every SM still gets 16 blocks:
 * bytes in flight hide latency. `inner`, the number of neighbouring points, must be divisible; otherwise `vector` is
 * returned. */
int fsim_stream_vector(int vector, int elem_bytes, int64_t points, int64_t inner, int block, double sms);

/* The points of a kernel that turns a tensor around in transposing tiles: c is their innermost digit, y the one along
 * which the tensor is contiguous. A block has a tile of FSIM_TRANSPOSE_TILE of each; tiles at the edges are not full.
 */
typedef struct {
    int64_t others, rows, columns; /* of the points: others x rows (y) x columns (c) */
    fsim_map map;                  /* (other, c), y to the point */
} fsim_turning;

/* How tiles turn around the tensor with this map, in a kernel of `points` points. False where they can't. */
bool fsim_turning_of(const fsim_map *map, int64_t points, fsim_turning *t);
/* The number of tiles. */
int64_t fsim_turning_tiles(const fsim_turning *t);

#endif
