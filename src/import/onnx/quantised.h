/* SPDX-License-Identifier: Apache-2.0 */
/* quantised.h: integers that stand for numbers: scale x (code - zero).
 *
 * DequantizeLinear notes on its result which codes it comes from (fsim_operand.codes). A product of two such results is
 * written as one of their codes: operands of 8 bits, sums of 32. The dequantised operands are then read by nobody, and
 * are left out of the workload with all that nobody reads.
 */
#ifndef FUSESIM_IMPORT_ONNX_QUANTISED_H
#define FUSESIM_IMPORT_ONNX_QUANTISED_H

#include "import/onnx/rows.h"

/* Does the node dequantise v, a constant with two elements in a byte? */
bool fsim_onnx_reads_pairs(const fsim_onnx_call *c, const fsim_operand *v);

struct fsim_onnx_codes {
    fsim_operand *code, *scale;
    int axis; /* of code: the one along which scale has a length; -1: it has one element */
};

/* What an operand is quantised by. zero NULL: 0. axis: as above, also where scale has one element. */
typedef struct {
    fsim_operand *scale, *zero;
    int axis;
} fsim_onnx_scale;

/* scale (code - zero), of scale's dtype. */
fsim_operand *fsim_onnx_dequantise(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *code, const fsim_onnx_scale *s);
/* round(x / scale) + zero, within the range of dtype. */
fsim_operand *fsim_onnx_quantise(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const fsim_onnx_scale *s,
                                 fsim_dtype dtype);
/* Are both dequantised from integers of 8 bits, the second with one scale or one for each index of its dimension
 * `channel`? */
bool fsim_onnx_are_codes(const fsim_operand *x, const fsim_operand *w, int channel);
/* The codes of a bias, where it is dequantised from 32 bits; NULL: it is not. */
fsim_operand *fsim_onnx_bias_codes(const fsim_operand *bias);
/* sums x one scale x the other, where the channels of w lie along dimension `channel` of sums. */
fsim_operand *fsim_onnx_rescale(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *sums, fsim_operand *one,
                                fsim_operand *other, int channel);
/* The product of codes, with sums of 32 bits. */
fsim_operand *fsim_onnx_code_product(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *y);

#endif
