/* SPDX-License-Identifier: Apache-2.0 */
/* basis.h: which figures of the hardware file a plan's times rest on, and where those figures come from.
 *
 * No list of keys is kept by hand: each kernel is priced once more on a copy of the GPU that records every key that
 * is read (fsim_hw.read). So the answer depends on the plan alone, not on how or in how many threads it was found. */
#ifndef FUSESIM_PLAN_PRICE_BASIS_H
#define FUSESIM_PLAN_PRICE_BASIS_H

#include "plan/price/plan.h"

typedef struct {
    fsim_hw_keys *kernel; /* per kernel of the plan: the keys of its time and its interval */
    fsim_hw_keys all;     /* the keys of all kernels, and those that decide which tensors stay in L2 */
} fsim_basis;

/* The keys behind a plan whose kernels are launched by `maker`. In a. */
fsim_basis fsim_basis_of(const fsim_problem *p, fsim_maker maker, const fsim_plan *plan, fsim_arena *a);

/* Does this key affect the time of the unit that limits k? */
bool fsim_feeds_bound(fsim_hw_key key, const fsim_kernel *k);

/* Where the figures that decide k's time come from: those of the keys that it read and that affect the unit which
 * limits it. FSIM_FROM_ASSUMED where any is assumed; else fitted or measured where any is (they correct a data
 * sheet's peak); else the data sheet. A generated contraction that is limited by compute is at best assumed to reach
 * the vendor's rate, since nobody has run it yet. Kernels of kinds that no measured row has (unmeasured.h) are assumed.
 */
fsim_origin fsim_kernel_origin(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k,
                               const fsim_hw_keys *read);

#endif
