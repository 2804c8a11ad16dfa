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

/* Has `maker` on this GPU a kernel for a whole attention whose products compute in t, with heads of so many features,
 * and one for its backward pass? FlashAttention, cuDNN's, the memory-efficient kernel, AOTriton (trained_attention.c).
 */
bool fsim_trains_attention(const fsim_hw *hw, fsim_maker maker, fsim_dtype t, double features);
/* How many times as long as `forward`, an attention's group in one kernel of PyTorch, the kernel of its backward pass
 * takes. */
double fsim_attention_backward(const fsim_graph *g, const fsim_hw *hw, const fsim_group *forward);
/* Is that known from one board of another design alone? */
bool fsim_is_backward_assumed(const fsim_graph *g, const fsim_hw *hw, const fsim_group *call);
/* How many times as long FlashAttention-2 takes as what PyTorch picks of itself: cuDNN's attention on Hopper. */
double fsim_flash_2(const fsim_hw *hw);

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

/* A lower bound of what a kernel with this chain takes, its launch aside: fsim_least_chain_s, or the call of a library
 * that computes an attention. */
double fsim_least_chain_call_s(const fsim_graph *g, const fsim_hw *hw, fsim_chain_pair pair, double second_s);
/* May an attention that a library computes in one call have the member of a chain? */
bool fsim_is_of_attention(const fsim_graph *g, const fsim_member *m);

/* A group whose kernel is the vendor's call, whatever fusesim's own would take. With another primitive in it, it is no
 * call any more: where the call is slow, that may be faster. */
typedef struct {
    bool call;     /* is it one? What follows is 0 otherwise */
    double call_s; /* its seconds with nothing in L2 */
    /* those of our kernel with all in L2 that it might find or leave there; INFINITY where it fits no SM */
    double ours_s;
    double by_rows_s; /* at least those of one that reduces rows beside; INFINITY where the graph has no such rows */
    int64_t beyond_bytes; /* what the call moves, with nothing in L2, beyond every element once */
} fsim_call_lead;
/* Scratch in a. */
fsim_call_lead fsim_call_lead_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                                 fsim_arena *a);

/* Of a group that is such a call: is a kernel of ours faster, with the same in L2? True where it is not known. Scratch
 * in a. */
bool fsim_call_may_lose(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                        fsim_arena *a);

/* The kernel or kernels that a framework launches for this group: it may have more passes, other layouts, other
 * rates. own: fsim_kernel_of's answer, which is returned where no better model exists. Result in a. */
fsim_kernel fsim_framework_launch(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                  const fsim_kernel *own, fsim_arena *a);

/* Which of ATen's functions a group without a contraction is: those whose host time was measured apart. */
typedef enum { FSIM_ATEN_OTHER, FSIM_ATEN_SOFTMAX, FSIM_ATEN_LAYER_NORM } fsim_aten_call;
/* Of the innermost dimension; over another one softmax is FSIM_ATEN_OTHER. */
fsim_aten_call fsim_aten_call_of(const fsim_graph *g, const fsim_group *o);

/* What torch.compile keeps in place of tensors of a graph with gradients, as part of what its kernel k moves. In a. */
void fsim_move_kept(const fsim_software *s, fsim_kernel *k, fsim_arena *a);
/* fsim_framework_launch for plans: never faster than fsim_kernel_of's kernel for the same group, so that no
 * framework's plan beats the optimum. (An attention with wide heads may be, if it is slower than the kernels that the
 * group could be cut into.) own: fsim_kernel_of's answer if it is known, or NULL. Result in a. */
fsim_kernel fsim_framework_kernel(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                  const fsim_kernel *own, fsim_arena *a);

/* Adds to k, a kernel of that group, what PyTorch's host does for its operators beside their launches (host.c); nothing
 * where something else launches it, or not from Python. */
void fsim_add_host_calls(const fsim_software *s, const fsim_group *group, fsim_kernel *k);

#endif
