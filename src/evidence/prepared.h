/* SPDX-License-Identifier: Apache-2.0 */
/* prepared.h: measured rows with their graphs and plans, to be priced many times with different scalars of the GPU. */
#ifndef FUSESIM_EVIDENCE_PREPARED_H
#define FUSESIM_EVIDENCE_PREPARED_H

#include "evidence/evaluate.h"

typedef struct {
    const fsim_measured *row;
    const fsim_graph *graph;
    fsim_maker maker;
    fsim_work_class class;
    bool tensor; /* its contractions, if any, run on tensor units */
    int kernels;
    fsim_group *group;
    fsim_residency *l2;
} fsim_prepared;

/* Row i of b; without a graph where it has none (fsim_bench_refuse reports why). In a. */
fsim_prepared fsim_prepare(const fsim_bench *b, int i, fsim_arena *a);
/* The row's time on hw. The plan stays the same: hw may have other rates and efficiencies than the GPU that it was
 * made for, but the same capacities. */
double fsim_price_again(const fsim_prepared *p, const fsim_hw *hw, fsim_arena *scratch);

#endif
