/* SPDX-License-Identifier: Apache-2.0 */
/* price.h: the one cost function: prices a partition as a plan. Groups and kernels are kept in the problem's store,
 * so that a search computes each once. */
#ifndef FUSESIM_PLAN_PRICE_PRICE_H
#define FUSESIM_PLAN_PRICE_PRICE_H

#include "plan/price/kept_maps.h"
#include "plan/price/plan.h"

/* An empty store. Freed with a at the latest. */
struct fsim_store *fsim_store_new(fsim_arena *a);
/* The same, for a problem that prices a few sets: none is compared with the others, to take its prices where the two
 * are alike. */
struct fsim_store *fsim_store_of_few(fsim_arena *a);
/* The same as the first, for another problem with p's graph: what was found out about the graph is used again. p's
 * store must outlive it. */
struct fsim_store *fsim_store_beside(const fsim_problem *p, fsim_arena *a);
/* Empties the store, also for another graph. Candidates, kernels and groups from it must not be used afterwards. */
void fsim_store_clear(struct fsim_store *s);
/* The same for the same graph, where it holds more than `most` candidates, for searches that visit too many to keep. */
void fsim_store_trim(fsim_problem *p, int most);
/* The problem's limits, with the store's memory of what is between contractions. */
fsim_limits fsim_limits_of(const fsim_problem *p);
/* What a store begins with. */
typedef struct {
    int64_t steps;
} fsim_worked;
/* Work done so far, in steps of about a third of a microsecond. --search-steps counts them, so that a search ends at
 * the same place on every machine. */
static inline int64_t fsim_work(const fsim_problem *p) { return ((const fsim_worked *)p->store)->steps; }
/* Adds so many steps to fsim_work. */
static inline void fsim_add_work(fsim_problem *p, int64_t steps) { ((fsim_worked *)p->store)->steps += steps; }

/* A set of primitives as one kernel. Which kernel depends on the results that it stores and on what L2 holds. */
typedef struct fsim_candidate {
    bool legal;
    fsim_refusal why;
    const fsim_group *group;     /* NULL where it is not legal */
    struct priced *kernel;       /* its prices, one for each residency */
    struct fsim_candidate *like; /* a set that is the same to prices (alike.h), and has them; NULL */
    fsim_call_lead *lead;        /* see fsim_call_lead_for; NULL: not known */
    signed char loses;           /* fsim_call_loses_for: 1, -1 where not; 0: not known */
} fsim_candidate;

/* Copies what o points to into a; lists of maps into a table that lives as long. */
void fsim_group_keep(fsim_arena *a, fsim_kept_maps *maps, fsim_group *o);

/* The set node[0, count) (ascending) that stores the results flagged in stored; from the store, never NULL. `legal`
 * says that it can be one kernel; whether it is convex and connected is not checked. */
fsim_candidate *fsim_candidate_of(fsim_problem *p, const int *node, int count, const bool *stored);
/* The same for who wants legality and prices alone: the primitives and tensors of the group may be those of a set that
 * is alike (alike.h). */
fsim_candidate *fsim_candidate_like(fsim_problem *p, const int *node, int count, const bool *stored);
/* Its kernel where its reads hit L2 as hit[] says and its results stay there as absorbed[] says; from the store.
 * NULL where no configuration fits the device. */
const fsim_kernel *fsim_kernel_for(fsim_problem *p, fsim_candidate *c, const bool *hit, const bool *absorbed);
/* Whether its kernel is the vendor's call, and how that compares with ours (vendor.h); from the store. */
const fsim_call_lead *fsim_call_lead_for(fsim_problem *p, fsim_candidate *c);
/* Is the candidate a call that loses against a kernel of ours, by bytes where these are minimised
 * (fsim_call_may_lose)? */
bool fsim_call_loses_for(fsim_problem *p, fsim_candidate *c);
/* What `maker` launches for the set's kernel (fsim_framework_kernel), which must fit the device. Its inputs and outputs
 * are in a or the store. */
fsim_kernel fsim_kernel_launched_by(fsim_problem *p, fsim_maker maker, fsim_candidate *c, const fsim_residency *l2,
                                    fsim_arena *a);
/* The set as a kernel on its own: stores what primitives outside read, with nothing resident in L2. NULL where it
 * can't be one. */
const fsim_kernel *fsim_kernel_alone(fsim_problem *p, const int *node, int count, fsim_arena *a);
/* fsim_contraction_alone_s of primitive `node`; from the store. */
double fsim_contraction_alone_for(const fsim_problem *p, int node);
/* Its share of what kernels that hold it alone, or with others that read the same, take at least: in each of them the
 * shares add up to no more than that. 0: not known, since there are too many others. */
double fsim_contraction_beside_for(const fsim_problem *p, int node);
/* The same of fsim_contraction_generated_s. */
double fsim_contraction_generated_for(const fsim_problem *p, int node);
/* Femtoseconds, or DRAM bytes. */
fsim_sum fsim_objective_of(const fsim_problem *p, const fsim_kernel *k);

/* Prices a partition (part[i].node ascending; clones are found here). Launch order: of the groups whose inputs
 * exist, the one whose last primitive has the lowest number. A primitive's home is the first group in this order
 * that contains it. False with *why for an illegal partition: a group that is no kernel, a cycle, a clone that
 * nobody reads, a group that nobody needs. In a. */
bool fsim_price(fsim_problem *p, const fsim_partition *partition, fsim_arena *a, fsim_plan *out, fsim_refusal *why);

/* Does it compute what another part of its plan computes too? Its kernel then costs something else than that of the
 * same primitives where they are computed once. */
bool fsim_computes_again(const fsim_part *part);
/* Adds up what the kernels of a plan take and move, after some were priced anew. Scratch in a. */
void fsim_add_up_plan(const fsim_problem *p, fsim_plan *plan, fsim_arena *a);

/* Compares two ints, for qsort and bsearch over lists of primitives. */
int fsim_by_int(const void *x, const void *y);

/* May kernels other than its home compute this primitive again? Cheap primitives may be, if their readers are within
 * FSIM_CLONE_REACH primitives. The clones of a kernel are at most as far below the first primitive that is at home
 * there. */
enum { FSIM_CLONE_REACH = 64 };
/* The same for one primitive, also where p->recompute is off. */
bool fsim_may_clone(const fsim_problem *p, int node);

/* Can a run find the tensor in L2 at all? It can be no larger than the effective capacity. */
bool fsim_may_reside(const fsim_problem *p, int tensor);

#endif
