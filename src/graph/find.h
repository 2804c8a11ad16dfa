/* SPDX-License-Identifier: Apache-2.0 */
/* find.h: what the command line names: workloads and their primitives. */
#ifndef FUSESIM_GRAPH_FIND_H
#define FUSESIM_GRAPH_FIND_H

#include "graph/graph.h"

/* The path of a workload: `name` itself where it is a path, else the file of that name, with or without its ending, in
 * ./workloads/, else the one in the shipped folder. Returns name where there is none. In a. */
const char *fsim_workload_find(fsim_arena *a, const char *name, const char *shipped_dir);
/* The file of this name in a folder: the name itself, or with an ending of workloads (.yaml, .onnx, .pt2). NULL where
 * there is none. In a. */
const char *fsim_workload_in(fsim_arena *a, const char *folder, const char *name);
/* The name without the ending of workloads in YAML. In a. */
const char *fsim_workload_stem(fsim_arena *a, const char *name);
/* "; there are: bert_layer, models/bert_large" for the names in those folders that contain what was typed, else "; did
 * you mean 'mlp'?" for the nearest, or where they are listed; "" for what is rather a path. In a. */
const char *fsim_workload_nearest(fsim_arena *a, const char *name, const char *shipped_dir);
/* The names of the workloads in ./workloads/ and the shipped folder, sorted, each once: "mlp", "ops/add",
 * "models/resnet.onnx" (a model has its ending); their number in *count. In a. */
const char *const *fsim_workload_names(fsim_arena *a, const char *shipped_dir, int *count);
/* The primitive of this name, or the last primitive of the operator of this name. -1 after an error, which says what
 * else has the name or offers the nearest one. */
int fsim_node_named(fsim_arena *a, fsim_diag *d, const fsim_graph *g, const char *name);

#endif
