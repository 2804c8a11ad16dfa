/* SPDX-License-Identifier: Apache-2.0 */
/* basis.h: which figures of the hardware file a plan's times rest on, and what those are worth.
 *
 * Nobody lists keys by hand: each kernel is priced once more on a copy of the GPU that notes every key that is read
 * (fsim_hw.read). So the answer depends on the plan alone, not on how it was found or in how many threads. */
#ifndef FUSESIM_PLAN_PRICE_BASIS_H
#define FUSESIM_PLAN_PRICE_BASIS_H

#include "plan/price/plan.h"

typedef struct {
    fsim_hw_keys *kernel; /* per kernel of the plan: what its time and its interval rest on */
    fsim_hw_keys all;     /* of any kernel, and what decides which tensors stay in L2 */
} fsim_basis;

/* The keys behind a plan whose kernels `maker` launches. In a. */
fsim_basis fsim_basis_of(const fsim_problem *p, fsim_maker maker, const fsim_plan *plan, fsim_arena *a);

/* Does this key feed the unit that binds k? */
bool fsim_feeds_bound(fsim_hw_key key, const fsim_kernel *k);

/* Where the figures that decide k's time are from: the keys that it read, and that feed the unit which binds it.
 * FSIM_FROM_ASSUMED where any of them is assumed, else fitted or measured where any is (a peak of the data sheet is
 * corrected by those), else the data sheet. A generated contraction that computes all the time is at best assumed to
 * reach the vendor's rate: nobody has run it yet. */
fsim_origin fsim_kernel_origin(const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k, const fsim_hw_keys *read);

#endif
