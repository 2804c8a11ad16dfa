/* SPDX-License-Identifier: Apache-2.0 */
/* regions.h: which plan is best for which values of a workload's symbol: the intervals in which the same groups stay
 * optimal, and the values at which they change. */
#ifndef FUSESIM_REGIONS_H
#define FUSESIM_REGIONS_H

#include "import/load.h"
#include "input/args.h"
#include "predict.h"

/* The workload for this value of the symbol, in a; NULL where there is none. */
typedef const fsim_graph *fsim_workload_at(void *context, int64_t value, fsim_arena *a);

/* A workload, the context of fsim_parsed_at. */
typedef struct {
    const char *path, *text; /* text NULL: the file is read for each value */
    size_t bytes;
    fsim_workload_wanted how; /* with values of the other symbols */
    const char *symbol;       /* the symbol that varies */
} fsim_parametric;
/* context: an fsim_parametric. NULL for values that the workload refuses (a number of heads that does not divide,
 * say). */
fsim_workload_at fsim_parsed_at;

typedef struct {
    int64_t first, last, step; /* values first, first + step, ... */
    int grid; /* number of values, evenly spaced on a logarithmic scale, that are always evaluated; 0: 33 */
    int most; /* most evaluations; 0: 4096 */
} fsim_range;

/* A plan whose kernels are lists of names of primitives, in the order of the graph. */
typedef struct {
    int groups, priced_groups;
    fsim_words *group, /* as they are launched */
        *priced_group; /* before some became library calls; the same where none did */
    bool calls;        /* some did */
    /* of a plan with gradients: what else than the options its graph was derived by (fsim_derive) */
    const signed char *form, *fate;
    int forms, fates;
    bool derived, marked; /* there is something else; marked: backward passes of attention may be calls (sdpa.h) */
} fsim_named_plan;

typedef struct {
    int64_t first, last; /* values */
    int plan;            /* index into plans; -1: no workload, or no plan */
    bool proven;         /* the plan was proven optimal at every value of the region that was evaluated */
} fsim_region;

typedef struct {
    int64_t before,
        after; /* the last value of region `from` and the first value of region from + 1, which are neighbours */
    double before_s[2],
        after_s[2]; /* time of the plans of both regions at both values; NaN where the plan does not exist there */
    fsim_interval before_likely, after_likely; /* 80 % intervals of the time of the first plan over that of the second,
                                                  at both values; NaN where one does not exist */
    bool confirmed;                            /* no other plan that was found is better at either value */
} fsim_break;

typedef struct {
    fsim_region *region; /* ascending */
    int regions;
    fsim_named_plan *plan;
    int plans;
    fsim_break *at;     /* between regions i and i + 1 */
    int evaluations;    /* searches */
    int64_t widest_gap; /* the most values that were not evaluated between two neighbours with the same plan: a plan
                           that is best only there is missed */
    double grid_ratio;  /* largest ratio of neighbours in the grid */
    bool truncated;     /* evaluations ended before every change was narrowed down to neighbouring values */
} fsim_regions;

/* Evaluates the ends and the grid, then bisects between neighbours with different plans until they are neighbouring
 * values. A known plan that costs as much as the optimum counts as the optimum, so that ties are not reported as
 * changes. Every run gives the same result. In a. */
fsim_regions fsim_regions_of(fsim_workload_at *at, void *context, const fsim_range *range, const fsim_hw *hw,
                             const fsim_options *options, fsim_arena *a);

#endif
