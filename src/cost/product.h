/* SPDX-License-Identifier: Apache-2.0 */
/* product.h: how a group with a matrix product gets its time. Generated products and convolutions and
 * the vendor's products (vendor/cublas.c) share these functions. */
#ifndef FUSESIM_COST_PRODUCT_H
#define FUSESIM_COST_PRODUCT_H

#include "cost/costing.h"
#include "cost/gemm.h"
#include "kernel/tiling.h"

/* The group's matrix product. Products side by side (same rows) count as one with the columns of all. */
fsim_gemm fsim_product_of(const fsim_costing *c);
/* The same as gemm.h's functions need it. dram_bytes stays 0. */
fsim_gemm_shape fsim_product_shape(const fsim_costing *c, const fsim_gemm *g);
/* Sets the kernel's tile, occupancy and time_s from t. Arithmetic and memory must be counted before. False when the
 * block does not fit on an SM. */
bool fsim_settle_product(const fsim_costing *c, fsim_kernel *k, const fsim_gemm_device *d, const fsim_gemm_shape *s,
                         const fsim_gemm_time *t);
/* Adds to unit u seconds that overlap with nothing; negative seconds are taken away. */
void fsim_add_seconds(fsim_kernel *k, fsim_unit u, double seconds);

/* Who multiplies in a tile that is laid out. */
fsim_multipliers fsim_multipliers_of(const fsim_tile_plan *tile);

#endif
