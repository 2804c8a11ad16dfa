/* SPDX-License-Identifier: Apache-2.0 */
/* partition_file.h: reads a user's partition from a file. */
#ifndef FUSESIM_PLAN_PARTITION_FILE_H
#define FUSESIM_PLAN_PARTITION_FILE_H

#include "plan/search/search.h"

typedef struct {
    fsim_graph *graph; /* that it is a partition of, differentiated as the file says (derivation_file.h); NULL: the one
                          that was given */
    fsim_partition partition;
    bool calls;         /* with library calls of the workload's `calls:` in place of its kernels */
    fsim_maker maker;   /* whose kernels it launches: plans of the strategies eager and inductor name a framework */
    fsim_loc file, *at; /* the file; per group, where it starts in it */
} fsim_user_plan;

/* A file with a partition. gpu: which plan to take where the file has plans for several GPUs; NULL where the command
 * has no single GPU. The text stays referenced by what is read from it. */
typedef struct {
    const char *path, *text;
    size_t bytes;
    const char *gpu;
} fsim_user_plan_file;

/* Reads a plan as `--json` writes it (schema 2: {plans: [{plan: {kernels: [{operators}]}}]}; schema 1: the same
 * without `plans`, an object or a list of them), as codegen's manifest or `enumerate` writes it
 * (kernels[].operators, groups), or a bare list of lists of names. A name stands for a primitive, or for an operator
 * of the workload and all of its primitives. The last primitive of a composite has the composite's name; the name
 * stands for that primitive alone where the file names other primitives of the composite too. Where the plan has
 * `derivation`, the graph is differentiated so first, and calls are looked for. False after errors. In a. */
bool fsim_user_plan_read(const fsim_graph *g, fsim_arena *a, fsim_diag *d, const fsim_user_plan_file *file,
                         fsim_user_plan *out);

/* Reports everything that keeps the partition from being a plan: primitives in no group or in two, groups that are
 * no kernel, groups that wait for each other. True, with the priced plan in *out, where there is nothing to report.
 * In a. */
bool fsim_user_plan_price(fsim_problem *p, const fsim_user_plan *plan, fsim_diag *d, fsim_arena *a, fsim_plan *out);

#endif
