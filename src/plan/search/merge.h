/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h: plans made by joining kernels one step at a time, the best step first. */
#ifndef FUSESIM_PLAN_SEARCH_MERGE_H
#define FUSESIM_PLAN_SEARCH_MERGE_H

#include "plan/search/cluster.h"

/* Two kernels that share a tensor. */
typedef struct {
    fsim_sum separate, merged; /* objective, nothing resident */
    bool flows;                /* one reads what the other makes; else they only share an input */
} fsim_merge;
/* Its worth: the largest goes first, none goes at 0 or below. */
typedef double fsim_merge_score(const fsim_merge *m);

/* Joins pairs until none is worth it. */
void fsim_merge_all(fsim_clusters *c, fsim_merge_score *score);
/* Joins contractions chained through reductions with what lies between, each a part of its own so far, where that pays.
 * Joining pairs never gets there, since half of an online softmax is no kernel. */
void fsim_join_chains(fsim_clusters *c);
/* Gain in the objective, by kernels alone. */
fsim_merge_score fsim_gain;
/* Chains, then pairs by fsim_gain, priced. start is in launch order. False when it can't be. */
bool fsim_merge_greedily(fsim_problem *p, const fsim_partition *start, fsim_arena *a, fsim_plan *out);

/* What a compiler believes. */
typedef struct fsim_belief {
    fsim_problem *p;
    double (*time_s)(const struct fsim_belief *b, const fsim_kernel *k);
    /* May producer go into user, as kernel both? */
    bool (*allows)(const struct fsim_belief *b, fsim_clusters *c, int producer, int user, const fsim_kernel *both);
} fsim_belief;

/* Priority fusion (XLA:GPU): the producer that gains most when it goes into all its readers, copied where there are
 * several, goes first and is gone; one that may not go into some reader, or gains nothing, stays. Gains within a
 * ten-thousandth are equal; then the smaller result goes first, which keeps chains balanced, and then the lower
 * primitive. */
void fsim_fuse_by_priority(fsim_clusters *c, const fsim_belief *b);

#endif
