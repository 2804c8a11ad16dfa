/* SPDX-License-Identifier: Apache-2.0 */
/* costing.h: what the files of cost/ share: a group's traffic counted once, and the steps from a group to the seconds
 * of each unit. */
#ifndef FUSESIM_COST_COSTING_H
#define FUSESIM_COST_COSTING_H

#include "cost/cost.h"
#include "cost/traffic.h"
#include <math.h>

enum {
    FSIM_ISSUE_PER_SM = 4 /* warp instructions per clock: one a sub-partition */
};

/* One group on one GPU. */
typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    fsim_regime regime;
    const fsim_group *group;
    const fsim_residency *l2;
    double sms, clock, warp, l2_bytes, latency_s; /* clock: Hz; l2_bytes: effective */
    fsim_traffic *read, *write;                   /* per read and write of the group */
    double total_bytes;                           /* that all streams move, once */
} fsim_costing;

/* Reads the device's keys and counts the traffic of each stream once for all kernels that are tried. l2: what earlier
 * kernels left in L2, or NULL. read and write live in a; the rest is referenced and must outlive it. */
fsim_costing fsim_costing_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                             const fsim_residency *l2, fsim_arena *a);

static inline double fsim_or_else(double x, double otherwise) { return isnan(x) ? otherwise : x; }
static inline int fsim_bits(unsigned x) { return __builtin_popcount(x); }

/* Lanes per second of the pipe that computes in this dtype. */
double fsim_pipe_rate(const fsim_costing *c, fsim_dtype t);

/* The tensor unit that does this arithmetic; FSIM_HW_COUNT where the device has none. */
fsim_hw_key fsim_tensor_key(const fsim_hw *hw, fsim_dtype arithmetic);

/* Whether a library's products in this arithmetic are judged with those of tensor units: all but FP32 and FP64. */
bool fsim_is_tensor_arithmetic(fsim_dtype arithmetic);
/* The data sheet's dense rate for products of this arithmetic, FLOP/s: of the tensor units, else of the vector units.
 */
double fsim_dense_peak(const fsim_hw *hw, fsim_dtype arithmetic);

/* A kernel of the group with nothing counted yet. */
fsim_kernel fsim_blank_kernel(const fsim_costing *c, fsim_arena *a);
/* Arithmetic of every member but the contraction itself. loads[i]: how often each element of a contraction's operand i
 * is loaded, and its prologue computed; NULL where there is none. kept: rows stay on chip; else they are walked once a
 * stage. */
void fsim_add_arithmetic(const fsim_costing *c, fsim_kernel *k, const double *loads, bool kept);
/* Loads and stores as instructions. */
void fsim_add_access_issue(const fsim_costing *c, fsim_kernel *k);
/* DRAM and L2 traffic of all reads and writes; extra[i] multiplies what read i fetches (tiles, passes), from DRAM where
 * extra_dram says so. */
void fsim_add_memory(const fsim_costing *c, fsim_kernel *k, const double *extra, const double *extra_dram);
/* Dependent trips to memory of a thread that loads its operands once. */
double fsim_trips(const fsim_costing *c);
/* Occupancy, waves, spills, and the derating of a grid that leaves SMs idle. steps: dependent trips to memory of one
 * block. False when the block does not fit an SM. */
bool fsim_settle(const fsim_costing *c, fsim_kernel *k, double steps);
/* time_s and its shares from the units: the p-norm of all but launch, p = 3. */
void fsim_sum_up(const fsim_costing *c, fsim_kernel *k);
/* As fsim_sum_up with another exponent. An own kernel's is at most 3. */
void fsim_sum_up_by(const fsim_costing *c, fsim_kernel *k, double exponent);

/* registers.c: registers a thread of a generated kernel that computes `vector` points. */
int fsim_streaming_registers(const fsim_costing *c, int vector);
/* Of a kernel that walks its rows from memory, `vector` elements at a time. */
int fsim_walk_registers(const fsim_costing *c, int vector);
/* Of a kernel whose thread keeps `elems` elements of its row; at most 255. */
int fsim_keeping_registers(const fsim_costing *c, int vector, double elems);

/* contraction.c: the device's dense rate for this arithmetic, FLOP/s, and how much of it a long contraction keeps. */
double fsim_contraction_rate(const fsim_costing *c, fsim_dtype t, double *efficiency, bool *tensor);
/* Steps of k that a block's start and end take as long as. */
double fsim_startup_of(bool tensor);
/* A generated kernel for a group with one product or convolution, with the tile and split that take least time. In a.
 */
fsim_kernel fsim_contraction(const fsim_costing *c, fsim_arena *a);
/* chained.c: FLOP/s that a chained kernel's products in this arithmetic reach at most. c: its g and hw are looked at.
 */
double fsim_chain_rate(const fsim_costing *c, fsim_dtype t);
/* A generated kernel for a chained group, with the tile and split that take least time; time_s is 0 where none fits an
 * SM. In a. */
fsim_kernel fsim_chained_kernel(const fsim_costing *c, fsim_arena *a);

/* The group as a generated kernel: tile, split and vector width that take least time. time_s is 0 where nothing fits an
 * SM. Result in a. */
fsim_kernel fsim_generated_kernel(const fsim_costing *c, fsim_arena *a);

#endif
