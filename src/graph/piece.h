/* SPDX-License-Identifier: Apache-2.0 */
/* piece.h: a part of an iteration space with index maps of its own: what concat, pad and roll do to one of their
 * arguments.
 *
 * A piece is two maps over the same points: `map` says what is read there, `place` where in the kernel's space (points
 * x reduced, in order) those points lie. */
#ifndef FUSESIM_GRAPH_PIECE_H
#define FUSESIM_GRAPH_PIECE_H

#include "graph/map.h"

/* Along one dimension of `extent`, whose neighbours are `inner` elements apart, [from, from + size) comes from
 * [source_from, source_from + size) of a tensor with source_extent there. */
typedef struct {
    int64_t inner, extent, from, size, source_extent, source_from;
} fsim_cut;

typedef enum { FSIM_PIECE_SOME, FSIM_PIECE_NONE, FSIM_PIECE_UNKNOWN } fsim_piece_answer;

/* Where the points of m lie when it covers its space: its digits, each as far as the inner ones go. */
fsim_map fsim_place_of(const fsim_map *m);
/* Restricts (map, place) to the points that fall into every cut, map then numbering the source's elements. NONE when no
 * point does; UNKNOWN when the digits do not line up with a cut. */
fsim_piece_answer fsim_piece_cut(fsim_map *map, fsim_map *place, const fsim_cut *cut, int cuts);
/* Does every point of the piece want the value of its own row of `reduced` points? */
bool fsim_piece_in_row(const fsim_map *map, const fsim_map *place, int64_t reduced);
/* Warps of `warp` points of the kernel that have some of the piece's points, over the warps that would hold these
 * alone; at least 1. */
double fsim_piece_divergence(const fsim_map *place, int warp);
/* As fsim_map_requests, for warps of the kernel's space. */
double fsim_piece_requests(const fsim_map *map, const fsim_map *place, int elem_bytes, int sector_bytes, int warp);

#endif
