/* SPDX-License-Identifier: Apache-2.0 */
/* convolution.h: a convolution as an implicit matrix product: pixels x filters, summed over taps and channels.
 *
 *     compute_s = ceil(blocks / SMs) x 2 tile_m tile_n taps channels / (peak / SMs x share x tile share)
 * share: what the library's best kind reaches (the hardware file's convolution_*efficiency) once the layout is the
 * kernel's own. Where a group has few filters, a thread sums up a result by itself. vendor/cudnn.c has what cuDNN needs
 * besides: layout changes, and dimensions filled up. */
#ifndef FUSESIM_COST_CONVOLUTION_H
#define FUSESIM_COST_CONVOLUTION_H

#include "cost/costing.h"

/* Kinds of convolutions for which libraries have different kernels. One axis counts as two. */
typedef enum {
    FSIM_PLANES,
    FSIM_TRANSPOSED_PLANES,
    FSIM_VOLUMES,
    FSIM_TRANSPOSED_VOLUMES,
    FSIM_CONVOLUTION_KINDS
} fsim_convolution_kind;

typedef struct {
    fsim_convolution_kind kind;
    int axes;
    double groups, pixels, taps; /* pixels: gathered ones, batch included */
    double channels, filters;    /* of one group */
    double strides;              /* of a transposed convolution: their product; else 1 */
    double visited;              /* taps that a thread of ours visits for each that meets an element; 1 or more */
    bool windows_apart; /* a transposed convolution whose windows do not overlap, without dilation: each result is at
                   most one element's, so that a plain product with a column for each tap of each filter has them; taps
                   and strides are 1 then */
    bool sums_pixels;   /* the gradient of a weight: few results, each a sum over all pixels, which is split */
    bool alone;         /* one tap, and every element is read once: a plain matrix product */
    bool tensor;        /* on tensor units */
    double peak_flops;  /* FLOP/s of its units, data sheet */
    double most;        /* share of it that matrix products reach */
    bool winograd;      /* 3 x 3 taps, each pixel visited: libraries' FP32 kernels multiply less than that */
} fsim_convolution_shape;

/* n: a node whose gemm.convolution is set. */
fsim_convolution_shape fsim_convolution_shape_of(const fsim_hw *hw, const fsim_node *n);

/* The share of the peak rate that the library reaches, without its changes of layout: convolution_*efficiency. On FP32
 * units it may exceed that of matrix products, and 1, with 3 x 3 taps (Winograd) and not otherwise. */
double fsim_convolution_efficiency(const fsim_hw *hw, const fsim_convolution_shape *s);

/* The kernel with the tile that takes least time. template: FSIM_TILED_CONTRACTION for a generated block,
 * FSIM_LIBRARY_CONTRACTION for a library's. time_s is 0 where none fits an SM. Result in a. */
fsim_kernel fsim_convolution(const fsim_costing *c, fsim_template template, fsim_arena *a);

/* A lower bound of the seconds in which a kernel can compute convolution `node`. */
double fsim_least_convolution_s(const fsim_graph *g, const fsim_hw *hw, int node);
/* The same for one of ours where each thread sums up a result by itself. */
double fsim_convolution_direct_s(const fsim_graph *g, const fsim_hw *hw, int node);

#endif
