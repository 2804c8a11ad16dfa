/* SPDX-License-Identifier: Apache-2.0 */
/* match.h: matches a GPU's launches with the kernels of a plan by names, shapes and launch order. */
#ifndef FUSESIM_EVIDENCE_MATCH_H
#define FUSESIM_EVIDENCE_MATCH_H

#include "evidence/profile.h"
#include "plan/price/plan.h"

typedef struct {
    int *kernel;      /* per launch of the step: the plan's kernel that it belongs to; -1 */
    const char **why; /* per launch without a kernel: the reason in the user's words; otherwise NULL */
    bool *sized; /* per launch: sizes of tensors, or the grid, confirm the match; otherwise only names and order do */
} fsim_matching;

/* Matches the launches of one step with the plan's kernels. A kernel may have several launches (a layout change, a
 * second pass); a launch belongs to one kernel at most. Dynamic programming finds the alignment with the highest
 * score that keeps both orders; what is left is then matched out of order where names and shapes agree. In a. */
fsim_matching fsim_match(const fsim_graph *g, const fsim_plan *plan, const fsim_profile *p, const fsim_steps *s,
                         fsim_arena *a);

/* Launches by which the end of a step of this plan can be recognised: contractions, or all kernels where there are
 * none. Returns how many a step has; flags the profile's names that are of that kind. In a. */
int fsim_counted_launches(const fsim_graph *g, const fsim_plan *plan, const fsim_profile *p, fsim_arena *a,
                          const bool **counted);

#endif
