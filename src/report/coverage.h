/* SPDX-License-Identifier: Apache-2.0 */
/* coverage.h: how many of a workload's operators are known. Those that an importer did not know are `custom`, say
 * where they are from and not how much they compute: each costs a copy. */
#ifndef FUSESIM_REPORT_COVERAGE_H
#define FUSESIM_REPORT_COVERAGE_H

#include "graph/graph.h"

typedef struct {
    const char *name; /* "com.foo:Bar", or an operator of ours */
    int count;
} fsim_counted;

typedef struct {
    int operators, unknown; /* how many there are, and how many of them are not known */
    double known;           /* the share that is: 1 where all are */
    fsim_counted *of;       /* those that are not known, by name, the most frequent first */
    int names;
} fsim_coverage;

/* In a. */
fsim_coverage fsim_coverage_of(const fsim_graph *g, fsim_arena *a);
/* The known operators by name, the most frequent first; their number in *count. In a. */
fsim_counted *fsim_known_operators(const fsim_graph *g, fsim_arena *a, int *count);
/* "96% of operators known: 3 x com.foo:Bar cost a copy each"; "" where all are known. In a. */
const char *fsim_coverage_text(const fsim_coverage *x, fsim_arena *a);

#endif
