/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h: plans built by merging kernels, the best merge first. */
#ifndef FUSESIM_PLAN_SEARCH_MERGE_H
#define FUSESIM_PLAN_SEARCH_MERGE_H

#include "plan/search/cluster.h"

/* A possible merge of two kernels that have a tensor in common. */
typedef struct {
    fsim_sum separate, merged; /* objective as two kernels and as one; nothing resident in L2 */
    bool flows;                /* one reads a result of the other; otherwise they only share an input */
} fsim_merge;
/* The value of a merge: the largest is done first, none at 0 or below. */
typedef double fsim_merge_score(const fsim_merge *m);

/* Merges pairs until no merge has a value above 0. */
void fsim_merge_all(fsim_clusters *c, fsim_merge_score *score);
/* Merges two contractions that are chained through reductions with all parts between them, where that pays. Merging
 * pairs can't do it, because half of an online softmax is no kernel. */
void fsim_join_chains(fsim_clusters *c);
/* The gain in the objective, counting these kernels alone. */
fsim_merge_score fsim_gain;
/* fsim_join_chains, then fsim_merge_all with fsim_gain, priced. start is in launch order. False where the result is
 * no legal plan. */
bool fsim_merge_greedily(fsim_problem *p, const fsim_partition *start, fsim_arena *a, fsim_plan *out);

/* What a compiler assumes when it decides on a fusion. */
typedef struct fsim_belief {
    fsim_problem *p;
    double (*time_s)(const struct fsim_belief *b, const fsim_kernel *k);
    /* May producer be fused into user? both: the resulting kernel, or that of a set that is alike (fsim_joined_like);
     * so is k above. */
    bool (*allows)(const struct fsim_belief *b, fsim_clusters *c, int producer, int user, const fsim_kernel *both);
} fsim_belief;

/* Priority fusion as in XLA:GPU. The producer with the largest gain is fused into all its readers, copied where
 * there are several, and disappears. A producer that can't be fused into all its readers, or gains nothing, stays.
 * Gains that differ by less than a ten-thousandth are equal; then the smaller result goes first, which keeps chains
 * balanced, then the lower primitive. */
void fsim_fuse_by_priority(fsim_clusters *c, const fsim_belief *b);

#endif
