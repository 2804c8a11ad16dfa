/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.h: bytes of one tensor in one kernel, per memory level, from its index maps. Counts are exact where map.h
 * says so. */
#ifndef FUSESIM_COST_TRAFFIC_H
#define FUSESIM_COST_TRAFFIC_H

#include "cost/cost.h"

typedef struct {
    int64_t compulsory_bytes; /* distinct elements */
    int64_t sector_bytes;     /* the sectors that hold them: what DRAM moves at least */
    double request_bytes;     /* sectors that warps request from L2, in one pass */
    double staged_bytes; /* of request_bytes, moved through a shared-memory tile so that both sides are contiguous */
    double direct_bytes; /* request_bytes without that tile */
    bool across; /* the tile needs neighbouring rows in one block: its contiguous side runs over the points, not along
                    the row */
    double coalescing; /* useful over requested, at most 1 */
    double reread; /* times that a pass fetches sector_bytes where `l2_bytes` can't hold what lies between two uses; 1
                      when it can */
} fsim_traffic;

/* read: of a kernel whose streams together move total_bytes once. warp: threads; 0 leaves requests out. l2_bytes:
 * effective L2. */
fsim_traffic fsim_read_traffic(const fsim_graph *g, const fsim_read *read, int warp, double total_bytes,
                               double l2_bytes);
/* Of one pass over what the kernel writes. warp: threads. reread is 1. */
fsim_traffic fsim_write_traffic(const fsim_graph *g, const fsim_write *write, int warp);

#endif
