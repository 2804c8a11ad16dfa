/* SPDX-License-Identifier: Apache-2.0 */
/* l2_chance.h: what kernels of frameworks that were measured found in an L2 that is one piece, where more passes
 * through it than it holds. Beside plans of fusesim's, frameworks are priced without it: those count on L2 only where a
 * tensor fits, and both must find the same.
 *
 * An L2 does not replace what was used longest ago, so a stream that goes round in more bytes than L2 has finds a part
 * of them again. With a victim at random, of what is used again after `touched` bytes a share h is still there:
 *
 *     h = exp(-(1 - h) touched / capacity)           1 where touched is at most the capacity
 *
 * since only what is missing takes another's place. At 1.07 times the capacity h is 0.87, at 1.5 times 0.42, at twice
 * 0.20. Graphics boards have one L2 for all SMs. On A100, H100 and later each of two partitions has half of the SMs and
 * copies from the other half what these read, and KernelBench's networks show no such gain: there a tensor is found
 * whole or not at all (plan/price/l2_residency.c). */
#ifndef FUSESIM_EVIDENCE_L2_CHANCE_H
#define FUSESIM_EVIDENCE_L2_CHANCE_H

#include "evidence/rows.h"
#include "plan/price/plan.h"

/* The plan's residency, per kernel, with `found` and `stays` as maker's kernels see them; in a. The plan's own where
 * they see no more than is said there, and for rows whose harness calls for no adjustment: these are priced as plans
 * are. */
fsim_residency *fsim_l2_by_chance(const fsim_measured *row, const fsim_problem *p, fsim_maker maker,
                                  const fsim_plan *plan, fsim_arena *a);

#endif
