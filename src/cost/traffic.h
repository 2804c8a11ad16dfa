/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.h: bytes that one kernel moves for one tensor, in each memory level, from its index maps. Exact where
 * map.h says so. */
#ifndef FUSESIM_COST_TRAFFIC_H
#define FUSESIM_COST_TRAFFIC_H

#include "cost/cost.h"
#include "kernel/stream.h"

typedef struct {
    int64_t compulsory_bytes; /* distinct elements */
    int64_t sector_bytes;     /* of the sectors that hold them: the least that DRAM moves */
    double request_bytes;     /* sectors that warps request from L2, in one pass */
    double staged_bytes;   /* the part of request_bytes that goes through a shared-memory tile, so that both sides are
                              contiguous */
    double direct_bytes;   /* requests without that tile */
    double answered_bytes; /* the same, as L2 answers them: two neighbouring sectors at a time */
    bool across; /* the tile needs neighbouring rows in a block: its contiguous side runs over points, not along the row
                  */
    double coalescing; /* useful over requested, at most 1 */
    double reread;     /* how often sector_bytes are loaded in a pass where `l2_bytes` can't hold what lies between two
                          uses; 1 where it can */
} fsim_traffic;

/* In how many ways a kernel reads the tensor: its maps, and what has none. */
static inline int fsim_read_ways(const fsim_read *r) { return r->maps + r->unmapped; }

/* The traffic of a read in a kernel whose streams together move total_bytes, counted once. warp: threads; 0: no
 * requests. l2_bytes: effective L2. */
fsim_traffic fsim_read_traffic(const fsim_graph *g, const fsim_read *read, int warp, double total_bytes,
                               double l2_bytes);
/* `reread` of a read in one way: the one figure of its traffic that depends on the other streams and on L2.
 */
double fsim_read_rereads(const fsim_graph *g, const fsim_read *read, double total_bytes, double l2_bytes);
/* The traffic of one pass over a result. warp: threads. reread is 1. */
fsim_traffic fsim_write_traffic(const fsim_graph *g, const fsim_write *write, int warp);

/* Do transposing tiles turn a read or write of this pointwise kernel or copy, of which `points` points are computed?
 * read, write: the traffic of each. *t: how. */
bool fsim_find_turning(const fsim_group *o, const fsim_traffic *read, const fsim_traffic *write, int64_t points,
                       fsim_turning *t);

#endif
