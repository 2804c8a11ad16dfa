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
 * library is taken to choose the tile and split of least time; generated kernels have the form, with rates of their
 * own. Fitted to NeuSight's FP32 linear and bmm (events around one eager call) and aiconfigurator's bf16 GEMM (CUDA
 * graph).
 */
#ifndef FUSESIM_COST_GEMM_H
#define FUSESIM_COST_GEMM_H

#include "graph/graph.h"
#include "hw/hw.h"

/* C[batch, m, n] = A[batch, m, k] B[batch, k, n]. */
typedef struct {
    double batch, m, n, k;
    double operand_bytes[2], result_bytes; /* all of each, counted once */
    double added_bytes;   /* of a tensor as large as the result that the library's call adds; 0: none */
    double dram_bytes;    /* bytes that DRAM moves if nothing is loaded twice, including what else the kernel moves */
    int elem_bytes;       /* of the operands */
    bool transposed_b;    /* k is contiguous in both operands */
    bool whole;           /* k must not be split, to keep the order of sums */
    double beside_s;      /* that the units which multiply are busy with something else */
    double beside_powers; /* of the seconds of other units: fsim_gemm_powers */
} fsim_gemm_shape;

/* What units that are busy for so many seconds contribute to busy_s: the sum of both to the 2.5. */
double fsim_gemm_powers(double one_s, double other_s);

typedef struct {
    int m, n, split;
} fsim_gemm_tile;

/* A GPU and an arithmetic, with constants computed in advance. */
typedef struct {
    bool tensor;
    double sms;
    double rate;       /* FLOP/s of one SM at the data sheet's clock */
    double efficiency; /* share of the rate in the loop of a tile that is not narrow; at most 1 */
    double transposed; /* the same with k contiguous in both operands */
    double narrow;
    double startup_bytes;   /* start and end of a block take as long as so many bytes of an operand along k */
    double step_s, least_s; /* step_s: per byte of k */
    double power_rate;      /* FLOP/s of the GPU within its power limit */
    double l2_rate, dram_rate, block_dram_rate; /* B/s; block_dram_rate: the most that one block draws */
    double reading_gain;                        /* of dram_rate where nearly nothing is written; 0: none */
    double l2_bytes;                            /* capacity */
    double page_span, page_slope, page_most;    /* see paging in gemm.c */
    double split_share, split_s;
    double result_weight; /* what a stored byte costs L2, in loaded bytes */
    double drift;         /* long calls run at lower clocks: at most by this share */
    double floor_s;       /* of a kernel */
    int tiles;
    const fsim_gemm_tile *tile;
} fsim_gemm_device;

typedef struct {
    fsim_gemm_tile tile;
    double blocks, resident; /* resident: blocks on an SM at once */
    double compute_s, dram_s, l2_s;
    double tile_bytes;  /* loaded from L2 by all blocks */
    double again_bytes; /* of operands, loaded from DRAM more than once */
    double busy_s;      /* all units together */
    double extra_s;     /* added to that: the second kernel of a split, lower clocks of long calls, floor_s */
} fsim_gemm_time;

/* The rates of hw for products in this arithmetic: of tensor units where they have it, otherwise of vector units. */
fsim_gemm_device fsim_gemm_device_of(const fsim_hw *hw, fsim_dtype arithmetic);
/* Who multiplies in a generated kernel: FP32 units; warps on tensor units (mma.sync), which copy their operands ahead
 * or load and compute them step by step; groups of four warps (wgmma). */
typedef enum { FSIM_BY_THREADS, FSIM_BY_LOADING_WARPS, FSIM_BY_WARPS, FSIM_BY_GROUPS } fsim_multipliers;
/* The rates that generated kernels reach in this arithmetic. None is above the library's: fsim_gemm_tiled_least_s and
 * fsim_gemm_least_s of the library's rates are bounds for them too. Measured on an H100
 * (validate/measured/h100/products.csv). */
fsim_gemm_device fsim_gemm_generated_of(const fsim_hw *hw, fsim_dtype arithmetic, fsim_multipliers by);
/* The time with one tile and split; tile.m is 1 for the kernel without tiles, a matrix times a vector. */
fsim_gemm_time fsim_gemm_with(const fsim_gemm_device *d, const fsim_gemm_shape *s, fsim_gemm_tile tile);
/* Could a kernel with this tile and split, whatever else it does, take less than less_s? False only where one of its
 * units alone takes as long. */
bool fsim_gemm_may_beat(const fsim_gemm_device *d, const fsim_gemm_shape *s, fsim_gemm_tile tile, double less_s);
/* May k be split like this with this tile? Only where the grid leaves SMs idle, and every block must have at least
 * 64 steps of k. */
bool fsim_gemm_may_split(const fsim_gemm_device *d, const fsim_gemm_shape *s, fsim_gemm_tile tile);
/* The time with the tile and split that the library presumably chooses. */
fsim_gemm_time fsim_gemm_best(const fsim_gemm_device *d, const fsim_gemm_shape *s);
/* A lower bound of a kernel with tiles, its launch aside: no block waits, no SM is idle, nothing comes from DRAM. wide:
 * of up to so many products of one kernel, each with a tile of the same rows, the share of this one. */
double fsim_gemm_tiled_least_s(const fsim_gemm_device *d, const fsim_gemm_shape *s, int wide);
/* The least time of a generated kernel with this product alone, in any of its tiles, its launch aside. second_s: what a
 * second launch takes, which a kernel that splits k has. s: with no bytes of DRAM for a lower bound. */
double fsim_gemm_generated_least_s(const fsim_gemm_device *d, const fsim_gemm_shape *s, double second_s);
/* The same of several products side by side, of which s has all columns, and at most `wide` meet in a tile. */
double fsim_gemm_joint_least_s(const fsim_gemm_device *d, const fsim_gemm_shape *s, int wide, double second_s);
/* What the library's best tile takes at least, whatever else its kernel does and wherever its operands are. */
double fsim_gemm_call_least_s(const fsim_gemm_device *d, fsim_gemm_shape s);
/* A lower bound over all tiles: all SMs at their best rate. */
double fsim_gemm_least_s(const fsim_gemm_device *d, double flops);

#endif
