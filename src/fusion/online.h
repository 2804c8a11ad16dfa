/* SPDX-License-Identifier: Apache-2.0 */
/* online.h: two dependent reductions in one pass over the row: a running maximum with its sum of exponentials rescaled
 * whenever it grows (Milakov and Gimelshein, arXiv 1805.02867), a running mean with its sum of squared deviations
 * (Welford, Technometrics 4:3, 1962). Both change the order of sums. */
#ifndef FUSESIM_FUSION_ONLINE_H
#define FUSESIM_FUSION_ONLINE_H

#include "graph/graph.h"

/* The reduction that n can run along with: sum(exp(x - max(x))), sum or mean((x - mean(x))^2), over the same elements.
 * -1 where n is neither. */
int fsim_online_with(const fsim_graph *g, int n);

#endif
