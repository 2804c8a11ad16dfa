/* SPDX-License-Identifier: Apache-2.0 */
/* activation.h: ONNX's activation functions as operators of the workload. */
#ifndef FUSESIM_IMPORT_ONNX_ACTIVATION_H
#define FUSESIM_IMPORT_ONNX_ACTIVATION_H

#include "import/onnx/rows.h"

/* The activation of this name ("HardSigmoid", case aside) of x. Its parameters are the attributes alpha and beta of the
 * node where it has one number in them, else what they are by default. NULL after an error: there is none of that name.
 */
fsim_operand *fsim_onnx_activate(fsim_onnx_call *c, fsim_onnx_at at, const char *name, fsim_operand *x);
/* x sigmoid(alpha x). */
fsim_operand *fsim_onnx_swish(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, double alpha);
/* GELU; fast: by tanh. */
fsim_operand *fsim_onnx_gelu(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, bool fast);

#endif
