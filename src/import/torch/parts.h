/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h: nodes that one operator was taken apart into (whole.h), and how the operator's arguments are found in them.
 */
#ifndef FUSESIM_IMPORT_TORCH_PARTS_H
#define FUSESIM_IMPORT_TORCH_PARTS_H

#include "import/torch/import.h"

enum { FSIM_PART_MOST_ARGS = 10 };

/* Nodes of a graph, side by side. */
typedef struct {
    const fsim_torch_import *m;
    const fsim_torch_node *first;
    int nodes;
    const fsim_torch_arg *result; /* the only one that a node behind them reads, or that the graph gives back */
} fsim_torch_parts;

/* The whole, whose arguments are written; at most FSIM_PART_MOST_ARGS. */
typedef struct {
    fsim_arena *a;
    fsim_torch_node *n;
} fsim_part_writer;

/* A row of whole.def: finds the arguments. False where the parts are not what is expected. */
typedef bool fsim_part_rule(const fsim_torch_parts *p, const fsim_part_writer *w);
#define FSIM_WHOLE(op, how) fsim_part_rule fsim_part_##how;
#include "import/torch/whole.def"
#undef FSIM_WHOLE

/* Is it a node of this operator, "roll" for aten.roll? */
bool fsim_part_is_op(const fsim_torch_node *n, const char *op);
/* The number-th part of this operator; NULL: there is none. */
const fsim_torch_node *fsim_part_part(const fsim_torch_parts *p, const char *op, int number);
/* An argument of a node, which may be NULL; NULL: there is none, or None. */
const fsim_torch_arg *fsim_part_arg(const fsim_torch_node *n, const char *name);
/* A number of the file; INT64_MIN: it is none, or symbolic. */
int64_t fsim_part_number(const fsim_torch_arg *a);
/* Does the node make this tensor? */
bool fsim_part_made_by(const fsim_torch_node *n, const char *tensor);
/* The part that makes a tensor; NULL: none does. */
const fsim_torch_node *fsim_part_maker(const fsim_torch_parts *p, const char *tensor);
/* A tensor from outside that an argument is, through parts that view, widen or cast it, or multiply it by a number;
 * NULL: it is none. */
const char *fsim_part_from_outside(const fsim_torch_parts *p, const fsim_torch_arg *a);
/* The only tensor from outside that the parts read; NULL: there is none, or there are several. */
const char *fsim_part_the_input(const fsim_torch_parts *p);
/* Tensors from outside, each once, in the order in which the parts read them. Returns how many; most + 1: there are
 * more. */
int fsim_part_inputs(const fsim_torch_parts *p, int most, const char **in);
/* What the file says of a tensor; NULL: it has none of this name. */
const fsim_torch_tensor *fsim_part_described(const fsim_torch_parts *p, const char *tensor);
/* What a tensor made before the parts is; NULL: it is none. */
const fsim_torch_value *fsim_part_known(const fsim_torch_parts *p, const char *tensor);

/* An argument, to be filled. */
fsim_torch_arg *fsim_part_put(const fsim_part_writer *w, const char *name, fsim_torch_kind kind);
/* A tensor. False where it is NULL. */
bool fsim_part_put_tensor(const fsim_part_writer *w, const char *name, const char *tensor);
/* A list of tensors. */
void fsim_part_put_tensors(const fsim_part_writer *w, const char *name, int count, const char *const *tensor);
/* A list of numbers. */
void fsim_part_put_ints(const fsim_part_writer *w, const char *name, int count, const int64_t *value);
/* The same argument under another name. */
void fsim_part_put_copy(const fsim_part_writer *w, const char *name, const fsim_torch_arg *from);

#endif
