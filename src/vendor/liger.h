/* SPDX-License-Identifier: Apache-2.0 */
/* liger.h: the hand-written kernels of Liger-Kernel, each a function of PyTorch's with a forward and a backward pass.
 * They are no plan of fusesim's: their launches are given (liger.def), and what is worked out is how long those take.
 */
#ifndef FUSESIM_VENDOR_LIGER_H
#define FUSESIM_VENDOR_LIGER_H

#include "cost/cost.h"

/* One pass of a function. */
typedef struct {
    double s;                       /* its kernels, one after the other, once the host has launched them */
    double read_bytes, write_bytes; /* of DRAM */
    int calls, operators;           /* kernels of Triton's and of PyTorch's that the host launches for it */
    int arguments;                  /* of each of Triton's */
} fsim_liger_pass;

typedef struct {
    fsim_liger_pass forward, backward;
    bool in_place; /* the gradient of the input takes the input's memory */
} fsim_liger_run;

/* Has Liger the function that this workload (a path, or its last part) is named for? */
bool fsim_liger_has(const char *workload);

/* How it runs on g: the workload as it stands, or with its gradients. products_s: what the matrix products of the
 * forward and of the backward pass take as the library runs them. False where it has no such function. */
bool fsim_liger_run_of(const char *workload, const fsim_graph *g, const fsim_hw *hw, const double products_s[2],
                       fsim_liger_run *out);

/* Bytes that it needs at the most, with inputs, weights and, backward, the gradients of the run before. NAN where it
 * has no such function. */
double fsim_liger_peak(const char *workload, const fsim_graph *g, const fsim_hw *hw, bool backward);

#endif
