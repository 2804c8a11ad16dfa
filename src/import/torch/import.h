/* SPDX-License-Identifier: Apache-2.0 */
/* import.h: an archive that is being translated: what torch.c, which goes through the nodes, and aten_call.c, which
 * rows call, share. */
#ifndef FUSESIM_IMPORT_TORCH_IMPORT_H
#define FUSESIM_IMPORT_TORCH_IMPORT_H

#include "import/torch/aten.h"
#include "import/torch/symbols.h"

/* A graph whose nodes are being translated. */
typedef struct {
    const fsim_torch_graph *g;
    fsim_torch_value **value; /* of g->tensor; NULL: not made yet */
    int *maker;               /* the node that makes it; -1: none */
    bool *read;               /* is it an argument or an output of anything? */
    int *last_reader;         /* the last node that reads it; INT_MAX: it is an output; -1: nothing */
} fsim_torch_scope;

struct fsim_torch_import {
    fsim_arena *a;
    fsim_diag *d;
    fsim_draft *x;
    fsim_dims *dims;
    fsim_torch_bound bound;
    const fsim_torch_program *p;
    fsim_torch_scope *s;
    fsim_names aten, higher; /* rows, by name */
    const char *within;
    int64_t nodes; /* translated, those of bodies again each time */
    bool trial;    /* a node that no row translates is left: nothing is made of it */
};

/* The number of a tensor in the graph; -1 after an error: the file does not describe it. */
int fsim_torch_index(fsim_torch_import *m, const char *name);
/* The value of a tensor that is read. NULL after an error: nothing made it before. */
fsim_torch_value *fsim_torch_value_of(fsim_torch_import *m, const char *name);
/* The value of an argument; NULL where it is no tensor. */
fsim_torch_value *fsim_torch_tensor_in(fsim_aten *c, const fsim_torch_arg *arg);
/* The names of inputs in the workload, counted as read; NULL where one has none. */
const char **fsim_torch_names(fsim_aten *c, int ins, fsim_torch_value *const *in);
/* What a value is to be called. */
const char *fsim_torch_wanted(const fsim_aten *c, const fsim_torch_value *v);

/* The node of the graph that makes a tensor; NULL where none does. */
const fsim_torch_node *fsim_torch_maker(const fsim_torch_import *m, const fsim_torch_arg *arg);

/* A view whose base was written since is made again. */
void fsim_torch_refresh(fsim_aten *c, fsim_torch_value *v);
/* The first argument has the value of the first result from now on; so has what it is a view of. */
void fsim_torch_replace_first(fsim_aten *c);

/* Says which of the program's inputs are buffers, and what its results are, once all nodes were translated. */
void fsim_torch_finish(fsim_torch_import *m);

#endif
