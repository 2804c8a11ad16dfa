/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: loads a workload by name, whatever its format (format.def). All commands and the library use it. */
#ifndef FUSESIM_IMPORT_LOAD_H
#define FUSESIM_IMPORT_LOAD_H

#include "graph/graph.h"
#include "import/wanted.h"
#include "input/yaml.h"

/* Finds (graph/find.h), reads and expands a workload. NULL after errors in d: FSIM_NO_INPUT where no file can be read.
 * In a. */
fsim_graph *fsim_graph_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_workload_wanted *how);
/* The same from text in memory, which stays referenced; path stands for the file in messages. */
fsim_graph *fsim_graph_load_text(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                                 const fsim_workload_wanted *how);

/* The workload as the tree that fsim_graph_of takes: a model is translated. The rest as above. */
const fsim_yaml *fsim_tree_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_workload_wanted *how);
/* The same from text in memory. */
const fsim_yaml *fsim_tree_load_text(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                                     const fsim_workload_wanted *how);

#endif
