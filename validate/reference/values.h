/* SPDX-License-Identifier: Apache-2.0 */
/* values.h: what each tensor of a workload should hold, with a bound for each element. reference.h makes it. */
#ifndef FUSESIM_VALIDATE_REFERENCE_VALUES_H
#define FUSESIM_VALIDATE_REFERENCE_VALUES_H

#include "graph/graph.h"

/* Of one storage tensor, elems of each. value: not rounded to the tensor's dtype where that is a float (inputs aside);
 * bound covers that rounding. bound: infinite where anything may come out. */
typedef struct {
    double *value, *bound;
    double spread; /* how far one right computation lies from value: root of the mean square of its share of the bound,
                      over elements with a finite bound and value */
} fsim_expected;

typedef struct {
    const fsim_graph *graph;
    fsim_expected *of;    /* per tensor of the graph; views have NULL pointers: ask their storage */
    const char **unknown; /* per tensor: why its values are made up (a custom operator, communication), or NULL */
} fsim_reference;

/* Does `node` read this storage tensor from memory, in every kernel that computes it? It then carries no more than the
 * rounding of the store. */
typedef bool fsim_loads(const void *with, int node, int tensor);

#endif
