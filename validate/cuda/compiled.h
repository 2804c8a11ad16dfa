/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h: what kernels take of an SM as predicted, beside what NVRTC compiles them to. Needs neither a GPU nor a
 * driver.
 *
 * An occupancy class is the number of blocks that an SM holds at once: registers matter as far as they change it. */
#ifndef FUSESIM_VALIDATE_CUDA_COMPILED_H
#define FUSESIM_VALIDATE_CUDA_COMPILED_H

#include "validate/cuda/nvrtc.h"
#include "validate/trial/trial.h"

/* One kernel on one architecture: plans that share a text and its prediction share the line. Of several launches the
 * figures are those of the first, which is predicted; spills, stack and disagreement those of all of them. */
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw; /* that the plan is for */
    const char *set;   /* bindings of the workload, "B=8;dtype=f16" */
    const char *name;  /* in the first plan that has it */
    fsim_template template;
    unsigned strategies; /* bits: plans that have it */
    int uses;            /* kernels of all plans */
    int sm;
    const fsim_program *program;
    int block;
    int registers,
        shared_bytes; /* predicted; of the vendor's kernels the figures are those of ours, which stand in for them */
    bool stands_in;
    int blocks;
    double occupancy;
    const char *left_out;                          /* why it is not compiled for sm; NULL */
    int text;                                      /* number of its distinct text; -1 where left out */
    int compiled_registers, compiled_shared_bytes; /* static and dynamic */
    int compiled_block, compiled_blocks;
    double compiled_occupancy;
    int stack_bytes, spill_bytes; /* spill_bytes: stores and loads in the code */
    bool disagrees;               /* log and cubin */
    bool unread;                  /* the cubin could not be read */
} fsim_register_row;

typedef struct {
    fsim_register_row *row;
    int rows, room;
    int texts, cached; /* distinct ones, each with its architecture; that came from disk */
    int skipped;       /* kernels of all plans that are not generated */
    struct fsim_register_texts *of;
    fsim_arena *a;
} fsim_register_rows;

/* No rows yet. It and all its rows live in a. */
fsim_register_rows *fsim_register_rows_new(fsim_arena *a);
/* The kernels of t's plans, to be compiled for sm. */
void fsim_register_rows_add(fsim_register_rows *x, const fsim_trial *t, int sm);
/* What compiles kernels. */
typedef struct {
    const char *name; /* "NVRTC 13.0" */
    const int *sm;    /* architectures that it compiles for */
    int archs;
    const fsim_nvrtc *self;
} fsim_kernel_compiler;
/* False with *fault set where there is none. In a. */
bool fsim_kernel_compiler_open(fsim_arena *a, fsim_kernel_compiler *out, fsim_fault *fault);
/* Compiles all of them, `jobs` at a time. False with *fault set: a text that does not compile. */
bool fsim_register_rows_compile(fsim_register_rows *x, const fsim_kernel_compiler *compiler, int jobs,
                                fsim_fault *fault);
/* Sets a row's compiled figures from the resources of its program's entries. False: some entry is not among them. */
bool fsim_register_row_compare(fsim_register_row *r, const fsim_resources *entry, int entries);

enum { FSIM_EVERY_TEMPLATE = -1, FSIM_NO_CONTRACTION = -2 };
typedef struct {
    int kernels, uses;
    int same, near; /* as many blocks on an SM as predicted; one more or less at most */
    double class_share, near_share;
    double registers_error; /* mean of |predicted / compiled - 1| */
    double registers_bias;  /* mean of predicted / compiled - 1 */
    int spilling, stacked, disagreeing;
} fsim_register_sum;
/* Of the rows of one template (or FSIM_EVERY_TEMPLATE, FSIM_NO_CONTRACTION) and architecture (0: all), without those
 * left out. Shares and errors are NaN where there are none. */
fsim_register_sum fsim_register_rows_sum(const fsim_register_rows *x, int template, int sm);

/* What an SM of this architecture holds, everything else as hw has it; hw itself where it is of that architecture. */
const fsim_hw *fsim_hw_as_architecture(const fsim_hw *hw, int sm, fsim_arena *a);

#endif
