/* SPDX-License-Identifier: Apache-2.0 */
/* alone.h: kernels and plans as `validate --device` times them: between a flushed L2 and the end of the last kernel.
 * Prices are of kernels that follow each other without end, so they differ. */
#ifndef FUSESIM_EVIDENCE_ALONE_H
#define FUSESIM_EVIDENCE_ALONE_H

#include "evidence/rows.h"
#include "plan/price/interval.h"
#include "plan/price/plan.h"

/* Is the row's time that of one kernel alone, which ran with nothing of the workload in L2, or (warm) a second time at
 * once? Whatever plan it is from, what the kernel before it left in L2 was not there. */
bool fsim_row_is_alone(const fsim_measured *row);

/* The group's kernel alone. Bytes are what it moves in all; its time leaves out results that wait in L2 when it ends.
 * In a. */
fsim_kernel fsim_kernel_by_itself(const fsim_software *s, const fsim_group *group, bool warm, fsim_arena *a);
/* The group's kernel as a row of one kernel alone (fsim_row_is_alone) measured it. In a. */
fsim_kernel fsim_kernel_of_row(const fsim_measured *row, const fsim_software *s, const fsim_group *group,
                               fsim_arena *a);
/* The kernel of a row of one kernel alone (fsim_row_is_alone). plan, at: the row's plan, and its kernel that has the
 * first primitive that the row names. time_s is 0 where what the row names is no kernel any more. In a. */
fsim_kernel fsim_time_alone(const fsim_measured *row, const fsim_software *s, const fsim_problem *p,
                            const fsim_plan *plan, int at, fsim_arena *a);

/* A plan of fusesim's kernels, of p's graph and GPU, with those of the row's software, priced as its benchmark ran
 * them. In a. */
fsim_plan fsim_plan_of_row(const fsim_measured *row, fsim_maker maker, fsim_problem *p, const fsim_plan *own,
                           fsim_arena *a);

/* Seconds of a row whose kernels these are: what its benchmark adds to them. */
double fsim_row_seconds(const fsim_measured *row, const fsim_kernel *kernel, int kernels, fsim_maker maker,
                        const fsim_hw *hw);

/* Where the host launches eagerly: how much longer and shorter the row, predicted at so many seconds, takes with a slow
 * and with a fast one. plan: the kernels that it measures. */
void fsim_host_errors(const fsim_plan *plan, const fsim_software *s, double predicted_s, fsim_plan_errors *errors);

#endif
