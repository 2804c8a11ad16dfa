/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h: is a set of primitives connected and convex? Independent of the kernel's template. */
#ifndef FUSESIM_FUSION_SETS_H
#define FUSESIM_FUSION_SETS_H

#include "fusion/group.h"

/* The index of n in node[0, count), which ascends; -1 where it is not there. */
static inline int fsim_position(const int *node, int count, int n)
{
    int low = 0, high = count - 1;
    if (count == 0 || n < node[low] || n > node[high])
        return -1;
    if (node[high] - node[low] == high) /* no gaps */
        return n - node[low];
    while (low <= high) {
        const int mid = low + (high - low) / 2;
        if (node[mid] == n)
            return mid;
        if (node[mid] < n)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return -1;
}
/* The index of t's first reader that is primitive n or a later one; t->readers where there is none. */
int fsim_reader_from(const fsim_tensor *t, int n);
/* Is the set connected, by tensors that one member computes and another reads, or that two read? why names two
 * members that are not. */
bool fsim_connected(const fsim_graph *g, const int *node, int count, fsim_arena *a, fsim_refusal *why);
/* Does no path leave the set and return to it? why names the ends of such a path and a primitive outside. */
bool fsim_convex(const fsim_graph *g, const int *node, int count, fsim_arena *a, fsim_refusal *why);
/* Are the members all on one side of the barrier (fsim_side)? why names two that are not. Of a kernel only those count
 * that are at home there: it may compute again what ran before. */
bool fsim_on_one_side(const fsim_graph *g, const int *node, int count, fsim_refusal *why);
/* The members of set and all primitives on paths between two of them, ascending, into node. Returns how many. */
int fsim_hull(const fsim_graph *g, const fsim_node_set *set, int *node, fsim_arena *a);

#endif
