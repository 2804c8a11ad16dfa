/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: what a plan needs of the GPU's memory while it runs, and whether that is there. */
#ifndef FUSESIM_PLAN_PRICE_MEMORY_H
#define FUSESIM_PLAN_PRICE_MEMORY_H

#include "plan/price/plan.h"

/* Bytes at the moment when most are in use. Every weight, input and output of the workload is there all the time; an
 * intermediate from the kernel that makes it to the last one that reads it. */
typedef struct {
    fsim_sum weight_bytes, activation_bytes; /* activations: inputs, outputs and intermediates */
    fsim_sum workspace_bytes; /* partial sums of kernels that split k, of the kernel that has most; f32 each. What
                                 libraries take besides (32 MiB for a process in PyTorch) is not counted */
    int kernel;               /* of the plan, at that moment; -1: the plan has none */
    int tensor;               /* the largest intermediate alive then; -1: there is none */
} fsim_memory_use;

/* Needs the plan's kernels and totals nothing. Memory of a is given back. */
fsim_memory_use fsim_memory_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a);

/* Without the workspace: what searches minimise and limit. */
static inline fsim_sum fsim_tensor_bytes(const fsim_memory_use *use)
{
    return use->weight_bytes + use->activation_bytes;
}

/* All of it. */
static inline fsim_sum fsim_needed_bytes(const fsim_memory_use *use)
{
    return fsim_tensor_bytes(use) + use->workspace_bytes;
}

/* Does the GPU have that much? True where the hardware file does not say how much it has. */
bool fsim_fits(const fsim_hw *hw, const fsim_memory_use *use);

#endif
