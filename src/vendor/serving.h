/* SPDX-License-Identifier: Apache-2.0 */
/* serving.h: what serving stacks (vLLM, SGLang, TensorRT-LLM) run as calls of their libraries: the kinds of
 * graph/serving.def, a function each. Times are those of replayed CUDA graphs, without what a launch costs.
 *     serving.c  from a workload's call to a kernel; the roofline for kinds that nobody has modelled yet */
#ifndef FUSESIM_VENDOR_SERVING_H
#define FUSESIM_VENDOR_SERVING_H

#include "vendor/kernels.h"

/* A call to be priced. */
typedef struct {
    const fsim_hw *hw;
    fsim_maker maker;              /* whose library */
    const fsim_serving_call *call; /* kind, numbers (call->value) and types */
    double flops;                  /* of the contractions, in `arithmetic` */
    fsim_dtype arithmetic;         /* FSIM_DTYPE_NONE: there is none */
    double bytes;                  /* of all that it reads and writes, each once */
} fsim_serving_site;

typedef struct {
    double unit[FSIM_UNIT_COUNT]; /* seconds that each unit alone would take; that of launches is not used */
    double busy_s;                /* all together, with the kernels' floors and without their launches */
    int launches;                 /* kernels */
} fsim_serving_time;

/* The call of c->group as one kernel. maker: FSIM_BY_FUSESIM and PyTorch take TensorRT-LLM's. In a. */
fsim_kernel fsim_serving_kernel(const fsim_costing *c, fsim_maker maker, fsim_arena *a);

#endif
