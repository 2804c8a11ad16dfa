/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.h: until when a prediction may go on. The clock is asked wherever something may take long, so that the
 * answer is there in time. */
#ifndef FUSESIM_PLAN_PRICE_DEADLINE_H
#define FUSESIM_PLAN_PRICE_DEADLINE_H

#include "plan/price/plan.h"

/* Seconds of a clock that nobody sets. */
double fsim_clock_s(void);
/* Is p's time up, or does the user want an answer now? Asking costs about 50 ns. */
bool fsim_late(const fsim_problem *p);
/* p with this share of the time that it has left, from now on. */
fsim_problem fsim_with_share(const fsim_problem *p, double share);

#endif
