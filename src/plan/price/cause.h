/* SPDX-License-Identifier: Apache-2.0 */
/* cause.h: why some kernels take longer than others that compute the same: the unit whose time grew most, and the
 * reason why it grew. */
#ifndef FUSESIM_PLAN_PRICE_CAUSE_H
#define FUSESIM_PLAN_PRICE_CAUSE_H

#include "plan/price/plan.h"

typedef enum {
    FSIM_GROWN_NOTHING, /* no unit takes longer */
    FSIM_GROWN_UNEXPLAINED,
    FSIM_GROWN_LAUNCHES,    /* from, to: launches */
    FSIM_GROWN_RECOMPUTING, /* to: how many times as often `node`, the last of `nodes`, is computed */
    FSIM_GROWN_PROLOGUE,    /* `node` is computed for every tile that loads it */
    FSIM_GROWN_STORING,     /* the result of `node` goes through memory; to: its bytes */
    FSIM_GROWN_SPILLS,      /* to: bytes of registers spilled */
    FSIM_GROWN_PASSES,      /* from, to: times that a row is read */
    FSIM_GROWN_GENERATED,   /* a generated contraction replaces the vendor's library, which has no such kernel */
    FSIM_GROWN_BLOCKS,      /* from, to: blocks */
    FSIM_GROWN_OCCUPANCY,   /* from, to: share of threads; registers_from, registers_to */
    FSIM_GROWN_COALESCING,  /* from, to: share of requested bytes that are used */
    FSIM_GROWN_FETCHING     /* from, to: bytes read from DRAM */
} fsim_growth;

typedef struct {
    fsim_growth growth;
    fsim_unit unit;           /* whose time grew most */
    double before_s, after_s; /* the time of that unit */
    int node, nodes;          /* the primitive, or -1; how many primitives it stands for */
    double from, to;
    int registers_from, registers_to;
} fsim_cause;

/* Compares the kernels before[0, befores) with after[0, afters). */
fsim_cause fsim_cause_of(const fsim_graph *g, const fsim_kernel *const *before, int befores,
                         const fsim_kernel *const *after, int afters);
/* "compute takes 103 us instead of 1.4 us: 'e16' is computed 4096 times as often". In a. */
const char *fsim_cause_text(const fsim_graph *g, const fsim_cause *c, fsim_arena *a);

#endif
