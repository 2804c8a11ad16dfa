/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h: convolutions, for the rows that have one among other things. */
#ifndef FUSESIM_IMPORT_ONNX_CONV_H
#define FUSESIM_IMPORT_ONNX_CONV_H

#include "import/onnx/window.h"

/* x[N, C, ...], weight[O, C / groups, ...], bias[O] or NULL; the window and groups as the node's attributes say. */
typedef struct {
    fsim_operand *x, *weight, *bias;
    double padded;    /* the value that stands for zero in x */
    fsim_dtype dtype; /* of the result */
} fsim_onnx_conv;

/* The convolution; NULL after an error. With more than three spatial axes it costs a copy. */
fsim_operand *fsim_onnx_convolve(fsim_onnx_call *c, fsim_onnx_at at, const fsim_onnx_conv *conv);

#endif
