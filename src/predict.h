/* SPDX-License-Identifier: Apache-2.0 */
/* predict.h: the pipeline from a graph and a GPU to priced plans. Start reading at fsim_predict in predict.c. */
#ifndef FUSESIM_PREDICT_H
#define FUSESIM_PREDICT_H

#include "plan/price/basis.h"
#include "plan/price/cause.h"
#include "plan/price/compare.h"
#include "plan/search/search.h"

typedef struct {
    fsim_strategy strategy;
    fsim_regime regime;
    fsim_objective objective;
    bool warm, strict, no_recompute;
    int64_t memory_limit; /* bytes that a plan may need at its peak; 0: any */
    double time_limit_s;
    volatile const int *interrupted; /* not 0: end the search with the best so far; NULL */
    const fsim_partition *user_plan; /* the plan to show; NULL: that of `strategy` */
    fsim_maker user_plan_maker;      /* whose kernels it has */
    int top;                         /* how many of the best plans are listed */
    bool pareto;                     /* list the front of time against peak memory */
    int compile_jobs;                /* processes that compile at once: report what compilation costs; 0: don't */
} fsim_options;

/* What the options warm, strict and no_recompute are called by users; the first is the default. */
extern const char *const fsim_l2_words[2], *const fsim_numerics_words[2], *const fsim_recompute_words[2];

/* Two primitives that exchange a tensor and are in different kernels of the plan. */
typedef struct {
    fsim_refusal why;
    double saving_s; /* what fusing would save, at most where it is illegal; negative where it costs */
    fsim_sum saving_bytes;
    fsim_cause cause; /* legal: what makes one kernel dearer */
} fsim_priced_refusal;

/* One workload on one GPU. */
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    fsim_options options;
    fsim_plan plan[FSIM_PLAN_COUNT]; /* by strategy; see fsim_planned for which of them there are */
    fsim_strategy chosen;            /* the plan to show */
    fsim_basis basis;                /* the keys of hw that its times rest on */
    fsim_proof proof;
    bool interrupted;             /* the user ended the search */
    fsim_priced_refusal *refusal; /* of the chosen plan, the largest saving first */
    int refusals;
    fsim_difference *loss; /* the chosen plan against the optimum */
    int losses;
    fsim_plan *top, *front; /* the best plans, best first; the front, fastest first */
    int tops, fronts;
    fsim_sum least_memory_bytes; /* that any plan was found to need, where none meets the limit; else 0 */
} fsim_prediction;

/* Has p a plan of s? */
static inline bool fsim_planned(const fsim_prediction *p, fsim_strategy s) { return p->plan[s].kernels > 0; }

/* Whose kernels p's plan of s has. */
static inline fsim_maker fsim_maker_in(const fsim_prediction *p, fsim_strategy s)
{
    return s == FSIM_STRATEGY_FILE ? p->options.user_plan_maker : fsim_maker_of(s);
}

/* What the searches need, from options. Lives in a. */
fsim_problem fsim_problem_of(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a);

/* Can g be planned on hw at all? False after an error in d: nothing to run, a primitive whose kernel does not fit an
 * SM, a fuse: that no kernel can honour. */
bool fsim_plannable(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_diag *d, fsim_arena *a);

typedef struct {
    int a, b;             /* primitives */
    bool legal, together; /* may these two share a kernel (with what lies between them); does the optimal plan do so */
    fsim_refusal why;     /* when not legal */
    int between;          /* primitives that had to join so that the set is connected and convex */
    bool forced_found;    /* a plan with the two together exists */
    double best_s, forced_s;                        /* the optimal plan; the best plan found with the two together */
    fsim_sum best_bytes, forced_bytes, apart_bytes; /* DRAM bytes of each */
    double apart_s;                                 /* the best plan found with the two apart; NaN where none */
    bool exchange;                                  /* one reads what the other makes */
    double saving_s; /* not legal: what a kernel for both could save at most, by what they exchange */
    fsim_sum saving_bytes;
    fsim_cause cause; /* what grows in the plan that has it the other way, where the two are */
} fsim_explanation;

/* May primitives a and b share a kernel, and what would it cost? */
fsim_explanation fsim_explain(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, int a, int b,
                              fsim_arena *arena);

/* In arena a. */
fsim_prediction fsim_predict(const fsim_graph *g, const fsim_hw *hw, const fsim_options *options, fsim_arena *a);

#endif
