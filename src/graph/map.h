/* SPDX-License-Identifier: Apache-2.0 */
/* map.h: index maps: the element of a tensor's storage that point i of an iteration space reads, exactly.
 *
 * An iteration space has points x reduced linear indices (p is the outer one, r the inner one). A map writes such an
 * index as digits of a mixed radix, outermost first, and adds up digit x stride: element = offset + sum(stride[i] *
 * digit[i]). Stride 0 is a broadcast, a negative stride a reversal; a reshape changes nothing. Permutes, slices,
 * expands, operands of matrix products and inputs of reductions are all maps, and a map of a map is again a map
 * where the digits line up. Units: elements of the storage tensor. */
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

/* The identity: i to i on the points (split == modes). */
fsim_map fsim_identity(int64_t points);
/* Appends an innermost digit; extent 1 is dropped. Where there is no room, modes becomes FSIM_MAX_MODES + 1, which
 * the validity check refuses. */
void fsim_map_push(fsim_map *m, int64_t extent, int64_t stride);
/* Merges neighbouring digits where one digit can express both, on either side of the split. This is the canonical
 * form: equal maps have equal digits. */
fsim_map fsim_map_simplify(fsim_map m);
/* Do both maps read the same element at every point? Compares canonical forms. */
bool fsim_map_equal(const fsim_map *a, const fsim_map *b);
int64_t fsim_map_points(const fsim_map *m);  /* product of the first split extents */
int64_t fsim_map_reduced(const fsim_map *m); /* product of the others */
/* The element that (p, r) reads. */
int64_t fsim_map_at(const fsim_map *m, int64_t p, int64_t r);
/* The composition f(g): g numbers the points of f (g has no reduced part). False where the digits do not line up. */
bool fsim_map_compose(const fsim_map *f, const fsim_map *g, fsim_map *out);
/* Does every point have an element of its own? */
bool fsim_map_injective(const fsim_map *m);
bool fsim_map_is_identity(const fsim_map *m); /* element = point, no reduced part */

/* Distinct elements read, exactly. Where digits overlap in memory they are counted one by one, up to 2^20 points;
 * for larger maps the result is an upper bound and *exact becomes false. */
int64_t fsim_map_distinct(const fsim_map *m, bool *exact);
/* Distinct sectors of sector_bytes that hold those elements, for a tensor that starts at the beginning of a sector. */
int64_t fsim_map_sectors(const fsim_map *m, int elem_bytes, int sector_bytes, bool *exact);
/* Sectors requested from memory when each group of `warp` consecutive points fetches its distinct sectors once.
 * Exact for maps of up to 2^13 points and for those whose pattern repeats; otherwise the first 2^13 points are
 * counted and scaled. */
double fsim_map_requests(const fsim_map *m, int elem_bytes, int sector_bytes, int warp);

#endif
