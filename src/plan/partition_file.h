/* SPDX-License-Identifier: Apache-2.0 */
/* partition_file.h: a partition that the user already has, read from a file. */
#ifndef FUSESIM_PLAN_PARTITION_FILE_H
#define FUSESIM_PLAN_PARTITION_FILE_H

#include "plan/search/search.h"

typedef struct {
    fsim_partition partition;
    fsim_maker maker;   /* whose kernels: a plan of the strategies eager and inductor says so */
    fsim_loc file, *at; /* the file; per group, where it starts */
} fsim_user_plan;

/* A file that holds a partition. gpu: the GPU whose plan is taken where the file holds plans of several; NULL where no
 * single GPU is meant. text stays referenced by what is read from it. */
typedef struct {
    const char *path, *text;
    size_t bytes;
    const char *gpu;
} fsim_user_plan_file;

/* Reads a plan as `--json` writes it (schema 2: {plans: [{plan: {kernels: [{operators}]}}]}; schema 1: the same without
 * `plans`, an object or a list of them), as codegen's manifest or `enumerate` writes it (kernels[].operators, groups),
 * or a bare list of lists of names. A name is a primitive's or a source operator's, which stands for all of its
 * primitives; the last primitive of a composite has the composite's name, and is meant where another primitive of the
 * composite is named too. False after errors. In a. */
bool fsim_user_plan_read(const fsim_graph *g, fsim_arena *a, fsim_diag *d, const fsim_user_plan_file *file,
                         fsim_user_plan *out);

/* Says all that keeps it from being a plan: primitives in no group or in two, groups that are no kernel, groups that
 * wait for each other. True, priced in *out, when there is nothing to say. In a. */
bool fsim_user_plan_price(fsim_problem *p, const fsim_user_plan *plan, fsim_diag *d, fsim_arena *a, fsim_plan *out);

#endif
