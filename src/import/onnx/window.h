/* SPDX-License-Identifier: Apache-2.0 */
/* window.h: the windows of ONNX's convolutions and pools: kernel_shape, strides, dilations, pads, auto_pad, ceil_mode.
 */
#ifndef FUSESIM_IMPORT_ONNX_WINDOW_H
#define FUSESIM_IMPORT_ONNX_WINDOW_H

#include "import/onnx/rows.h"

/* Along each spatial axis; before and after: elements that are added, fewer than none where negative. */
typedef struct {
    int axes;
    int64_t kernel[FSIM_MAX_RANK], stride[FSIM_MAX_RANK], dilation[FSIM_MAX_RANK], before[FSIM_MAX_RANK],
        after[FSIM_MAX_RANK];
} fsim_onnx_window;

/* The window over x[N, C, ...] by the node's attributes. kernel: the lengths that a weight has, NULL: those of
 * kernel_shape. pads are the node's own, or by auto_pad for a window that slides over x. False after an error. */
bool fsim_onnx_read_window(fsim_onnx_call *c, const fsim_shape *x, const int64_t *kernel, fsim_onnx_window *w);
/* How far the window reaches along axis i. */
int64_t fsim_onnx_reach(const fsim_onnx_window *w, int i);
/* How many windows there are along axis i of `length` elements; up: one more where some elements are left. */
int64_t fsim_onnx_windows(const fsim_onnx_window *w, int i, int64_t length, bool up);
/* x with what a window adds on one side only; w->before and after are equal then. value: what is added. */
fsim_operand *fsim_onnx_even(fsim_onnx_call *c, fsim_operand *x, fsim_onnx_window *w, double value);
/* x with so many elements more (or fewer) at the ends of its spatial axes, of `value`. */
fsim_operand *fsim_onnx_padded(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const int64_t *before,
                               const int64_t *after, double value);
/* Writes stride, padding and dilation of a window that is even, where they are not 1 and 0; the stride always where
 * `stride` is true. */
void fsim_onnx_put_window(fsim_onnx_call *c, const fsim_onnx_window *w, bool stride);
/* Writes a list with a value for each axis; one number where all are equal. */
void fsim_onnx_put_axes(fsim_onnx_call *c, const char *key, int axes, const int64_t *value);

#endif
