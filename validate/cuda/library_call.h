/* SPDX-License-Identifier: Apache-2.0 */
/* library_call.h: a plan's kernel as one call of the vendor's library: C = activation(A B + bias). */
#ifndef FUSESIM_VALIDATE_CUDA_LIBRARY_CALL_H
#define FUSESIM_VALIDATE_CUDA_LIBRARY_CALL_H

#include "cost/cost.h"
#include "validate/cuda/cuda.h"

typedef struct {
    fsim_gpu_gemm_call call; /* all but the bias's memory */
    int a, b, c, bias;       /* tensors; bias -1: none */
    int64_t bias_offset;     /* elements into its tensor */
} fsim_vendor_call;

/* A kernel that the plan leaves to the library. False with *why where one call can't do what it does: then our own
 * kernel stands in. Operands may be transposed, also by primitives of the group; both are dense. The bias is a vector
 * along the columns, one for all matrices or one each; the activation ReLU, or GELU by tanh. */
bool fsim_vendor_call_of(const fsim_graph *g, const fsim_hw *hw, const fsim_kernel *k, const char *name,
                         fsim_vendor_call *out, const char **why);

#endif
