/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: loads a workload by name. All commands and the library use it. */
#ifndef FUSESIM_GRAPH_LOAD_H
#define FUSESIM_GRAPH_LOAD_H

#include "graph/graph.h"

/* How a workload is to be read. */
typedef struct {
    const char *shipped;     /* the folder of shipped workloads; NULL: none */
    const fsim_binding *set; /* values for its symbols, sets of them */
    int sets;
    int64_t scale; /* above 1: lengths are divided by powers of 2 up to this one (graph/scale.h) */
} fsim_workload_wanted;

/* Finds (graph/find.h), reads and expands a workload. NULL after errors in d: FSIM_NO_INPUT where no file can be read.
 * In a. */
fsim_graph *fsim_graph_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_workload_wanted *how);

/* The same from text in memory, which stays referenced; path stands for the file in messages. */
fsim_graph *fsim_graph_load_text(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                                 const fsim_workload_wanted *how);

#endif
