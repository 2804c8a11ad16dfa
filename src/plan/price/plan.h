/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: a partition of a graph into kernels, in launch order, priced. */
#ifndef FUSESIM_PLAN_PRICE_PLAN_H
#define FUSESIM_PLAN_PRICE_PLAN_H

#include "base/jobs.h"
#include "base/sum.h"
#include "vendor/vendor.h"

typedef enum { FSIM_MINIMISE_TIME, FSIM_MINIMISE_BYTES, FSIM_MINIMISE_MEMORY } fsim_objective;

/* A kernel's time as whole ticks of FSIM_TICK_S. */
static inline fsim_sum fsim_ticks(double seconds) { return fsim_sum_term(seconds / FSIM_TICK_S); }

/* What all plans of one prediction share. */
typedef struct fsim_problem {
    const fsim_graph *graph;
    const fsim_hw *hw;
    fsim_limits limits;
    fsim_regime regime;
    fsim_objective objective;
    bool warm, recompute;
    int64_t memory_limit;             /* bytes; 0: none */
    bool each_layer;                  /* search every layer by itself, also where it is equal to others */
    bool lean;                        /* launch kernels in the order with the lowest peak memory */
    bool listed;                      /* launch kernels in the order in which the partition lists them, if it is one */
    bool roughly;                     /* with lean: in the better of two orders by rule, without a search */
    int64_t search_steps;             /* steps of fsim_work that each search may take; INT64_MAX: any number */
    double until_s;                   /* by when all must have ended, by fsim_clock_s; INFINITY: any time */
    bool shares_time;                 /* parts of a search have parts of that time; else they end by steps alone */
    int64_t search_memory;            /* bytes that the search may take; 0: the default (plan/search/budget.h) */
    size_t held_bytes;                /* that were held before the first of the searches that share search_memory; 0:
                                         each search has as much */
    const struct fsim_rivals *rivals; /* plans that are made only if a search asks for them; NULL: there are none */
    struct fsim_store *store;         /* cache of priced sets, store.c */
    struct fsim_groups *groups;       /* groups that problems with this graph share (plan/price/groups.h); NULL */
    struct fsim_progress *progress;   /* plan/price/progress.h; NULL: nobody asks */
    struct fsim_worth *worth;         /* where a search says what primitives are worth; NULL: nobody asks */
    volatile const int *interrupted;  /* set by a signal handler: end the search with the best plan so far */
} fsim_problem;

/* What primitives of a graph are worth, in the objective's unit: all kernels of a plan together cost at least what
 * their own primitives are worth, less `shared`. */
typedef struct fsim_told_worth {
    fsim_sum *of, shared; /* of: per primitive */
    const struct fsim_told_worth *next;
} fsim_told_worth;

/* Who asks for that, and all that was told: each by itself is so. */
typedef struct fsim_worth {
    const fsim_graph *graph;
    const bool *nothing;                /* per primitive: it may not be worth more than nothing */
    fsim_arena *a;                      /* of what is told */
    const fsim_told_worth *first_told;  /* NULL: nothing yet */
    const struct fsim_call_price *call; /* calls that may take the place of their kernels (calls.h); views of theirs */
    int calls;                          /* are worth nothing. None: 0 */
    fsim_sum bound;                     /* of all plans, with such calls and without; 0: none is known */
} fsim_worth;

/* Groups of primitives. A primitive has its home in one group; it is a clone in the other groups that list it. */
typedef struct {
    int count;
    int *node; /* ascending */
    bool *clone;
} fsim_part;
typedef struct {
    int parts;
    fsim_part *part;
} fsim_partition;

typedef struct {
    const char *strategy;
    const fsim_graph *graph; /* that it is a plan of: strategies may differ in the forms of derivatives */
    int kernels;
    fsim_kernel *kernel; /* launch order */
    struct fsim_candidate *
        *candidate;     /* per kernel: its set in the problem's store (price.h); NULL where clones mark it */
    fsim_residency *l2; /* per kernel: which reads it finds in L2, and which results stay there */
    const char **rule;  /* per kernel: the pattern rule that created it; or NULL */
    double time_s;      /* sum of the kernels */
    fsim_sum objective; /* what the search minimises, in femtoseconds or bytes */
    fsim_sum dram_read_bytes, dram_write_bytes, peak_memory_bytes, eliminated_bytes;
    double l2_bytes, flops;
    fsim_partition partition;
    const fsim_partition *priced; /* where library calls were joined (sdpa.h): the partition before; NULL: the same */
    /* of a workload with gradients (phases.h) */
    double phase_s[FSIM_PHASES];             /* time of its kernels by phase */
    fsim_sum saved_bytes, saved_input_bytes; /* that forward leaves in memory for backward: what it made, outputs
                                                left out; inputs and weights */
    const bool *kept; /* by tensor: what PyTorch keeps, whatever its kernels are priced to read; NULL: what they read */
} fsim_plan;

/* The partition whose kernels fsim_price knows. */
static inline const fsim_partition *fsim_priced_partition(const fsim_plan *plan)
{
    return plan->priced ? plan->priced : &plan->partition;
}

/* What ended a search before it had a proof. Only steps end it at the same place in every run. */
typedef enum {
    FSIM_SEARCH_NOT_STOPPED,
    FSIM_SEARCH_STOPPED_BY_STEPS,
    FSIM_SEARCH_STOPPED_BY_CLOCK,
    FSIM_SEARCH_STOPPED_BY_MEMORY
} fsim_search_end;

/* A stretch of primitives in which a plan without proof might be improved, and by how much of its objective at most. */
typedef struct {
    int first, last;
    double gap;
} fsim_open_part;
enum { FSIM_MOST_OPEN = 3 };

typedef struct {
    bool proven;
    double lower_bound;                /* of the objective: seconds or bytes */
    double before_s;                   /* of that, what kernels before the barrier take at least; 0: not known */
    int64_t groups_considered, states; /* sets tried as kernels; states of the dynamic programming */
    int64_t steps;                     /* of work that the search took */
    double search_s;                   /* these steps at their usual rate */
    fsim_search_end end;
    fsim_open_part open[FSIM_MOST_OPEN]; /* the widest gaps first */
    int opens;
} fsim_proof;

#endif
