/* SPDX-License-Identifier: Apache-2.0 */
/* library_call.h: a kernel of a plan as one call of the vendor's library: C = activation(A B + residual + bias), or
 * C = A B times an activation's slope and the sums of its columns. */
#ifndef FUSESIM_VALIDATE_CUDA_LIBRARY_CALL_H
#define FUSESIM_VALIDATE_CUDA_LIBRARY_CALL_H

#include "cost/cost.h"
#include "validate/cuda/cuda.h"

typedef struct {
    fsim_gpu_gemm_call call;                /* everything but the memory of bias, residual, sums and aux */
    int a, b, c, bias, residual, sums, aux; /* tensors; the last four -1: none */
    int64_t bias_offset;                    /* elements into its tensor */
} fsim_vendor_call;

/* Describes the call for a kernel that the plan runs with the library. False with *why where one call can't compute
 * it: our own kernel runs instead. Operands may be transposed, also by primitives of the group, and must be dense.
 * The bias is a vector along the columns, one for all matrices or one for each; the residual is as large as C; the
 * activation is ReLU, or GELU by tanh, which may store what its gradient needs, too. */
bool fsim_vendor_call_of(const fsim_graph *g, const fsim_hw *hw, const fsim_kernel *k, const char *name,
                         fsim_vendor_call *out, const char **why);

#endif
