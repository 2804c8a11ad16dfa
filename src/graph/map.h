/* SPDX-License-Identifier: Apache-2.0 */
/* map.h: index maps, exactly: where in a tensor's storage does point i of an iteration space read?
 *
 * An iteration space has points x reduced linear indices (p outer, r inner). A map writes that index in a mixed radix,
 * outermost digit first, and adds up digit x stride: element = offset + sum(stride[i] * digit[i]). Stride 0 is a
 * broadcast, a negative one a reversal; a reshape changes nothing. Permutes, slices, expands, matrix operands and
 * reduction inputs are all maps, and a map of a map is a map wherever the digits line up. Units: elements of the
 * storage tensor. */
#ifndef FUSESIM_GRAPH_MAP_H
#define FUSESIM_GRAPH_MAP_H

#include <stdbool.h>
#include <stdint.h>

enum { FSIM_MAX_MODES = 16 };

typedef struct {
    int64_t extent, stride;
} fsim_mode;

typedef struct {
    int modes, split; /* modes [0, split) number the points, [split, modes) the reduced points */
    int64_t offset;
    fsim_mode mode[FSIM_MAX_MODES];
} fsim_map;

/* i -> i on points (split == modes), or -> i * reduced + r. */
fsim_map fsim_identity(int64_t points);
/* Appends a digit inside the others; extent 1 is dropped. A full map sets modes to FSIM_MAX_MODES + 1, which is_valid
 * refuses. */
void fsim_map_push(fsim_map *m, int64_t extent, int64_t stride);
/* Merges neighbouring digits that one digit can express, on either side of the split: the canonical form, so that equal
 * maps compare equal. */
fsim_map fsim_map_simplify(fsim_map m);
/* Do both map every point to the same element? Compares canonical forms. */
bool fsim_map_equal(const fsim_map *a, const fsim_map *b);
int64_t fsim_map_points(const fsim_map *m);  /* product of the first split extents */
int64_t fsim_map_reduced(const fsim_map *m); /* product of the others */
/* The element that (p, r) reads. */
int64_t fsim_map_at(const fsim_map *m, int64_t p, int64_t r);
/* f after g: f gives an index into the points that g numbers (g has no reduced part). False when the digits do not line
 * up. */
bool fsim_map_compose(const fsim_map *f, const fsim_map *g, fsim_map *out);
/* Each point its own element, none twice: a bijection onto its image. */
bool fsim_map_injective(const fsim_map *m);
bool fsim_map_is_identity(const fsim_map *m); /* element = point, no reduced part */

/* Distinct elements read, and distinct sectors of sector_bytes that hold them, exactly. Maps whose digits overlap in
 * memory are counted by walking when they have at most 2^20 points; larger ones give an upper bound and set *exact to
 * false. */
int64_t fsim_map_distinct(const fsim_map *m, bool *exact);
/* Sectors, where the tensor starts at the beginning of one. */
int64_t fsim_map_sectors(const fsim_map *m, int elem_bytes, int sector_bytes, bool *exact);
/* Sectors requested when consecutive groups of `warp` points (of the innermost index order) each fetch their distinct
 * sectors once. Exact for maps of up to 2^13 points or whose pattern repeats; else the first 2^13 points are walked and
 * scaled. */
double fsim_map_requests(const fsim_map *m, int elem_bytes, int sector_bytes, int warp);

#endif
