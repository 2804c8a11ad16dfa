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

/* Is the file of this name a model, which an importer translates? False where it can't be read. */
bool fsim_is_model(fsim_arena *a, const char *path);

/* A workload as the tree that fsim_graph_of takes. */
typedef struct {
    const char *path;      /* where the file was found */
    const char *format;    /* "YAML" */
    const fsim_yaml *yaml; /* NULL after errors */
    bool bound;            /* the values of its symbols are in the tree: a model, which was translated */
    fsim_bindings set;     /* what fsim_graph_of is still to set: nothing where it is bound */
} fsim_tree;

/* The tree in a file; errors are in d, as above. In a. */
fsim_tree fsim_tree_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_workload_wanted *how);
/* The same from text in memory. */
fsim_tree fsim_tree_load_text(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                              const fsim_workload_wanted *how);

#endif
