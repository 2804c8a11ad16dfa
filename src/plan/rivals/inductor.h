/* SPDX-License-Identifier: Apache-2.0 */
/* inductor.h: what TorchInductor's lowering leaves to its scheduler. */
#ifndef FUSESIM_PLAN_RIVALS_INDUCTOR_H
#define FUSESIM_PLAN_RIVALS_INDUCTOR_H

#include "plan/rivals/rivals.h"

typedef struct {
    fsim_partition buffers; /* a kernel for each buffer, with what it computes again */
    const bool *is_buffer;  /* per primitive */
    const int *addmm;       /* per primitive: the product whose bias it adds, or -1 */
} fsim_lowered;

/* Lowers p's graph by counts of reads and operators; where time is up every value is a buffer. In a. */
fsim_lowered fsim_inductor_lower(fsim_problem *p, fsim_arena *a);

#endif
