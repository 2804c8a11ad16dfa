/* SPDX-License-Identifier: Apache-2.0 */
/* contents.h: known numbers of a value in the making: what rows fill in when their inputs are known. */
#ifndef FUSESIM_IMPORT_ONNX_CONTENTS_H
#define FUSESIM_IMPORT_ONNX_CONTENTS_H

#include "import/onnx/onnx.h"

/* One of the two is set, by the value's dtype; neither: nothing is known. */
typedef struct {
    int64_t *ints;
    double *floats;
} fsim_contents;

/* Room for the contents of a result of this type, all 0; none where it is too large to follow. */
fsim_contents fsim_contents_room(fsim_onnx_call *c, const fsim_shape *shape, fsim_dtype dtype);
/* Is anything known? */
bool fsim_contents_known(const fsim_contents *to);
/* Element i becomes element `at` of a known value, converted. */
void fsim_contents_take(const fsim_contents *to, int64_t i, const fsim_operand *from, int64_t at);
/* Element i becomes a number. */
void fsim_contents_put(const fsim_contents *to, int64_t i, double number);
/* Room, filled from `from` if that is known: element (i, j, ...) of the result is element start + i * stride[0] + ...
 */
fsim_contents fsim_contents_view(fsim_onnx_call *c, const fsim_operand *from, const fsim_shape *shape, int64_t start,
                                 const int64_t *stride);
/* Strides of a shape in row-major order. */
void fsim_contents_strides(const fsim_shape *shape, int64_t *stride);
/* c, in the knowledge of what the output that it makes next (fsim_onnx_make) holds. A result that has one dimension at
 * most and follows from shapes is not written as an operator: it is arithmetic on shapes. */
fsim_onnx_call *fsim_knowing(fsim_onnx_call *c, const fsim_contents *known);

#endif
