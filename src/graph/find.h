/* SPDX-License-Identifier: Apache-2.0 */
/* find.h: what the command line names: workloads and their primitives. */
#ifndef FUSESIM_GRAPH_FIND_H
#define FUSESIM_GRAPH_FIND_H

#include "graph/graph.h"

/* The workload's path: as given, else a name in the current folder's workloads/, else one in the shipped folder
 * (shipped_dir); what was given when there is none. In a. */
const char *fsim_workload_find(fsim_arena *a, const char *name, const char *shipped_dir);
/* "; did you mean 'mlp'?" for the nearest name in those folders, or "". In a. */
const char *fsim_workload_nearest(fsim_arena *a, const char *name, const char *shipped_dir);
/* The primitive of that name, or of the last one of the operator of that name; -1 after an error that says what else it
 * is, or offers the nearest name. */
int fsim_node_named(fsim_arena *a, fsim_diag *d, const fsim_graph *g, const char *name);

#endif
