/* SPDX-License-Identifier: Apache-2.0 */
/* sort.h: which kernels PyTorch launches for sort and topk. They are nobody's to generate: fusesim's plans launch them
 * too. Source: PyTorch 2.x, aten/src/ATen/native/cuda. */
#ifndef FUSESIM_KERNEL_SORT_H
#define FUSESIM_KERNEL_SORT_H

#include "graph/graph.h"

typedef enum {
    FSIM_SORT_IN_PLACE, /* rows of at most 4,096: a kernel sorts each on chip (Sort) */
    FSIM_SORT_SEGMENTS, /* longer ones: CUB sorts all rows, each in a block, digit by digit (SortStable) */
    FSIM_SORT_TWICE,    /* fewer than 128 of them: all rows as one, then again by row (SortStable) */
    FSIM_SORT_EACH,     /* one row, or rows of a million: each by itself, on the whole GPU (SortStable) */
    FSIM_SELECT_BLOCKS, /* topk: several blocks a row count the values of a digit (TensorTopK, mbtopk) */
    FSIM_SELECT_BLOCK   /* topk of few or short rows: one block a row (TensorTopK, sbtopk) */
} fsim_sort_form;

typedef struct {
    fsim_sort_form form;
    int64_t rows, width, kept; /* kept: of a row's elements; topk's k */
    int elem_bytes;
    int passes;   /* over the elements, one for each digit */
    int launches; /* kernels */
    bool strided; /* rows are not contiguous: they are copied first */
} fsim_sort;

/* How primitive `node` of g is sorted. False where it is no sort or topk. */
bool fsim_sort_of(const fsim_graph *g, int node, fsim_sort *out);

#endif
