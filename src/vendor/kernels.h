/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h: what the files of vendor/ share.
 *     aten.c             elementwise, rows, pooling, scans of PyTorch without a compiler
 *     triton.c           the same as torch.compile generates them
 *     cublas.c           matrix products
 *     cudnn.c            convolutions
 *     flash_attention.c  a whole attention in one kernel
 *     library.c          what a library can do in one call
 *     framework.c        which of these a framework launches */
#ifndef FUSESIM_VENDOR_KERNELS_H
#define FUSESIM_VENDOR_KERNELS_H

#include "cost/costing.h"
#include "vendor/vendor.h"

/* The library's kernel for a group that holds a matrix product or a convolution. time_s is 0 where the library can't do
 * it in one call, or where it does not fit an SM. Result in a. */
fsim_kernel fsim_cublas_kernel(const fsim_costing *c, fsim_arena *a);
/* A convolution in the layout that the plan chose: no copies around it. */
fsim_kernel fsim_cudnn_kernel(const fsim_costing *c, fsim_arena *a);

/* As frameworks launch them. own: fsim_kernel_of's kernel, which they return where nothing better is known. Result in
 * a.
 */
fsim_kernel fsim_aten_kernel(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a);
/* As PyTorch's Inductor generates it with Triton. Operators that Inductor leaves to ATen are costed as ATen's. */
fsim_kernel fsim_triton_kernel(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a);
/* As PyTorch calls cuBLAS, which may split k whatever the order of additions. *own where the library can't do the
 * group. */
fsim_kernel fsim_framework_product(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a);
/* As `maker` calls cuDNN, with the copies between layouts that it needs. *own where it does not fit an SM. */
fsim_kernel fsim_framework_convolution(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a);
/* The attention library that `maker` ships for this GPU, measured constants applied. *own where it has none: another
 * design or arithmetic than FP16 and BF16, no softmax between the products. */
fsim_kernel fsim_framework_attention(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own);

#endif
