/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h: the time of a tiled matrix product, from its shape and a GPU's scalars alone.
 *
 *     busy_s    = (compute_s^2.5 + dram_s^2.5 + l2_s^2.5)^0.4
 *     compute_s = full rounds x max(resident x one, alone) + max(blocks per SM of the last round x one, alone)
 *     one       = 2 tile_m tile_n (k / split + startup) / (rate x e)
 *     e         = efficiency / (1 + narrow x (128 / tile_m + 128 / tile_n - 2))
 *     alone     = k / split x step_s + least_s
 *
 * A grid of blocks, each a tile of the result and a share of k, runs in rounds over the SMs. `alone`: a block that has
 * its SM to itself waits for its loads. compute_s is no less than the power limit lets the units do. The vendor's
 * library is taken to choose the tile and split of least time; a generated kernel is taken to reach the same rates.
 * Fitted to NeuSight's FP32 linear and bmm (events around one eager call) and aiconfigurator's bf16 GEMM (CUDA graph).
 */
#ifndef FUSESIM_COST_GEMM_H
#define FUSESIM_COST_GEMM_H

#include "graph/graph.h"
#include "hw/hw.h"

/* C[batch, m, n] = A[batch, m, k] B[batch, k, n]. */
typedef struct {
    double batch, m, n, k;
    double operand_bytes[2], result_bytes; /* all of each, once */
    double dram_bytes; /* what of these DRAM moves when nothing is fetched twice, and what else the kernel moves */
    int elem_bytes;    /* of the operands */
    bool transposed_b; /* k is contiguous in both operands */
    bool whole;        /* k is not split: the order of additions is kept */
} fsim_gemm_shape;

typedef struct {
    int m, n, split;
} fsim_gemm_tile;

/* One GPU and arithmetic, constants worked out once. */
typedef struct {
    bool tensor;
    double sms;
    double rate;       /* FLOP/s of one SM at the data sheet's clock */
    double efficiency; /* of that, in the loop of a tile that is not narrow; at most 1 */
    double transposed; /* of that, with k contiguous in both operands */
    double narrow;
    double startup_bytes;                       /* of an operand's k: a block's start and end take as long */
    double step_s, least_s;                     /* step_s: per byte of k */
    double power_rate;                          /* FLOP/s of the GPU within its power limit */
    double l2_rate, dram_rate, block_dram_rate; /* B/s; block_dram_rate: what one block asks for at most */
    double l2_bytes;                            /* capacity */
    double page_span, page_slope, page_most;    /* see paging */
    double split_share, split_s;
    double drift;   /* long calls run at lower clocks: by this share at most */
    double floor_s; /* of a kernel */
    int tiles;
    const fsim_gemm_tile *tile;
} fsim_gemm_device;

typedef struct {
    fsim_gemm_tile tile;
    double blocks, resident; /* resident: blocks of one SM at once */
    double compute_s, dram_s, l2_s;
    double tile_bytes;  /* what all blocks load from L2 */
    double again_bytes; /* of operands that DRAM serves once more */
    double busy_s;      /* of all units together */
    double extra_s;     /* on top: a split's second kernel, lower clocks of long calls, floor_s */
} fsim_gemm_time;

/* The rates of hw for products in this arithmetic: of tensor units where it has them for it, else of vector units. */
fsim_gemm_device fsim_gemm_device_of(const fsim_hw *hw, fsim_dtype arithmetic);
/* With one tile and split; tile.m is 1 for the kernel without tiles that multiplies a matrix and a vector. */
fsim_gemm_time fsim_gemm_with(const fsim_gemm_device *d, const fsim_gemm_shape *s, fsim_gemm_tile tile);
/* May this tile's k be split as it says? Only grids that leave SMs idle are, and no block gets less than 64 steps of k.
 */
bool fsim_gemm_may_split(const fsim_gemm_device *d, const fsim_gemm_shape *s, fsim_gemm_tile tile);
/* With the tile and split that the library is taken to choose. */
fsim_gemm_time fsim_gemm_best(const fsim_gemm_device *d, const fsim_gemm_shape *s);
/* No tile does it faster: all SMs at their best rate. */
double fsim_gemm_least_s(const fsim_gemm_device *d, double flops);

#endif
