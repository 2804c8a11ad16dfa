/* SPDX-License-Identifier: Apache-2.0 */
/* profile_rows.h: a profile as rows of a measurements file. Repetitions of a step are reduced to the median.
 *
 * With a plan, a row for each of its kernels that launches were matched to (launch `kernel`; its column `kernel` names
 * the primitives; where the step as a whole is not this plan, only for those whose sizes the profile confirms), one for
 * the whole step where nearly all of it was matched (launch `kernel`: the sum of the kernels), and one from the first
 * kernel's start to the last one's end where the profiler says when they started (launch `stream`, or `graph`). Without
 * a plan, a row for each kernel that is not another's repetition, with an empty workload and the GPU kernel's name in
 * `kernel`: these are a list to look at, and whoever reads the file leaves them out.
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
    int launches;           /* a step */
    double time_s, dram_read_bytes, dram_write_bytes; /* medians over the steps; NaN where not measured */
    double predicted_s;                               /* without the launch */
    bool sized;                                       /* the profile has sizes, and they agree */
} fsim_matched;

/* Launches of one name that are in no row, for one reason. */
typedef struct {
    const char *name, *operator, * why; /* operator: NULL where it is not known */
    int calls;
    double time_s; /* of all calls */
} fsim_left;

typedef struct {
    const fsim_profile *profile;
    const fsim_plan *plan; /* NULL: nothing is matched */
    fsim_steps steps;
    fsim_matched *matched; /* in the plan's order; without a plan: every kernel, the dearest first, kernel -1 */
    int matches;
    fsim_left *left; /* the dearest first */
    int lefts;
    const char **missing; /* primitives of the plan's kernels that nothing was matched to */
    int missings;
    double total_s;           /* of all launches in the file */
    double step_s, matched_s; /* medians: of the kernels of a step; of those that were matched */
    double span_s;            /* from a step's first start to its last end; NaN where not known */
    double predicted_s;       /* of the plan's kernels; NaN */
    int withheld;             /* matches by name and order alone that have no row, as the whole is not this plan */
    const char *not_whole;    /* why there is no row for the whole; NULL where there is */
    fsim_measured *row;
    int rows;
} fsim_import;

typedef struct {
    const char *hw, *workload, *set; /* as rows name them; hw "" where it is not known */
    fsim_strategy strategy;
} fsim_import_as;

/* g and plan NULL: a list. In a; p must outlive it. */
fsim_import fsim_import_of(const fsim_profile *p, const fsim_graph *g, const fsim_plan *plan, const fsim_import_as *as,
                           fsim_arena *a);

#endif
