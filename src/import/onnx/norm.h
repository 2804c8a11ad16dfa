/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h: normalisations, for the rows that have one among other things. */
#ifndef FUSESIM_IMPORT_ONNX_NORM_H
#define FUSESIM_IMPORT_ONNX_NORM_H

#include "import/onnx/rows.h"

typedef struct {
    fsim_operand *x, *weight, *bias; /* weight and bias NULL: absent */
    int axis;                        /* the first of the dimensions that are normalised */
    double eps;
    bool rms; /* by the mean square alone */
} fsim_onnx_norm;

/* Layer norm or RMS norm over the trailing dimensions. */
fsim_operand *fsim_onnx_normalise(fsim_onnx_call *c, fsim_onnx_at at, const fsim_onnx_norm *n);
/* Outputs k and k + 1, where they are wanted: the mean (not of an RMS norm: then k alone) and one over the standard
 * deviation. */
bool fsim_onnx_norm_statistics(fsim_onnx_call *c, int k, const fsim_onnx_norm *n);

#endif
