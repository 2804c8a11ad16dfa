/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.h: why the kernels of a plan that exchange tensors are not one, and what one kernel would save. */
#ifndef FUSESIM_PLAN_PRICE_REFUSALS_H
#define FUSESIM_PLAN_PRICE_REFUSALS_H

#include "plan/price/cause.h"

/* Two primitives that exchange a tensor and are in different kernels of the plan. */
typedef struct {
    int a, b; /* primitives; b is -1 where the rule is about a alone */
    fsim_refusal why;
    /* of each kernel the primitive that the rule forbids to be in one with the other: mostly a and b. -1: the rule is
     * about the kernels as they are, and not about any two primitives; and where one kernel is legal */
    int first, second;
    double saving_s; /* time that fusing would save; an upper bound where it is illegal; negative where it costs time */
    fsim_sum saving_bytes;
    fsim_cause cause; /* legal: why one kernel is slower */
} fsim_priced_refusal;

typedef struct {
    fsim_priced_refusal *at; /* largest saving first */
    int count, left;         /* left: pairs that were not looked at */
} fsim_refusals;

/* The refusals of a plan. So many pairs are priced and no more, but what was found in one layer is repeated for those
 * that are equal. In a. */
fsim_refusals fsim_refusals_of(fsim_problem *p, const fsim_plan *plan, fsim_arena *a);
/* Why two primitives may not share a kernel. */
typedef struct {
    int between; /* primitives that must join them */
    fsim_refusal why;
    bool barred;         /* why is that those lie between: */
    fsim_refusal joined; /* what keeps them from joining */
} fsim_pair_refusal;
/* May primitives x and y share a kernel, with those that must join them? Otherwise out says why; out->between is set in
 * any case. */
bool fsim_pair_allowed(const fsim_problem *p, int x, int y, fsim_arena *a, fsim_pair_refusal *out);
/* Bytes read of a tensor that another kernel has made; where it wrote in place, of what it wrote. */
int64_t fsim_exchanged_bytes(const fsim_graph *g, const fsim_input *read);
/* Are two primitives in one kernel of the plan? */
bool fsim_shares_kernel(const fsim_plan *plan, int x, int y);

#endif
