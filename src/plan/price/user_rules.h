/* SPDX-License-Identifier: Apache-2.0 */
/* user_rules.h: what a workload file says of its kernels: separate:, fuse: and materialize:. */
#ifndef FUSESIM_PLAN_PRICE_USER_RULES_H
#define FUSESIM_PLAN_PRICE_USER_RULES_H

#include "plan/price/plan.h"

/* May the primitives node[0, count), ascending, be one kernel by the workload's own rules? False with *why where two of
 * them are in one separate: set, where some of a fuse: set are in and some are out, or where one reads in the kernel
 * what materialize: sends to memory. */
bool fsim_user_allows(const fsim_problem *p, const int *node, int count, fsim_refusal *why);

#endif
