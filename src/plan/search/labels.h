/* SPDX-License-Identifier: Apache-2.0 */
/* labels.h: the search with the real contents of L2. A label is a partial plan: a state of the frontier, what L2 holds
 * there, and what was spent. Included only by src/plan/search/{residency,excess,stationary,layers}.c. */
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
    int parent, next; /* next: of the same front */
    int state;
    const step *by;
    fsim_bits copies;
    int first, count; /* its tensors in L2, ascending */
    bool dominated;
} label;

typedef struct {
    fsim_frontier *f;
    const fsim_budget *budget;
    fsim_arena *a;
    label *label;
    int labels, label_room;
    resident *resident;
    int residents, resident_room;
    int *of_front, *many; /* per front: 1 + first label; number of labels */
    int rooms;
    fsim_sum limit, lost;
    int most; /* labels kept for a state */
    double capacity;
    resident *now; /* contents of L2 of the label being created */
    int count, room;
} l2_search;

/* Starts where nothing has run. */
void fsim_start_label(l2_search *w);
/* Starts at a front in which everything was stored, with contents of L2 that are at least as good as any, and with the
 * least relaxed cost to the end as credit. */
void fsim_start_ideal(l2_search *w, int front);
/* Continues all labels with at least `start` primitives run until the end. The best label of the last state; -1 where
 * none costs less than w->limit. *in_time is false where the budget ended. */
int fsim_search_labels(l2_search *w, int start, bool *in_time);

#endif
