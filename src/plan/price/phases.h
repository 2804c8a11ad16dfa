/* SPDX-License-Identifier: Apache-2.0 */
/* phases.h: a plan of a workload with gradients by phase: when each kernel runs, what it takes, and what the forward
 * pass leaves in memory for the backward pass. */
#ifndef FUSESIM_PLAN_PRICE_PHASES_H
#define FUSESIM_PLAN_PRICE_PHASES_H

#include "plan/price/plan.h"

/* The first phase of what is at home in the part: a kernel that computes a loss and a gradient from it is a part of the
 * forward pass. What needs the gradient of an output is a part of the backward pass in any case. */
fsim_phase fsim_phase_of(const fsim_graph *g, const fsim_part *part);

/* Its name; NULL where the workload has no gradients. */
const char *fsim_phase_name_of(const fsim_graph *g, const fsim_part *part);

/* Fills phase_s, saved_bytes and saved_input_bytes of a plan that has its kernels. a is for scratch. */
void fsim_sum_phases(const fsim_graph *g, fsim_plan *plan, fsim_arena *a);

/* What the kernels of a phase take together. */
typedef struct {
    int kernels;
    double time_s;
    fsim_sum read_bytes, write_bytes; /* DRAM */
} fsim_phase_use;
/* Those of one phase. */
fsim_phase_use fsim_phase_use_of(const fsim_graph *g, const fsim_plan *plan, fsim_phase phase);

/* Seconds from one update of the weights to the next: as many passes as there are micro-batches, and the update. */
double fsim_step_seconds(const fsim_graph *g, const fsim_plan *plan);

/* How the backward pass comes by a value of the forward pass. */
typedef enum {
    FSIM_KEEP,        /* a kernel of the forward pass stores it */
    FSIM_REDUCED,     /* it stores it in fewer bits, which the backward pass reads */
    FSIM_RECOMPUTE,   /* a kernel of the backward pass computes it again */
    FSIM_FROM_RESULT, /* the derivative is computed from the result instead */
    FSIM_FROM_BITS,   /* it is computed from a bit an element */
    FSIM_WAYS
} fsim_way;
extern const char *const fsim_way_names[FSIM_WAYS]; /* as in JSON: "keep", ... */

/* Bytes that are in memory for the backward pass only, where it is kept: an output is there in any case. */
static inline int64_t fsim_held_bytes(const fsim_tensor *t) { return t->output ? 0 : t->bytes; }

typedef struct {
    int tensor;
    fsim_way way;
    int64_t bytes; /* held in memory from one pass to the other */
    int kernel;    /* of the backward pass, the first that reads it or computes it again */
} fsim_saved;

/* The primitive that makes the tensor's value in fewer bits (--save-dtype); -1: none. */
int fsim_reducer_of(const fsim_graph *g, int tensor);
/* Does the primitive only round a value to fewer bits for gradients, or give the rounded one its own dtype back? */
static inline bool fsim_is_reducer(const fsim_graph *g, int node)
{
    const fsim_node *n = &g->node[node];
    return g->tensor[n->result[0]].reduces >= 0 || (n->args == 1 && g->tensor[n->arg[0].tensor].reduces >= 0);
}

/* Why the value is not saved in fewer bits, though --save-dtype asks for them: a reason that lies in the value, not in
 * the plan; NULL: there is none. */
const char *fsim_why_not_reduced(const fsim_graph *g, const fsim_saved *value);

/* The values of the forward pass that kernels of the backward pass need, and how they come by them: kept ones first,
 * then by size. Returns their number. In a. */
int fsim_saved_of(const fsim_graph *g, const fsim_plan *plan, fsim_arena *a, fsim_saved **out);

#endif
