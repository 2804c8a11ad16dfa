/* SPDX-License-Identifier: Apache-2.0 */
/* contraction.h: steps from a group that holds a matrix product to its seconds. Generated kernels and the vendor's
 * (vendor/cublas.c) share them. */
#ifndef FUSESIM_COST_CONTRACTION_H
#define FUSESIM_COST_CONTRACTION_H

#include "cost/costing.h"
#include "cost/gemm.h"

/* The group's matrix product; products side by side count as one with all their columns. */
fsim_gemm fsim_product_of(const fsim_costing *c);
/* The same as gemm.h takes it. dram_bytes is left 0. */
fsim_gemm_shape fsim_product_shape(const fsim_costing *c, const fsim_gemm *g);
/* Fills in tile, occupancy and time_s from t, once arithmetic and memory are counted. False when the block does not fit
 * an SM. */
bool fsim_settle_product(const fsim_costing *c, fsim_kernel *k, const fsim_gemm_device *d, const fsim_gemm_shape *s,
                         const fsim_gemm_time *t);
/* Adds seconds to unit u that nothing overlaps; negative ones take away. */
void fsim_add_seconds(fsim_kernel *k, fsim_unit u, double seconds);

#endif
