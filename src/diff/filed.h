/* SPDX-License-Identifier: Apache-2.0 */
/* filed.h: plans as plan --json wrote them (reports/schema/plan.schema.json), with what a comparison needs. */
#ifndef FUSESIM_DIFF_FILED_H
#define FUSESIM_DIFF_FILED_H

#include "base/diag.h"
#include "base/sum.h"
#include "cost/cost.h"
#include "input/yaml.h"

/* Whole femtoseconds in a second: times of kernels are whole numbers of them. */
#define FSIM_FS_PER_S 1e15

/* A tensor that a kernel reads or writes in memory. */
typedef struct {
    const char *name;
    fsim_sum bytes, dram_bytes; /* all of it; what of it DRAM moves: less where L2 has it */
} fsim_filed_tensor;

typedef struct {
    fsim_loc at;
    const char *name;
    const char **home; /* primitives that it computes, but for those that it recomputes: each is in one kernel */
    int homes;
    const char **source; /* operators of the workload that it has a part of */
    int sources;
    const char **again; /* primitives that it recomputes */
    int agains;
    fsim_sum time_fs, dram_bytes;
    double unit_s[FSIM_UNIT_COUNT]; /* parts of the time */
    bool library;                   /* a library's */
    const char *work;               /* grid, tile, FLOPs, ..., tensors and their bytes: equal where the kernel is */
    const fsim_filed_tensor *tensor;
    int tensors;
} fsim_filed_kernel;

/* A name with its value as text. */
typedef struct {
    const char *name, *value;
    bool number;
} fsim_filed_symbol;

typedef struct {
    fsim_loc at;
    const char *workload, *hardware, *architecture, *strategy, *maker, *objective, *launch, *l2, *numerics, *recompute;
    double key[FSIM_HW_COUNT],
        peak[FSIM_HW_COUNT];            /* the GPU's figures; NaN: there is none. peak: where it is another */
    const char *dtypes;                 /* that it computes in: "f16, f32" */
    const char *operators, *primitives; /* how many the workload has */
    const fsim_filed_symbol *symbol;
    int symbols;
    const fsim_filed_kernel *kernel;
    int kernels;
    fsim_sum time_fs, dram_bytes, peak_bytes; /* of all kernels; peak_bytes: -1 where the file has none */
} fsim_filed_plan;

typedef struct {
    const char *path, *version; /* of fusesim */
    const fsim_filed_plan *plan;
    int plans;
} fsim_filed;

/* Is root what plan --json writes? */
bool fsim_is_filed_plan(const fsim_yaml *root);
/* Reads it. NULL after errors in d. In a; root stays referenced. */
const fsim_filed *fsim_filed_read(fsim_arena *a, fsim_diag *d, const char *path, const fsim_yaml *root);

#endif
