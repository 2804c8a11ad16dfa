/* SPDX-License-Identifier: Apache-2.0 */
/* vendor.h: kernels that fusesim does not generate: the libraries' (cuBLAS, cuDNN, FlashAttention) and those of the
 * frameworks that call them (PyTorch's ATen, torch.compile's Triton, serving stacks). */
#ifndef FUSESIM_VENDOR_VENDOR_H
#define FUSESIM_VENDOR_VENDOR_H

#include "cost/cost.h"

/* Whose kernels a plan runs. */
typedef enum {
    FSIM_BY_FUSESIM,  /* generated, or the vendor's library where it can do the group: what fsim_kernel_of says */
    FSIM_BY_ATEN,     /* PyTorch without a compiler: ATen, cuDNN, cuBLAS, FlashAttention */
    FSIM_BY_INDUCTOR, /* torch.compile: Triton, the same libraries for contractions */
    FSIM_BY_VLLM,
    FSIM_BY_SGLANG,
    FSIM_BY_TENSORRT_LLM /* serving stacks: PyTorch with attention kernels of their own */
} fsim_maker;
/* Kernels of PyTorch without a compiler, whatever attention the stack brings. */
static inline bool fsim_is_eager(fsim_maker maker) { return maker == FSIM_BY_ATEN || maker >= FSIM_BY_VLLM; }
/* Whose kernels `software` (what a measurement names as its source) ran: fusesim's own; of a serving stack where
 * `otherwise` is PyTorch without a compiler; else `otherwise`. */
fsim_maker fsim_maker_named(const char *software, fsim_maker otherwise);

/* What runs a workload. */
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    fsim_regime regime;
    fsim_maker maker;
} fsim_software;

/* The group as fusesim's plans run it: the vendor's library where it can do the whole group in one call, else a
 * generated kernel. time_s is 0 where nothing fits an SM. Result in a. */
fsim_kernel fsim_kernel_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                           const fsim_residency *l2, fsim_arena *a);

/* The kernel, or the few kernels, that a framework launches for this group: more passes, other layouts, other rates.
 * own: fsim_kernel_of's answer, which is returned where nothing better is known. Result in a. */
fsim_kernel fsim_framework_launch(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                  const fsim_kernel *own, fsim_arena *a);

/* The same as plans have it. Never faster than fsim_kernel_of's for the same group, so that no framework's plan beats
 * the optimum. own: fsim_kernel_of's answer where it is known already, or NULL. Result in a. */
fsim_kernel fsim_framework_kernel(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                  const fsim_kernel *own, fsim_arena *a);

#endif
