/* SPDX-License-Identifier: Apache-2.0 */
/* convolution_shape.h: a convolution, or a gradient of one, by the sizes that its kernels depend on, and the share of
 * the peak rate that libraries reach with its kind. */
#ifndef FUSESIM_COST_CONVOLUTION_SHAPE_H
#define FUSESIM_COST_CONVOLUTION_SHAPE_H

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
    double inputs;               /* of the gradient of a weight: channels of a group, of which `filters` has all taps */
    double strides;              /* of a transposed convolution: their product; else 1 */
    double visited;              /* taps that a thread of ours visits for each that meets an element; 1 or more */
    bool windows_apart;    /* a transposed convolution whose windows do not overlap, without dilation: each result is at
                      most one element's, so that a plain product with a column for each tap of each filter has them; taps
                      and strides are 1 then */
    bool dilated, strided; /* of a transposed convolution: dilation along an axis; results that not every tap reaches */
    bool sums_pixels;      /* the gradient of a weight: few results, each a sum over all pixels, which is split */
    bool alone;            /* one tap, and every element is read once: a plain matrix product */
    bool tensor;           /* on tensor units */
    double peak_flops;     /* FLOP/s of its units, data sheet */
    double most;           /* share of it that matrix products reach */
    bool winograd;         /* 3 x 3 taps, each pixel visited, or the gradient of such a one: libraries' FP32 kernels
                              multiply less than that */
} fsim_convolution_shape;

/* n: a node whose gemm.convolution is set. */
fsim_convolution_shape fsim_convolution_shape_of(const fsim_hw *hw, const fsim_node *n);

/* The share of the peak rate that the library reaches, without its changes of layout: convolution_*efficiency. On FP32
 * units it may exceed that of matrix products, and 1, with 3 x 3 taps (Winograd) and not otherwise. */
double fsim_convolution_efficiency(const fsim_hw *hw, const fsim_convolution_shape *s);

#endif
