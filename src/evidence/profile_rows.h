/* SPDX-License-Identifier: Apache-2.0 */
/* profile_rows.h: a profile as rows of a measurements file. A row is the median over the repetitions of a step.
 *
 * With a plan there are three kinds of rows. One for each kernel that launches were matched to (launch `kernel`; its
 * column `kernel` names the primitives); where the whole step is not this plan, only for kernels whose sizes the
 * profile confirms. One for the whole step where nearly all of it was matched (launch `kernel`: the sum of the
 * kernels). One from the first kernel's start to the last one's end where the profiler has start times (launch
 * `stream`, or `graph`). Without a plan there is a row for each distinct kernel, with an empty workload and the GPU
 * kernel's name in `kernel`: such a list is for people, and readers of measurements files skip it.
 *
 * l2 is `cold` where the profiler flushes caches before each kernel (profile.def), else `unknown`. */
#ifndef FUSESIM_EVIDENCE_PROFILE_ROWS_H
#define FUSESIM_EVIDENCE_PROFILE_ROWS_H

#include "evidence/match.h"
#include "evidence/rows.h"

typedef struct {
    int kernel;             /* of the plan */
    const char *primitives; /* "h+g" */
    const char *launched;   /* short names of the GPU's kernels: "ampere_sgemm_128x64_tn, splitKreduce_kernel" */
    int launches;           /* in a step */
    double time_s, dram_read_bytes, dram_write_bytes; /* medians over the steps; NaN where not measured */
    double predicted_s;                               /* without launch overhead */
    bool sized;                                       /* the profile has sizes, and they agree with the kernel's */
} fsim_matched;

/* Launches of one kernel that are in no row, for one reason. */
typedef struct {
    const char *name, *operator, * why; /* operator: NULL where it is unknown */
    int calls;
    double time_s; /* of all launches */
} fsim_left;

typedef struct {
    const fsim_profile *profile;
    const fsim_plan *plan; /* NULL: no matching */
    fsim_steps steps;
    fsim_matched *matched; /* in the plan's order; without a plan: every kernel, longest first, with kernel -1 */
    int matches;
    fsim_left *left; /* longest first */
    int lefts;
    const char **missing; /* primitives of the plan's kernels without launches */
    int missings;
    double total_s;           /* of all launches in the file */
    double step_s, matched_s; /* medians: time of the kernels of a step; of those that were matched */
    double span_s;            /* from a step's first start to its last end; NaN where unknown */
    double predicted_s;       /* of the plan's kernels; NaN */
    int withheld;          /* matches by name and order alone, without a row because the whole step is not this plan */
    const char *not_whole; /* why there is no row for the whole step; NULL: there is one */
    fsim_measured *row;
    int rows;
} fsim_import;

typedef struct {
    const char *hw, *workload, *set; /* as in the rows; hw "" where it is unknown */
    fsim_strategy strategy;
} fsim_import_as;

/* The rows of a profile. g and plan NULL: a list of kernels. In a; p must outlive it. */
fsim_import fsim_import_of(const fsim_profile *p, const fsim_graph *g, const fsim_plan *plan, const fsim_import_as *as,
                           fsim_arena *a);

#endif
