/* SPDX-License-Identifier: Apache-2.0 */
/* triangle.h: which tensors have one value on and below the diagonal of their last two dimensions and one above it.
 * Exporters make the mask of causal attention so: ones, their lower triangle, 0 where that is 1 and minus infinity
 * elsewhere. It is followed at any size, where contents are not. */
#ifndef FUSESIM_IMPORT_ONNX_TRIANGLE_H
#define FUSESIM_IMPORT_ONNX_TRIANGLE_H

#include "import/onnx/onnx.h"

/* Notes what a node's first output is, of what its inputs are. After the node was translated. */
void fsim_onnx_follow_triangle(fsim_onnx_call *c);
/* Does it let query i see keys 0 to i and no other, as a bool, or as a number that is added to a score? */
bool fsim_onnx_is_causal(const fsim_operand *v);

#endif
