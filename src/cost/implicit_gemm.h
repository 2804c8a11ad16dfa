/* SPDX-License-Identifier: Apache-2.0 */
/* implicit_gemm.h: the product inside of cuDNN's convolutions, whoever calls it. cuDNN computes most convolutions as a
 * matrix product that gathers its first operand. The kernels take whole vectors of input channels and whole tiles of
 * filters:
 *
 *     product = 2 m n' k' strides^s / (efficiency x peak)
 *
 * n' and k': filters and channels x taps, filled up. s: what of a transposed convolution's strides is computed in vain;
 * nothing where windows do not overlap (fsim_convolution_shape.windows_apart). Which kernels there are is a property of
 * the architecture: cudnn.def. How well they run is the hardware file's convolution_*efficiency. docs/MODEL.md has the
 * errors on rows that were left out of the choice. */
#ifndef FUSESIM_COST_IMPLICIT_GEMM_H
#define FUSESIM_COST_IMPLICIT_GEMM_H

#include "cost/convolution_shape.h"

/* A row of cudnn.def; docs there. */
typedef struct {
    int sm;
    fsim_convolution_kind kind;
    int moves_in, moves_out, last_in;
    double channels, filters, strided, last_gain;
} fsim_implicit_gemm;
typedef struct {
    int sm;
    double gain, start_up, exponent;
} fsim_last_kernel;

/* The last row that fits. On tensor units, the first rows are used for older architectures and other vendors too. */
fsim_implicit_gemm fsim_implicit_gemm_of(const fsim_hw *hw, const fsim_convolution_shape *s);
/* The kernel for channels last, where it is known to differ; otherwise NULL. */
const fsim_last_kernel *fsim_last_kernel_of(const fsim_hw *hw, const fsim_convolution_shape *s);

/* Can this convolution's tensors be stored channels last? torch.compile does so for two axes, without groups or for
 * depthwise convolutions; nothing else was measured. */
bool fsim_stored_last(const fsim_convolution_shape *s);

/* Seconds of the product alone, with partly filled tiles counted as full. last: channels last. */
double fsim_implicit_gemm_s(const fsim_hw *hw, const fsim_convolution_shape *s, bool last);
/* The same in the layout that takes less. */
double fsim_implicit_gemm_least_s(const fsim_hw *hw, const fsim_convolution_shape *s);

#endif
