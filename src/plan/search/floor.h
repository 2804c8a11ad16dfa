/* SPDX-License-Identifier: Apache-2.0 */
/* floor.h: work that no plan can avoid, as seconds of each unit. Kernels combine their units' times by a norm, and a
 * sum of norms is at least the norm of the sum. */
#ifndef FUSESIM_PLAN_SEARCH_FLOOR_H
#define FUSESIM_PLAN_SEARCH_FLOOR_H

#include "plan/price/plan.h"

enum { FSIM_FLOOR_DRAM, FSIM_FLOOR_WORK, FSIM_FLOOR_SPECIAL, FSIM_FLOOR_ISSUE, FSIM_FLOOR_L2, FSIM_FLOOR_UNITS };

/* What a list of primitives makes sure of. */
typedef struct {
    const double *share_s; /* per primitive of the graph: of a contraction, its share of whatever kernel has it, of all
                              whose shares are known; 0: not known */
    const fsim_problem *p;
    double lanes;     /* of all SMs, a second */
    bool products;    /* it has a contraction: kernels with one may fold arithmetic and vectors into weights, apply a
                         factor of a row to results only, and read operands by other rules */
    bool arithmetic;  /* other primitives compute each point once or more */
    bool by_accesses; /* what is read and written also takes L2 and the issue of instructions */
} fsim_floor;

typedef struct {
    double s[FSIM_FLOOR_UNITS];
} fsim_unit_seconds;

/* Seconds of the launch that every kernel takes. */
double fsim_floor_launch(const fsim_problem *p);
/* For node[0, count) of p's graph. */
fsim_floor fsim_floor_of(const fsim_problem *p, const int *node, int count);
/* For kernels without a contraction, whatever else the graph has: their arithmetic and their accesses count. */
fsim_floor fsim_floor_of_plain(const fsim_problem *p);
/* May such a kernel have the primitive, and take what these say? */
bool fsim_floor_is_plain(const fsim_node *n);
/* Units that take so many bytes of so many elements, which a kernel reads or writes: but DRAM. */
fsim_unit_seconds fsim_floor_accesses(const fsim_floor *f, double bytes, double elems);
/* Finds f->share_s for node[0, count). masked[i]: node[i] may be in a chain that skips half of it. In a. */
void fsim_floor_find_shares(fsim_floor *f, const int *node, int count, const bool *masked, fsim_arena *a);
/* The least time of a contraction that must be computed: its share of its kernel's time in *work_s, and of its kernel's
 * launches, of which each holds at most so many contractions. masked: it may be in a chain that skips half of it. */
typedef struct {
    double work_s, launches;
} fsim_floor_product;
/* Has the graph a causal mask? */
bool fsim_floor_may_be_masked(const fsim_problem *p);
/* Of contraction `node`. */
fsim_floor_product fsim_floor_contraction(const fsim_floor *f, int node, bool masked);
/* Arithmetic of a primitive, but a contraction, at all of its points. */
fsim_unit_seconds fsim_floor_arithmetic(const fsim_floor *f, const fsim_node *n);
/* The tensor, all of which access x reads, is read from DRAM once. */
fsim_unit_seconds fsim_floor_read(const fsim_floor *f, const fsim_access *x);
/* The same of all of a tensor. */
fsim_unit_seconds fsim_floor_fetch(const fsim_floor *f, const fsim_tensor *t);
/* The tensor is written to DRAM once. */
fsim_unit_seconds fsim_floor_write(const fsim_floor *f, const fsim_tensor *t);
/* *sum += more. */
void fsim_floor_add(fsim_unit_seconds *sum, fsim_unit_seconds more);
/* The norm of all units. */
double fsim_floor_norm(const fsim_unit_seconds *sum);

#endif
