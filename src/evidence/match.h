/* SPDX-License-Identifier: Apache-2.0 */
/* match.h: what a GPU launched, matched to the kernels of a plan: by what names and shapes say, in launch order. */
#ifndef FUSESIM_EVIDENCE_MATCH_H
#define FUSESIM_EVIDENCE_MATCH_H

#include "evidence/profile.h"
#include "plan/price/plan.h"

typedef struct {
    int *kernel;      /* per launch of the step: the plan's kernel that it is, or is a part of; -1 */
    const char **why; /* per launch that is of none: the reason in the user's words; else NULL */
    bool *sized; /* per launch: its tensors' sizes, or its grid, are the kernel's; else names and order alone say so */
} fsim_matching;

/* Launches of one step against plan's kernels. A kernel may be several launches (a layout change, a second pass); a
 * launch is of one kernel at most. The alignment with the highest score that keeps both orders is found by dynamic
 * programming, then what is left is matched out of order where names and shapes agree. In a. */
fsim_matching fsim_match(const fsim_graph *g, const fsim_plan *plan, const fsim_profile *p, const fsim_steps *s,
                         fsim_arena *a);

/* What tells where a step of this plan ends: its contractions, or all kernels where it has none: how many there are,
 * and flags for the profile's names that are of that kind. In a. */
int fsim_counted_launches(const fsim_graph *g, const fsim_plan *plan, const fsim_profile *p, fsim_arena *a,
                          const bool **counted);

#endif
