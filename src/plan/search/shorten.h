/* SPDX-License-Identifier: Apache-2.0 */
/* shorten.h: a graph with fewer of its equal layers. */
#ifndef FUSESIM_PLAN_SEARCH_SHORTEN_H
#define FUSESIM_PLAN_SEARCH_SHORTEN_H

#include "plan/search/runs.h"

/* The graph of l, which lists all primitives, without `layers` layers of the run. Primitive i is primitive i of l's
 * graph up to the middle of what is left of the run, and primitive i + layers * period after it. Names, sources and
 * messages are those of l's graph. NULL where what is left does not fit together. In a. */
fsim_graph *fsim_shortened(const fsim_places *l, const fsim_run *run, int layers, fsim_arena *a);

#endif
