/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h: plans made by merging two kernels at a time. Every heuristic strategy is one score over the same merges. */
#ifndef FUSESIM_SEARCH_MERGE_H
#define FUSESIM_SEARCH_MERGE_H

#include "search/price.h"

/* Two groups that share a tensor, and the set that they would make. */
typedef struct {
    const fsim_problem *p;
    const fsim_part *first, *second; /* first holds the lower primitive */
    const fsim_part *both;
    int64_t cost_first, cost_second; /* objective of each alone, nothing resident */
    bool flows;                      /* one reads what the other makes; else they only share an input */
} fsim_merge;

/* The merge's worth: the largest goes first, none goes at 0 or below. kernel is the merged one. rule may be set to the name of the pattern matched. */
typedef double fsim_merge_score(const fsim_merge *m, const fsim_kernel *kernel, const char **rule);

/* Merges from start until no pair is worth it: legal, jointly acyclic, allowed by the user. Parts without clones merge; others stay. rule[i], if not
 * NULL, gets the pattern's name for part i of *out. In a. */
void fsim_merge_all(const fsim_problem *p, const fsim_partition *start, fsim_merge_score *score, fsim_arena *a, fsim_partition *out,
                    const char ***rule);

/* Each primitive alone, but contractions chained through reductions together, with what lies between, where that pays: merging pairs of parts never gets there,
 * since half of an online softmax is no kernel. In a. */
fsim_partition fsim_chained_singles(const fsim_problem *p, fsim_arena *a);

/* Gain in the objective, by kernels alone. */
fsim_merge_score fsim_gain;
/* As fsim_merge_all with fsim_gain, priced. False when it can't be. */
bool fsim_merge_greedily(const fsim_problem *p, const fsim_partition *start, fsim_arena *a, fsim_plan *out);

#endif
