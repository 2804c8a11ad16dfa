/* SPDX-License-Identifier: Apache-2.0 */
/* equal.h: which kernels of a plan are equal, as those of equal layers are: in all that reports say of them, to the
 * last bit (operators, layout, bytes, time of each unit), and in the names of their primitives but for numbers, which
 * tell layers apart. */
#ifndef FUSESIM_PLAN_PRICE_EQUAL_H
#define FUSESIM_PLAN_PRICE_EQUAL_H

#include "plan/price/plan.h"

/* Per kernel a number, the same for equal ones. read: the keys of the hardware file behind each kernel, which are
 * equal too; or NULL. In a. */
int *fsim_kernel_classes(const fsim_graph *g, const fsim_plan *plan, const fsim_hw_keys *read, fsim_arena *a);

#endif
