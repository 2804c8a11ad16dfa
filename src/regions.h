/* SPDX-License-Identifier: Apache-2.0 */
/* regions.h: along one symbol of a workload, which plan is the best where: the intervals in which the same groups stay
 * optimal, and the values at which they change. */
#ifndef FUSESIM_REGIONS_H
#define FUSESIM_REGIONS_H

#include "graph/load.h"
#include "input/args.h"
#include "predict.h"

/* The workload where the symbol has this value, in a; NULL where there is none. */
typedef const fsim_graph *fsim_workload_at(void *context, int64_t value, fsim_arena *a);

/* A workload as text, for fsim_parsed_at. */
typedef struct {
    const char *path, *text;
    size_t bytes;
    const fsim_binding *set; /* of the other symbols */
    int sets;
    int64_t scale;      /* as of fsim_workload_wanted (graph/load.h) */
    const char *symbol; /* the one that varies */
} fsim_parametric;
/* context: an fsim_parametric. Values that the workload refuses (a head count that does not divide) have no graph. */
fsim_workload_at fsim_parsed_at;

typedef struct {
    int64_t first, last, step; /* values first, first + step, ... */
    int grid; /* values, evenly spaced on a logarithmic scale, that are evaluated whatever comes of it; 0: 33 */
    int most; /* evaluations; 0: 4096 */
} fsim_range;

typedef struct {
    int groups;
    fsim_words *group; /* names of primitives, ascending as the graph has them */
} fsim_named_plan;

typedef struct {
    int64_t first, last; /* values */
    int plan;            /* index into plans; -1: no workload, or no plan */
    bool proven;         /* optimal at every value of it that was evaluated */
} fsim_region;

typedef struct {
    int64_t before, after;          /* neighbouring values, in the regions from and from + 1 */
    double before_s[2], after_s[2]; /* the plans of the two regions, at both values; NaN where one is none there */
    bool confirmed;                 /* of all plans found, none is better than the region's at either value */
} fsim_break;

typedef struct {
    fsim_region *region; /* ascending */
    int regions;
    fsim_named_plan *plan;
    int plans;
    fsim_break *at;     /* between region i and i + 1 */
    int evaluations;    /* searches */
    int64_t widest_gap; /* values not evaluated between two neighbours with the same plan, at most: a plan that is the
                           best only there is not seen */
    double grid_ratio;  /* of neighbours in the grid, at most */
    bool truncated;     /* the evaluations ended before every change was pinned to neighbouring values */
} fsim_regions;

/* Evaluates the ends and the grid, then halves between neighbours whose plans differ until they are neighbouring
 * values. A plan found before that costs as much as the optimum counts as the optimum, so that ties are no change. The
 * same in every run. In a. */
fsim_regions fsim_regions_of(fsim_workload_at *at, void *context, const fsim_range *range, const fsim_hw *hw,
                             const fsim_options *options, fsim_arena *a);

#endif
