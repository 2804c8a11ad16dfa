/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h: a plan of a training step on several GPUs of one node, each with a batch of its own (data parallelism):
 * what they exchange, when, and what each keeps in memory. Nothing of it changes the plan. */
#ifndef FUSESIM_PLAN_PRICE_PARALLEL_H
#define FUSESIM_PLAN_PRICE_PARALLEL_H

#include "plan/price/plan.h"

enum { FSIM_MOST_GPUS = 72, FSIM_ZERO_STAGES = 4 };

/* How many GPUs, 1 to FSIM_MOST_GPUS, and what they share out: 0 nothing, 1 the optimizer's state, 2 gradients, too,
 * 3 weights, too. */
typedef struct {
    int gpus, zero;
} fsim_replicas;

typedef enum {
    FSIM_COLLECTIVE_ALL_REDUCE,
    FSIM_COLLECTIVE_REDUCE_SCATTER,
    FSIM_COLLECTIVE_ALL_GATHER,
    FSIM_COLLECTIVES
} fsim_collective;
extern const char *const fsim_collective_names[FSIM_COLLECTIVES]; /* as in JSON: "all_reduce", ... */

/* One collective of the last micro-batch, or behind it. */
typedef struct {
    fsim_collective kind;
    fsim_phase phase;
    int tensors, *tensor;           /* gradients, or weights */
    int64_t bytes;                  /* of the whole tensors */
    double ready_s, start_s, end_s; /* from the start of the last micro-batch */
} fsim_exchange;

typedef struct {
    fsim_exchange *exchange;
    int exchanges;
    /* of a step of all micro-batches */
    double step_s, one_step_s;                          /* one: on one GPU */
    double communication_s, exposed_s;                  /* exposed: while no kernel runs */
    double update_s;                                    /* of the optimizer */
    int64_t calls[FSIM_COLLECTIVES];                    /* of each kind */
    fsim_sum sent_bytes[FSIM_COLLECTIVES];              /* by each GPU */
    fsim_sum weight_bytes, gradient_bytes, state_bytes; /* that each GPU keeps of the model */
    fsim_sum peak_bytes;                                /* most that each GPU holds at once, without workspace */
} fsim_parallel;

/* The plan must have its kernels. hw must have link_bandwidth, where there is more than one GPU. In a. */
fsim_parallel fsim_parallel_of(const fsim_graph *g, const fsim_plan *plan, const fsim_hw *hw, fsim_replicas how,
                               fsim_arena *a);
/* Is there a weight with a gradient, for GPUs to add up? */
bool fsim_has_weight_gradients(const fsim_graph *g);

#endif
