/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h: registers, shared memory and occupancy of kernels as predicted, compared with what NVRTC compiles. Needs
 * neither a GPU nor a driver.
 *
 * An occupancy class is the number of blocks that an SM holds at once: registers matter only as far as they change
 * it. */
#ifndef FUSESIM_VALIDATE_CUDA_COMPILED_H
#define FUSESIM_VALIDATE_CUDA_COMPILED_H

#include "validate/cuda/nvrtc.h"
#include "validate/trial/trial.h"

/* One kernel on one architecture; plans whose kernel has the same text and prediction share the row. Registers and
 * shared memory are those of the first launch, which is predicted; spills, stack and disagreement are those of all
 * launches. */
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw; /* that the plan is for */
    const char *set;   /* bindings of the workload, "B=8;dtype=f16" */
    const char *name;  /* name in the first plan that has it */
    fsim_template template;
    unsigned strategies; /* bits: the plans that have it */
    int uses;            /* kernels of all plans */
    int sm;
    const fsim_program *program;
    int block;
    int registers, shared_bytes; /* predicted; for the vendor's kernels those of our own, which replace them */
    bool stands_in;
    int blocks;
    double occupancy;
    const char *left_out;                          /* why it is not compiled for sm; NULL */
    int text;                                      /* number of its distinct text; -1 where it is not compiled */
    int compiled_registers, compiled_shared_bytes; /* static and dynamic */
    int compiled_block, compiled_blocks;
    double compiled_occupancy;
    int stack_bytes, spill_bytes; /* spill_bytes: stores and loads in the code */
    int warnings;                 /* of the compiler, about the text */
    bool disagrees;               /* log and cubin */
    bool unread;                  /* the cubin could not be read */
} fsim_register_row;

typedef struct {
    fsim_register_row *row;
    int rows, room;
    int texts, cached; /* distinct texts, counted for each architecture; those from disk */
    int skipped;       /* kernels of all plans that can't be generated */
    struct fsim_register_texts *of;
    fsim_arena *a;
} fsim_register_rows;

/* An empty list. It and all its rows live in a. */
fsim_register_rows *fsim_register_rows_new(fsim_arena *a);
/* Adds the kernels of t's plans, to be compiled for sm. */
void fsim_register_rows_add(fsim_register_rows *x, const fsim_trial *t, int sm);
/* The compiler. */
typedef struct {
    const char *name; /* "NVRTC 13.0" */
    const int *sm;    /* architectures that it compiles for */
    int archs;
    const fsim_nvrtc *self;
} fsim_kernel_compiler;
/* Opens the compiler. False with *fault set where there is none. In a. */
bool fsim_kernel_compiler_open(fsim_arena *a, fsim_kernel_compiler *out, fsim_fault *fault);
/* Compiles all rows, `jobs` at a time. False with *fault set: a text does not compile. */
bool fsim_register_rows_compile(fsim_register_rows *x, const fsim_kernel_compiler *compiler, int jobs,
                                fsim_fault *fault);
/* Sets a row's compiled figures from the resources of its program's entries. False where an entry has none. */
bool fsim_register_row_compare(fsim_register_row *r, const fsim_resources *entry, int entries);

enum { FSIM_EVERY_TEMPLATE = -1, FSIM_NO_CONTRACTION = -2 };
typedef struct {
    int kernels, uses;
    int same, near; /* rows with as many blocks on an SM as predicted; with at most one more or less */
    double class_share, near_share;
    double registers_error; /* mean of |predicted / compiled - 1| */
    double registers_bias;  /* mean of predicted / compiled - 1 */
    int spilling, stacked, disagreeing, warned;
} fsim_register_sum;
/* Of the rows of one template (or FSIM_EVERY_TEMPLATE, FSIM_NO_CONTRACTION) and architecture (0: all), without those
 * left out. Shares and errors are NaN where there are none. */
fsim_register_sum fsim_register_rows_sum(const fsim_register_rows *x, int template, int sm);

/* What an SM of this architecture holds, everything else as hw has it; hw itself where it is of that architecture. */
const fsim_hw *fsim_hw_as_architecture(const fsim_hw *hw, int sm, fsim_arena *a);

#endif
