/* SPDX-License-Identifier: Apache-2.0 */
/* labels.h: the search with the real contents of L2. A label is a partial plan: a state of the frontier, what L2 holds
 * there, and what was spent. Included only by src/plan/search/{residency,unstored,excess,stationary,layers}.c. */
#ifndef FUSESIM_PLAN_SEARCH_LABELS_H
#define FUSESIM_PLAN_SEARCH_LABELS_H

#include "plan/search/frontier.h"
#include "plan/search/states.h"

/* A tensor in L2. The write of a result to DRAM is not charged while the result may be dropped unread; `by` is then
 * the kernel that computed it. */
typedef struct {
    int tensor, root; /* root: of kernel `by` */
    double age;       /* bytes that entered L2 since its last use, itself included */
    fsim_variant *by;
    uint64_t hit, absorbed,
        bit; /* that kernel's hits and absorbed writes as charged so far; the bit of this result among its writes */
} resident;

typedef struct {
    fsim_sum spent;
    int parent, state;
    const step *by;
    fsim_bits copies;
    int first, count;   /* its tensors in L2, ascending */
    uint64_t in_l2;     /* a bit for each of them that L2 still has, by the number modulo 64 */
    fsim_bits unstored; /* what its kernels did not store, of what copies may read: bits as in front.copy_reads */
    bool unreal;        /* some copy has read what no kernel had stored: the plan costs more, or is none */
    bool dominated;
} label;

/* The kernel of a step with copies that do not pay by relaxed costs. */
typedef struct fsim_more_copies {
    fsim_variant **kernel;
    int count;
    bool cut; /* some were not tried */
} fsim_more_copies;

/* What tells most pairs of labels of a front apart, without a look at them. */
typedef struct {
    int64_t spent;           /* as in label, at most INT64_MAX */
    uint64_t in_l2, dropped; /* dropped: a bit for each result that the state dropped, by its place modulo 64 */
    int state, label;        /* label -1: taken from the front */
} label_key;

/* The labels of a front, oldest first. */
typedef struct {
    label_key *key;
    fsim_sum *promise; /* of each: the least total that it may lead to, as known after so many expansions: */
    int64_t expansions;
    int count, room, promises;
    int worst; /* of those the one that promises least, the newest of several; -1: not known */
} label_front;

typedef struct l2_search {
    fsim_frontier *f;
    const fsim_budget *budget;
    fsim_arena *a;
    label *label;
    int labels, label_room;
    resident *resident;
    int residents, resident_room;
    label_front *front; /* per front */
    int rooms;
    fsim_sum limit, lost;
    int best;     /* the label of the best plan below limit; -1: none was found */
    bool in_time; /* the budget did not end it */
    int most;     /* labels kept for a state */
    double capacity;
    resident *now; /* contents of L2 of the label being created */
    int count, room;
    bool unreal; /* and of it, as in label */
} l2_search;

/* Starts where nothing has run. */
void fsim_start_label(l2_search *w);
/* Starts at a front in which everything was stored, with contents of L2 that are at least as good as any, and with the
 * least relaxed cost to the end as credit. */
void fsim_start_ideal(l2_search *w, int front);
/* Continues all labels with at least `start` primitives run until the end. */
void fsim_search_labels(l2_search *w, int start);

/* unstored.c */

/* What the kernels up to a label in state `to` did not store of what copies may read, where `by` is the last one,
 * behind label `parent`. */
fsim_bits fsim_unstored_after(l2_search *w, int parent, const step *by, int to);
/* Would the clones read what the kernels up to a label did not store? Only a search that does not know who made what
 * takes that for something in memory. */
bool fsim_reads_unstored(const l2_search *w, const label *at, const step *by, const fsim_bits *clones);

/* stationary.c */

/* Is y state x, `by` places later? */
bool fsim_same_state_later(const state *x, const state *y, int by);
/* Are the labels at border k + 1 those at border k, a period later, and all `more` costlier? *pairs: the labels at k,
 * each with its counterpart at k + 1. Returns the number of pairs; -1 where they are not equal. In a. */
int fsim_same_labels(const l2_search *w, int k, fsim_sum more, int **pairs, fsim_arena *a);
/* Do the same fronts and states cross border k as border k + 1, a period later, at relaxed costs to the end that are
 * *less lower there? */
bool fsim_same_bounds(fsim_frontier *f, int k, fsim_sum *less);

#endif
