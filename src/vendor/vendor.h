/* SPDX-License-Identifier: Apache-2.0 */
/* vendor.h: kernels that fusesim does not generate: those of libraries (cuBLAS, cuDNN, FlashAttention) and of
 * frameworks that call them (PyTorch's ATen, torch.compile's Triton, serving stacks). */
#ifndef FUSESIM_VENDOR_VENDOR_H
#define FUSESIM_VENDOR_VENDOR_H

#include "cost/cost.h"

/* Whose kernels a plan launches. */
typedef enum {
    FSIM_BY_FUSESIM,  /* generated, or the vendor's library where it can compute the group in one call: see
                         fsim_kernel_of */
    FSIM_BY_ATEN,     /* PyTorch without a compiler: ATen, cuDNN, cuBLAS, FlashAttention */
    FSIM_BY_INDUCTOR, /* torch.compile: Triton, and the same libraries for contractions */
    FSIM_BY_VLLM,
    FSIM_BY_SGLANG,
    FSIM_BY_TENSORRT_LLM, /* serving stacks: PyTorch with attention kernels of their own */
    FSIM_MAKERS
} fsim_maker;
extern const char *const fsim_maker_words[FSIM_MAKERS]; /* fusesim aten inductor ... */
/* Does it launch the kernels of PyTorch without a compiler, with whatever attention kernels? */
static inline bool fsim_is_eager(fsim_maker maker) { return maker == FSIM_BY_ATEN || maker >= FSIM_BY_VLLM; }
/* Whose kernels `software` ran (the source of a measurement): fusesim's own; a serving stack's where `otherwise` is
 * PyTorch without a compiler; in all other cases `otherwise`. */
fsim_maker fsim_maker_named(const char *software, fsim_maker otherwise);

/* Has `maker` a kernel on this GPU for a whole attention in 16 bits, and one for its backward pass? */
bool fsim_has_flash(const fsim_hw *hw, fsim_maker maker);
/* How much longer it takes with the kernels that PyTorch trains with than with those that its forward pass alone is
 * priced by. */
double fsim_trained_flash(const fsim_hw *hw);

/* The software that runs a workload. */
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    fsim_regime regime;
    fsim_maker maker;
} fsim_software;

/* The group's kernel in fusesim's plans: the vendor's library where it computes the whole group in one call,
 * otherwise a generated kernel. time_s is 0 where nothing fits an SM. Result in a. */
fsim_kernel fsim_kernel_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                           const fsim_residency *l2, fsim_arena *a);

/* A group whose kernel is the vendor's call, whatever fusesim's own would take. With another primitive in it, it is no
 * call any more: where the call is slow, that may be faster. */
typedef struct {
    bool call;     /* is it one? What follows is 0 otherwise */
    double call_s; /* its seconds with nothing in L2 */
    double ours_s; /* those of our kernel with all in L2 that it might find or leave there, or at least those of one
                      that reduces rows beside; INFINITY where it fits no SM */
    int64_t beyond_bytes; /* what the call moves, with nothing in L2, beyond every element once */
} fsim_call_lead;
/* Scratch in a. */
fsim_call_lead fsim_call_lead_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                                 fsim_arena *a);

/* The kernel or kernels that a framework launches for this group: it may have more passes, other layouts, other
 * rates. own: fsim_kernel_of's answer, which is returned where no better model exists. Result in a. */
fsim_kernel fsim_framework_launch(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                  const fsim_kernel *own, fsim_arena *a);

/* Which of ATen's functions a group without a contraction is: those whose host time was measured apart. */
typedef enum { FSIM_ATEN_OTHER, FSIM_ATEN_SOFTMAX, FSIM_ATEN_LAYER_NORM } fsim_aten_call;
/* Of the innermost dimension; over another one softmax is FSIM_ATEN_OTHER. */
fsim_aten_call fsim_aten_call_of(const fsim_graph *g, const fsim_group *o);

/* fsim_framework_launch for plans: never faster than fsim_kernel_of's kernel for the same group, so that no
 * framework's plan beats the optimum. (An attention with wide heads may be, if it is slower than the kernels that the
 * group could be cut into.) own: fsim_kernel_of's answer if it is known, or NULL. Result in a. */
fsim_kernel fsim_framework_kernel(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                  const fsim_kernel *own, fsim_arena *a);

/* Adds to k, a kernel of that group, what PyTorch's host does for its operators beside their launches (host.c); nothing
 * where something else launches it, or not from Python. */
void fsim_add_host_calls(const fsim_software *s, const fsim_group *group, fsim_kernel *k);

#endif
