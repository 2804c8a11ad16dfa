/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: how much of the GPU's memory a plan needs, and whether the GPU has that much. */
#ifndef FUSESIM_PLAN_PRICE_MEMORY_H
#define FUSESIM_PLAN_PRICE_MEMORY_H

#include "plan/price/plan.h"

/* Bytes at the moment of highest use. Every weight and input of the workload is in memory all the time, and every
 * output too; where there are gradients, outputs and gradients are from the kernel that computes them on. An
 * intermediate is from the kernel that computes it to the last one that reads it. */
typedef struct {
    fsim_sum weight_bytes, activation_bytes; /* activations: inputs, outputs and intermediates */
    fsim_sum workspace_bytes; /* partial sums (f32) of the kernel that needs most for splitting k. Libraries' own
                                 workspace (32 MiB for a process in PyTorch) is not counted */
    int kernel;               /* the kernel that runs at that moment; -1: the plan has none */
    int tensor;               /* the largest intermediate in memory then; -1: none */
} fsim_memory_use;

/* The plan must have its kernels; its totals are not used. a is used only during the call. */
fsim_memory_use fsim_memory_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a);

/* Bytes of the workload's own tensors, which are in memory from the first kernel to the last. */
fsim_sum fsim_lasting_bytes(const fsim_graph *g);

/* Memory while one kernel of a plan runs: all tensors; its own partial sums. */
typedef struct {
    fsim_sum live_bytes, workspace_bytes;
} fsim_memory_step;
/* One for each kernel, in launch order. The most of live_bytes is the plan's peak. In a. */
const fsim_memory_step *fsim_memory_steps(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a);

/* The largest tensors that are in memory at some time, the largest first. */
enum { FSIM_LARGEST = 4 };
typedef struct {
    int count, tensor[FSIM_LARGEST];
} fsim_largest;
/* Those in memory while kernel k runs. Returns how many. a is used only during the call. */
int fsim_largest_in_memory(const fsim_graph *g, const fsim_plan *plan, int k, fsim_largest *out, fsim_arena *a);

/* Bytes without the workspace: the memory that searches minimise and limit. */
static inline fsim_sum fsim_tensor_bytes(const fsim_memory_use *use)
{
    return use->weight_bytes + use->activation_bytes;
}

/* Bytes with the workspace. */
static inline fsim_sum fsim_needed_bytes(const fsim_memory_use *use)
{
    return fsim_tensor_bytes(use) + use->workspace_bytes;
}

/* Does the GPU have that much? True where the hardware file does not say how much it has. */
bool fsim_fits(const fsim_hw *hw, const fsim_memory_use *use);

#endif
