/* SPDX-License-Identifier: Apache-2.0 */
/* convolution.h: a convolution as an implicit matrix product: pixels x filters, summed over taps and channels.
 *
 *     compute_s = ceil(blocks / SMs) x 2 tile_m tile_n taps channels / (peak / SMs x share x tile share)
 * share: what the library's best kind reaches (the hardware file's convolution_*efficiency) once the layout is the
 * kernel's own. Where a group has few filters, a thread sums up a result by itself. implicit_gemm.h has cuDNN's
 * products, whose dimensions are filled up, vendor/cudnn.c its changes of layout. */
#ifndef FUSESIM_COST_CONVOLUTION_H
#define FUSESIM_COST_CONVOLUTION_H

#include "cost/convolution_shape.h"
#include "cost/costing.h"

/* The kernel with the tile that takes least time. template: FSIM_TILED_CONTRACTION for a generated block,
 * FSIM_LIBRARY_CONTRACTION for a library's. time_s is 0 where none fits an SM. Result in a. */
fsim_kernel fsim_convolution(const fsim_costing *c, fsim_template template, fsim_arena *a);

/* A call of a GPU's library: the product alone, and changes of layout before and behind it. */
typedef struct {
    double product_s;
    int changes;
    double changes_s;
    double exponent; /* of the norm of the product and all else, at most 3 */
} fsim_convolution_steps;
/* Its price with all that the group computes. time_s is 0 where it fits no SM. Result in a. */
fsim_kernel fsim_convolution_call(const fsim_costing *c, const fsim_convolution_shape *s, fsim_convolution_steps steps,
                                  fsim_arena *a);

/* A lower bound of the seconds in which a kernel can compute convolution `node`. */
double fsim_least_convolution_s(const fsim_graph *g, const fsim_hw *hw, int node);
/* The same for one of ours where each thread sums up a result by itself. */
double fsim_convolution_direct_s(const fsim_graph *g, const fsim_hw *hw, int node);
/* The same for one of ours with tiles, with its rounds of blocks; INFINITY where there are none. */
double fsim_convolution_tiled_s(const fsim_graph *g, const fsim_hw *hw, int node);
/* The same for the call of a library; 0 where nothing is known. */
double fsim_convolution_call_s(const fsim_graph *g, const fsim_hw *hw, int node);

#endif
