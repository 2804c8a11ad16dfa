/* SPDX-License-Identifier: Apache-2.0 */
/* online.h: two dependent reductions in one pass over the row: a running maximum with a sum of exponentials that
 * is rescaled whenever the maximum grows (Milakov and Gimelshein, arXiv 1805.02867), or a running mean with a sum
 * of squared deviations (Welford, Technometrics 4:3, 1962). Both change the order of sums. */
#ifndef FUSESIM_FUSION_ONLINE_H
#define FUSESIM_FUSION_ONLINE_H

#include "graph/graph.h"

/* The reduction that n can run along with: n is sum(exp(x - max(x))), or the sum or mean of (x - mean(x))^2, over
 * the same elements. -1 where n is neither. */
int fsim_online_with(const fsim_graph *g, int n);

#endif
