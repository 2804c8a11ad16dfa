/* SPDX-License-Identifier: Apache-2.0 */
/* partners.h: contractions that may be in a chain with one, as far as the paths between them tell. */
#ifndef FUSESIM_FUSION_PARTNERS_H
#define FUSESIM_FUSION_PARTNERS_H

#include "graph/graph.h"

/* The contractions that may be the second of a chain that begins with n, or the first of one that ends with n (up), in
 * out[0, room): a kernel holds all that is on a path between two of its members, and a chain has no third contraction.
 * Returns how many; -1 where there may be more. */
int fsim_chain_partners(const fsim_graph *g, int n, bool up, int *out, int room);

#endif
