/* SPDX-License-Identifier: Apache-2.0 */
/* attend.h: attention, for the rows of both domains that have it. */
#ifndef FUSESIM_IMPORT_ONNX_ATTEND_H
#define FUSESIM_IMPORT_ONNX_ATTEND_H

#include "import/onnx/rows.h"

/* softmax(scale q k^T + mask) v. */
typedef struct {
    fsim_operand *q, *k, *v; /* [B, heads, S, D], [B, kv_heads, T, D] */
    fsim_operand *mask;      /* broadcasts to [B, heads, S, T]: of bool (which scores count) or added; NULL: none */
    double scale;            /* 0: one over the root of D */
    double softcap;          /* 0: none */
    bool causal;
    int64_t past; /* how many of the T keys come before the first query */
    int scores;   /* the output that is the scores, at `stage`: 0 products, 1 masked, 2 capped, 3 softmax; -1: none */
    int stage;
} fsim_onnx_attention;

/* Its result, [B, heads, S, D of v]. */
fsim_operand *fsim_onnx_attend(fsim_onnx_call *c, fsim_onnx_at at, const fsim_onnx_attention *a);
/* x[B, S, heads D] as [B, heads, S, D]. NULL after an error: heads do not divide its last dimension. */
fsim_operand *fsim_onnx_split_heads(fsim_onnx_call *c, const char *step, fsim_operand *x, int64_t heads);
/* And back. */
fsim_operand *fsim_onnx_merge_heads(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x);
/* Rows of new keys or values [B, heads, S, D] behind those of the past (NULL: none): output k where it is wanted. k is
 * 1 for keys and 2 for values; negative: no output. */
fsim_operand *fsim_onnx_cached(fsim_onnx_call *c, int k, fsim_operand *past, fsim_operand *x);

/* x turned by angles: x cos + rotate_half(x) sin, in its last dimension's first 2 R elements. cos and sin have R, and
 * broadcast to x otherwise. Pairs of neighbours are turned at the same cost as pairs of halves, and written so. */
fsim_operand *fsim_onnx_rotate(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *cos,
                               fsim_operand *sin);

#endif
