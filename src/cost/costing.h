/* SPDX-License-Identifier: Apache-2.0 */
/* costing.h: what the files of cost/ share: a group with its traffic, counted once, and the functions that add up
 * the time of each unit. */
#ifndef FUSESIM_COST_COSTING_H
#define FUSESIM_COST_COSTING_H

#include "cost/cost.h"
#include "cost/traffic.h"
#include <math.h>

enum {
    FSIM_ISSUE_PER_SM = 4 /* warp instructions per clock: each of the four sub-partitions issues one */
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
    double total_bytes;                           /* bytes of all reads and writes, each counted once */
} fsim_costing;

/* Reads the device's keys and counts the traffic of each read and write, once for all kernels that are tried. l2:
 * what earlier kernels left in L2, or NULL. read and write live in a; the rest is referenced and must outlive the
 * result. */
fsim_costing fsim_costing_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                             const fsim_residency *l2, fsim_arena *a);

static inline double fsim_or_else(double x, double otherwise) { return isnan(x) ? otherwise : x; }
static inline int fsim_bits(unsigned x) { return __builtin_popcount(x); }

/* Results per second of the units that compute in this dtype. */
double fsim_pipe_rate(const fsim_costing *c, fsim_dtype t);

/* The key with the rate of the tensor units for this arithmetic; FSIM_HW_COUNT where the device has none. */
fsim_hw_key fsim_tensor_key(const fsim_hw *hw, fsim_dtype arithmetic);

/* Are the model's errors for products in this arithmetic those of tensor units? For all but FP32 and FP64. */
bool fsim_is_tensor_arithmetic(fsim_dtype arithmetic);
/* The data sheet's dense rate for products in this arithmetic, FLOP/s: that of the tensor units, or of the vector
 * units where there are none. */
double fsim_dense_peak(const fsim_hw *hw, fsim_dtype arithmetic);
/* The same as kernels reach it, where the file says so. */
double fsim_dense_rate(const fsim_hw *hw, fsim_dtype arithmetic);

/* The share of a read that L2 serves. l2 may be NULL. */
double fsim_found_in_l2(const fsim_residency *l2, int read);
/* The share of a result that does not reach DRAM. */
double fsim_stays_in_l2(const fsim_residency *l2, int write);

/* How much faster FP32 products read that hardly write, over dram_bandwidth. */
double fsim_reading_gain(const fsim_hw *hw);

/* A kernel of the group with nothing counted yet. */
fsim_kernel fsim_blank_kernel(const fsim_costing *c, fsim_arena *a);
/* Lays the group out without tiles (kernel/layout.h): *s has what to lay out. False where that can't be. */
bool fsim_lay_out(const fsim_costing *c, fsim_schedule *s);
/* Adds the arithmetic of every member but the contraction. loads[i]: how often each element of the contraction's
 * operand i is loaded, and its prologue computed; NULL where there is no contraction. kept: rows stay on chip, so
 * they are computed once; otherwise once a loop over the row. */
void fsim_add_arithmetic(const fsim_costing *c, fsim_kernel *k, const double *loads, bool kept);
/* Adds the issue time of loads and stores. */
void fsim_add_access_issue(const fsim_costing *c, fsim_kernel *k);
/* What a thread that sums up one result by itself loads: both operands of each of the kernel's products, `bytes` long,
 * one by one. L1 serves them, whose data path is that of shared memory. Nothing is added on a host, whose loops keep
 * operands in registers. */
void fsim_add_operand_loads(const fsim_costing *c, fsim_kernel *k, double products, int bytes);
/* Adds the DRAM and L2 traffic of all reads and writes. extra[i]: how often read i is fetched (by several tiles or
 * loops); extra_dram[i]: how often from DRAM. */
void fsim_add_memory(const fsim_costing *c, fsim_kernel *k, const double *extra, const double *extra_dram);
/* How often a thread that loads its operands once waits for memory; it waits for several loads at a time. */
double fsim_trips(const fsim_costing *c);
/* Applies occupancy, waves, spills and the loss of a grid that leaves SMs idle. steps: how often a block waits for
 * memory. False when the block does not fit on an SM. */
bool fsim_settle(const fsim_costing *c, fsim_kernel *k, double steps);
/* Sets time_s and the units' shares of it: the p-norm, p = 3, of the times of all units but launch. */
void fsim_sum_up(const fsim_costing *c, fsim_kernel *k);
/* What a launch adds to any kernel's time. Launched from Python it is no less than in a stream, where the host is not
 * waited for, and alone no more. */
double fsim_least_launch_s(const fsim_hw *hw, fsim_regime regime);

/* Adds seconds that pass after all else, such as those of a second launch, which waits for the first. */
void fsim_add_after(fsim_kernel *k, fsim_unit unit, double seconds);
/* As fsim_sum_up, with another exponent; generated kernels' is at most 3. */
void fsim_sum_up_by(const fsim_costing *c, fsim_kernel *k, double exponent);

/* The same where all units together are known to take `seconds`. */
void fsim_sum_up_to(const fsim_costing *c, fsim_kernel *k, double seconds);

/* registers.c: registers of a thread of a generated streaming kernel that computes `vector` points. */
int fsim_streaming_registers(const fsim_costing *c, int vector);
/* The same for a kernel that reads its rows from memory in each loop, `vector` elements at a time. */
int fsim_walk_registers(const fsim_costing *c, int vector);
/* The same for a kernel whose threads keep `elems` elements of a row each; at most 255. */
int fsim_keeping_registers(const fsim_costing *c, int vector, double elems);

/* contraction.c: the device's dense rate for this arithmetic, FLOP/s, and the share of it that a long contraction
 * reaches. */
double fsim_contraction_rate(const fsim_costing *c, fsim_dtype t, double *efficiency, bool *tensor);
/* The time of a block's start and end, in steps of k. */
double fsim_startup_of(bool tensor);
/* The fastest generated kernel for a group with one product or convolution, over all tiles and splits. In a. */
fsim_kernel fsim_contraction(const fsim_costing *c, fsim_arena *a);
/* chained.c: an upper bound on the FLOP/s of a chained kernel's products in this arithmetic. Only c's g and hw are
 * read. */
double fsim_chain_rate(const fsim_costing *c, fsim_dtype t);
/* The fastest generated kernel for a chained group, over all tiles and splits; time_s is 0 where none fits on an SM.
 * In a. */
fsim_kernel fsim_chained_kernel(const fsim_costing *c, fsim_arena *a);

/* The fastest generated kernel for the group, over all tiles, splits and vector widths. time_s is 0 where none fits
 * on an SM. In a. */
fsim_kernel fsim_generated_kernel(const fsim_costing *c, fsim_arena *a);

#endif
