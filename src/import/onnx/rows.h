/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: what the rows of compute.def share: operators whose result's shape follows from their operands. Every
 * function takes NULL for an operand whose own operator failed, and returns NULL then, so that a row can be written as
 * one expression.
 */
#ifndef FUSESIM_IMPORT_ONNX_ROWS_H
#define FUSESIM_IMPORT_ONNX_ROWS_H

#include "import/onnx/onnx.h"

/* Where a result goes: output `output` of the node, or where that is -1 a step called `step`. */
typedef struct {
    int output;
    const char *step;
} fsim_onnx_at;
#define FSIM_OUT(k)     ((fsim_onnx_at){(k), NULL})
#define FSIM_STEP(name) ((fsim_onnx_at){-1, (name)})

/* Any operator. */
fsim_operand *fsim_onnx_emit(fsim_onnx_call *c, fsim_onnx_at at, const char *op, const fsim_shape *shape,
                             fsim_dtype dtype, const fsim_onnx_args *in);
/* A number as an attribute of the newest operator: whole where dtype is. */
void fsim_onnx_put_value(fsim_onnx_call *c, const char *key, fsim_dtype dtype, double value);
/* An operator of which only the result's type is known: it costs a copy. */
fsim_operand *fsim_onnx_custom(fsim_onnx_call *c, fsim_onnx_at at, const fsim_shape *shape, fsim_dtype dtype,
                               const fsim_onnx_args *in);
/* An elementwise operator of x: its shape and dtype. */
fsim_operand *fsim_onnx_unary(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x);
/* The same with a constant as its second operand. */
fsim_operand *fsim_onnx_scalar(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x, double value);
/* An elementwise operator of x and y, broadcast; x's dtype. */
fsim_operand *fsim_onnx_binary(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x, fsim_operand *y);
/* Dimensions from the front, ascending. */
typedef struct {
    int count;
    int64_t at[FSIM_MAX_RANK];
} fsim_onnx_dims;
/* Dimensions from to to - 1. */
fsim_onnx_dims fsim_onnx_dims_of(int from, int to);
/* A reduction along dims, of which there is at least one. keep: they stay, with length 1. */
fsim_operand *fsim_onnx_reduced(fsim_onnx_call *c, fsim_onnx_at at, const char *op, fsim_operand *x,
                                const fsim_onnx_dims *dims, bool keep);
/* The shape of x with dims reduced. */
fsim_shape fsim_onnx_reduced_shape(const fsim_shape *x, const fsim_onnx_dims *dims, bool keep);
/* `size` elements of x along dim, from `start` on; x itself where that is all. */
fsim_operand *fsim_onnx_slice(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, int dim, int64_t start,
                              int64_t size);
/* The operands one behind another along dim. */
fsim_operand *fsim_onnx_concat(fsim_onnx_call *c, fsim_onnx_at at, int dim, int ins, fsim_operand *const *in);
/* x with another shape. */
fsim_operand *fsim_onnx_view(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const fsim_shape *shape);
/* x with its dimensions in another order. */
fsim_operand *fsim_onnx_reorder(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, const int64_t *order);
/* x as another dtype. */
fsim_operand *fsim_onnx_as(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_dtype to);
/* The product of two tensors as numpy's matmul has it; x's dtype. */
fsim_operand *fsim_onnx_product(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *y);
/* The same with a result of another dtype. */
fsim_operand *fsim_onnx_product_of(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *y,
                                   fsim_dtype dtype);
/* x[..., K] times weight[N, K], and bias[N] where it is not NULL. */
fsim_operand *fsim_onnx_linear(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *w,
                               fsim_operand *bias);
/* The same, in[0, 3), with a result of another dtype. */
fsim_operand *fsim_onnx_linear_of(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *const in[3], fsim_dtype dtype);
/* The dtype of the newest operator, a product, where it is not that of its operand x. */
void fsim_onnx_put_product_dtype(fsim_onnx_call *c, const fsim_operand *x, const fsim_operand *product);

#endif
