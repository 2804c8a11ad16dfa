/* SPDX-License-Identifier: Apache-2.0 */
/* predict.h: the pipeline from a graph and a GPU to priced plans. Start reading at fsim_predict in predict.c. */
#ifndef FUSESIM_PREDICT_H
#define FUSESIM_PREDICT_H

#include "plan/price/append.h"
#include "plan/price/arithmetic.h"
#include "plan/price/basis.h"
#include "plan/price/cause.h"
#include "plan/price/compare.h"
#include "plan/price/interval.h"
#include "plan/price/parallel.h"
#include "plan/price/refusals.h"
#include "plan/search/saved_ways.h"
#include "plan/search/search.h"
#include "plan/search/ways.h"

/* The inputs as the user named them, each word quoted for a shell, for commands that a report proposes; NULL: not
 * known. */
typedef struct {
    const char *workload, *hw;
    const char *const *set; /* of --set: "M=1" */
    int sets;
    const char *options;    /* what else changes the inputs: " --hw-set sms=64 --l2 warm"; or "" */
    const char *set_option; /* that gave `set`: --set or --dim */
} fsim_typed;

typedef struct {
    fsim_strategy strategy;
    fsim_regime regime;
    fsim_objective objective;
    bool warm, strict, no_recompute;
    bool brief;            /* only the plans of eager and of `strategy`, and what is proven of the latter, are wanted */
    bool as_read;          /* of this graph alone, without other forms of its derivatives */
    int64_t memory_limit;  /* most bytes that a plan may need; 0: no limit */
    double budget_cut;     /* 1 less torch.compile's activation_memory_budget; 0: it keeps what is fastest */
    int64_t search_memory; /* most bytes that the search may take; 0: the default */
    int64_t search_steps;  /* of work, that each search may take; 0: not given */
    double time_limit_s;   /* for the whole prediction; 0: not given. Without both, plan/search/budget.h says how far */
    double spent_s;        /* of time_limit_s, before the prediction begins: reading the workload */
    struct fsim_groups *groups; /* of the workload's graph, to share with other predictions of it (plan/price/groups.h);
                                   NULL: none */
    struct fsim_progress *progress;  /* shows how far the prediction is; NULL: nobody asks */
    volatile const int *interrupted; /* becomes non-zero to end the search with the best plan so far; NULL: never */
    const fsim_partition
        *user_plan;             /* the user's own plan, which is the one to report; NULL: report that of `strategy` */
    fsim_maker user_plan_maker; /* whose kernels it launches */
    bool user_plan_calls;       /* with library calls that the workload names */
    int top;                    /* how many of the best plans to list */
    bool pareto;                /* list the Pareto front of time and peak memory */
    fsim_replicas replicas;     /* gpus 0: one GPU is all */
    int compile_jobs; /* processes that compile at once, to report the cost of compilation; 0: do not report it */
    fsim_typed typed;
} fsim_options;

/* The words of users for the options warm, strict and no_recompute; the first is the default. */
extern const char *const fsim_l2_words[2], *const fsim_numerics_words[2], *const fsim_recompute_words[2];

/* What plans of the prediction take where they are launched in another way than options.regime; NaN: not known. */
typedef struct {
    double eager_s, chosen_s;
} fsim_launched;

/* A value of a symbol with which the plan fits the GPU's memory, where it does not now. */
typedef struct {
    const char *symbol; /* NULL: it fits, or none was found */
    int64_t value, now;
    fsim_sum bytes; /* needed with `value` */
} fsim_smaller;

/* One workload on one GPU. */
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    fsim_options options;
    fsim_plan plan[FSIM_PLAN_COUNT];           /* by strategy; fsim_planned says which exist */
    fsim_strategy chosen;                      /* the plan to report */
    fsim_basis basis;                          /* the keys of hw that its times rest on */
    fsim_arithmetic arithmetic;                /* dtypes that it computes in */
    fsim_append append;                        /* caches that the chosen plan copies */
    fsim_launched launched[FSIM_REGIME_COUNT]; /* eager and the chosen plan; not for KERNEL */
    fsim_proof proof;
    fsim_ways ways;               /* the forms of derivatives that the search chose from */
    bool interrupted;             /* the user ended the search */
    fsim_priced_refusal *refusal; /* of the chosen plan, largest saving first */
    int refusals, refusals_left;  /* refusals_left: pairs of kernels that were not looked at: there are too many */
    fsim_difference *loss;        /* the chosen plan compared with the optimum */
    int losses;
    fsim_plan *top, *front; /* the best plans, best first; the front, fastest first */
    int tops, fronts;
    fsim_smaller smaller;        /* set by who knows how to read the workload again */
    fsim_sum least_memory_bytes; /* lowest peak of all plans found, where none meets the limit; otherwise 0 */
} fsim_prediction;

/* Does p have a plan of s? */
static inline bool fsim_planned(const fsim_prediction *p, fsim_strategy s) { return p->plan[s].kernels > 0; }

/* Whose kernels p's plan of s launches. */
static inline fsim_maker fsim_maker_in(const fsim_prediction *p, fsim_strategy s)
{
    return s == FSIM_STRATEGY_FILE ? p->options.user_plan_maker : fsim_maker_of(s);
}

/* The problem that the searches solve, for these options, without a time limit. In a. */
fsim_problem fsim_problem_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a);
/* The same, with an empty store (plan/price/price.h) that outlives it. */
fsim_problem fsim_problem_with(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options,
                               struct fsim_store *store);

/* The time limit of the options begins now. */
void fsim_start_clock(fsim_problem *p, const fsim_options *options);

/* What the backward pass of the reported plan needs of the forward pass; where the kernels are fusesim's own, with the
 * other ways to come by it, priced. Returns their number. In a. */
int fsim_saved_with_ways(const fsim_prediction *p, fsim_arena *a, fsim_saved_value **out);

/* Can g be planned on hw? False after an error in d: nothing to run, a primitive whose kernel fits no SM, a fuse:
 * that is no legal kernel. */
bool fsim_plannable(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_diag *d, fsim_arena *a);

typedef struct {
    const fsim_graph *graph; /* of the best plan, whose derivatives may have other forms than those that were read */
    int a, b;                /* its primitives */
    bool legal, together; /* legal: can they share a kernel, with the primitives between them; together: do they in the
                             optimal plan */
    int again;   /* where together: which of them their kernel computes again, -1: neither, or they share one in which
                    both are at home */
    bool call;   /* where together: a call of a library has both, not a kernel of ours */
    bool others; /* legal with others besides those between, which connect them; why: what the two alone,
                    and those between, break */
    fsim_refusal why; /* where not legal */
    bool barred;      /* why: primitives between them can't join, because of this: */
    fsim_refusal joined;
    int between;       /* primitives that must join the kernel so that it is connected and convex */
    bool forced_found; /* a plan with both in one kernel was found */
    int forced_again;  /* not legal: which of them that plan computes in a kernel without the other, too; -1: neither */
    double best_s, forced_s;                        /* the optimal plan; the best plan found with both in one kernel */
    fsim_sum best_bytes, forced_bytes, apart_bytes; /* DRAM bytes of each */
    double apart_s;  /* the best plan found with them in two kernels; NaN where none was found */
    bool exchange;   /* one reads a result of the other */
    double saving_s; /* not legal: an upper bound of what one kernel could save, from the data they exchange */
    fsim_sum saving_bytes;
    bool other_found;                   /* the best plan with the opposite choice is known */
    fsim_interval other_likely;         /* its seconds over those of the optimum, 80 % interval */
    fsim_cause cause;                   /* what becomes slower in the plan where they are not as in the optimum */
    const fsim_priced_refusal *kernels; /* legal, and in two kernels of the best plan that exchange a tensor: why these,
                                           with all that is in them, are not one; otherwise NULL */
} fsim_explanation;

/* Can primitives a and b share a kernel, and at what cost? */
fsim_explanation fsim_explain(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, int a, int b,
                              fsim_arena *arena);

/* Predicts a workload on a GPU. In a. */
fsim_prediction fsim_predict(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a);

#endif
