/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h: two plans side by side: what changed, and what each change did to the time.
 *
 * A plan's time is the sum of its kernels' times, in whole femtoseconds. Kernels of the two plans belong together where
 * they have a primitive in common, and so do all that are tied in this way; such a part of the plans has a time before
 * and after. The parts cover both plans, so that their changes add up to the whole change, exactly.
 *
 * A part's causes are those changes that may have done it; a part with several is mixed: the files can't say how much
 * each of them did. Causes are struck out where the files show that they had no part in it. */
#ifndef FUSESIM_DIFF_DIFF_H
#define FUSESIM_DIFF_DIFF_H

#include "diff/filed.h"

/* What happened to the kernels of a part. */
typedef enum {
    FSIM_PART_SAME,    /* one kernel, of the same primitives */
    FSIM_PART_SPLIT,   /* one became several */
    FSIM_PART_MERGED,  /* several became one */
    FSIM_PART_MOVED,   /* several became several: primitives moved from one to another */
    FSIM_PART_ALTERED, /* one kernel, which has other primitives */
    FSIM_PART_ADDED,   /* primitives that only the second plan has */
    FSIM_PART_REMOVED, /* that only the first has */
    FSIM_PART_KINDS
} fsim_part_kind;
extern const char *const fsim_part_kind_names[FSIM_PART_KINDS];

typedef enum {
    FSIM_DUE_TO_FUSION,      /* which primitives share a kernel */
    FSIM_DUE_TO_HARDWARE,    /* another GPU, or another file of it */
    FSIM_DUE_TO_CALIBRATION, /* figures that are measured or fitted, of the same GPU */
    FSIM_DUE_TO_SHAPES,      /* sizes of tensors */
    FSIM_DUE_TO_DTYPES,      /* of tensors */
    FSIM_DUE_TO_WORKLOAD,    /* other operators */
    FSIM_DUE_TO_STRATEGY,    /* of the plan: a framework's kernels in place of others */
    FSIM_DUE_TO_LAUNCH,      /* --launch */
    FSIM_DUE_TO_L2,          /* --l2 */
    FSIM_DUE_TO_VERSION,     /* of fusesim */
    FSIM_DUE_TO_UNRECORDED,  /* nothing that the files say differs */
    FSIM_DIFF_CAUSES
} fsim_diff_cause;
extern const char *const fsim_diff_cause_names[FSIM_DIFF_CAUSES];

/* A change of what went into the plans. */
typedef struct {
    fsim_diff_cause cause;
    const char *what, *before, *after; /* "M", "4096", "8192" */
} fsim_diff_input;

/* Some of the kernels of both plans. */
typedef struct {
    unsigned causes;   /* bits of fsim_diff_cause; none where the time is the same */
    int before, after; /* kernels */
    fsim_sum before_fs, after_fs, before_bytes, after_bytes; /* DRAM bytes */
} fsim_diff_sum;

typedef struct {
    fsim_part_kind kind;
    const int *before, *after; /* kernels of the two plans, sum.before and sum.after of them */
    fsim_diff_sum sum;
    int unit;       /* whose part of the time changed most in the direction of the whole; an fsim_unit */
    double unit_fs; /* that change */
} fsim_diff_part;

/* The plans for one GPU. */
typedef struct {
    const fsim_filed_plan *before, *after;
    const fsim_diff_input *input;
    int inputs;
    unsigned changed;           /* bits of all that changed, fusion among them */
    const fsim_diff_part *part; /* the largest change of time first */
    int parts;
    int kinds[FSIM_PART_KINDS]; /* how many parts of each */
    const fsim_diff_sum *sum;   /* by causes: one, then several; then what did not change */
    int sums;
    fsim_diff_sum total;
} fsim_plan_diff;

typedef struct {
    const fsim_filed *before, *after;
    const fsim_plan_diff *at;
    int count;
    const fsim_filed_plan **only_before, **only_after; /* GPUs of one file alone */
    int onlys_before, onlys_after;
} fsim_diff;

/* Compares the plans of two files, GPU by GPU; where each has one plan, these. In a; the files stay referenced. Without
 * a GPU that both have: an error in d, and false. */
bool fsim_diff_of(const fsim_filed *before, const fsim_filed *after, fsim_arena *a, fsim_diag *d, fsim_diff *out);

/* match.c: the parts of two plans, with kind and sums, the causes not yet. Sets part, parts, kinds and total. */
void fsim_diff_match(fsim_plan_diff *x, fsim_arena *a);
/* cause.c: what changed, and the causes of each part. Sets input, inputs, changed, sum and sums. */
void fsim_diff_attribute(fsim_plan_diff *x, const fsim_diff *of, fsim_arena *a);
/* "fusion, hardware". In a. */
const char *fsim_diff_causes_text(unsigned causes, fsim_arena *a);

#endif
