/* SPDX-License-Identifier: Apache-2.0 */
/* example.h: a small workload for each operator (example.def), for "fusesim ops OP". */
#ifndef FUSESIM_GRAPH_EXAMPLE_H
#define FUSESIM_GRAPH_EXAMPLE_H

#include "graph/op.h"

/* A whole workload with op in it, as YAML, for people to paste. In a. */
const char *fsim_example(fsim_arena *a, fsim_op op);
/* What the example's results are: "y is f16[1024, 4096]". In a. */
const char *fsim_example_results(fsim_arena *a, fsim_op op);
/* The shape of op's result in words. */
const char *fsim_result_text(fsim_op op);

#endif
