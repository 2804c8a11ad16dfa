/* SPDX-License-Identifier: Apache-2.0 */
/* piece.h: a part of an iteration space with index maps of its own. Concat, pad and roll read each argument in such a
 * part.
 *
 * A piece is two maps over the same points: `map` gives the element that is read, `place` the index of the point in
 * the kernel's space (points x reduced, in order). */
#ifndef FUSESIM_GRAPH_PIECE_H
#define FUSESIM_GRAPH_PIECE_H

#include "graph/map.h"

/* In one dimension of `extent`, whose neighbours are `inner` elements apart, results [from, from + size) are read
 * from [source_from, source_from + size) of a tensor whose dimension has source_extent. */
typedef struct {
    int64_t inner, extent, from, size, source_extent, source_from;
} fsim_cut;

typedef enum { FSIM_PIECE_SOME, FSIM_PIECE_NONE, FSIM_PIECE_UNKNOWN } fsim_piece_answer;

/* The place of a map that covers its whole space: the same digits, numbered in order. */
fsim_map fsim_place_of(const fsim_map *m);
/* The map from m's elements back to its points. False where m is not one to one onto [0, points). */
bool fsim_map_invert(const fsim_map *m, fsim_map *out);
/* Restricts (map, place) to the points inside every cut; map then gives elements of the source. NONE where no point
 * is inside; UNKNOWN where the digits do not line up with a cut. */
fsim_piece_answer fsim_piece_cut(fsim_map *map, fsim_map *place, const fsim_cut *cut, int cuts);
/* Does every point of the piece read the value of its own row of `reduced` points? */
bool fsim_piece_in_row(const fsim_map *map, const fsim_map *place, int64_t reduced);
/* Warps of `warp` points of the kernel that hold points of the piece, over the warps that its points would fill; at
 * least 1. */
double fsim_piece_divergence(const fsim_map *place, int warp);
/* As fsim_map_requests, for warps of the kernel's space. */
double fsim_piece_requests(const fsim_map *map, const fsim_map *place, int elem_bytes, int sector_bytes, int warp);

#endif
