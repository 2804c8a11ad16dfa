/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: a kernel as source text with its launches: what the generator gives to code that compiles and runs it.
 *
 * The text is in the kernel dialect (dialect.h), which is compiled in three ways:
 *   CUDA      NVRTC or nvcc: extern "C" __global__ void ENTRY(T0 *, T1 *, ...), only pointers, in the order of
 *             `parameter`
 *   host      cc: void ENTRY(long long first, long long end, void *const *args) runs the blocks [first, end) of the
 *             grid in the calling thread; args[i] is parameter i. Blocks of a launch may run in several threads at
 * once. emulated  cc -DFS_EMULATED, for tests: the CUDA text with the intrinsics of tests/mock/emulated.h; void
 *             ENTRY(void **params) runs one thread of the grid; params[i] points at the value of parameter i, as for
 *             cuLaunchKernel */
#ifndef FUSESIM_EMIT_PROGRAM_H
#define FUSESIM_EMIT_PROGRAM_H

#include "plan/price/plan.h"

typedef struct {
    const char *entry; /* symbol of the entry point */
    int64_t grid;      /* blocks, in one dimension */
    int block;         /* threads of a block: the text is compiled for this number */
    int shared_bytes;  /* dynamic shared memory of a block; what the text declares statically is additional */
} fsim_launch;

typedef struct {
    int tensor; /* the tensor that owns the memory; -1: scratch memory of the kernel, not used afterwards */
    int64_t bytes;
    bool written;            /* otherwise it is only read */
    const char *name, *type; /* as in the source: "x", "float" */
} fsim_parameter;

typedef struct {
    const char *name;    /* a C identifier, unique within the plan */
    const char *source;  /* begins with #include "fusesim_dialect.h"; NULL: not generated, see `skipped` */
    const char *skipped; /* NULL, or why no kernel is generated: communication, transfers, opaque operators */
    fsim_parameter *parameter;
    int parameters;
    fsim_launch *launch; /* one after the other, all with the same parameters */
    int launches;
    fsim_schedule
        schedule;  /* the layout of the text: the priced one, as far as the operands' positions in memory allow. Grid,
                      block and launches are those of launch[0]; shared_bytes includes what the text declares */
    int registers; /* a thread of the first launch, as predicted of what it holds (kernel/registers.h), with its
                      block and shared memory as launched; 0: not of a contraction */
    int sm;        /* the least compute capability that the text needs (80 for bf16 tensor cores); 0: any */
} fsim_program;

/* Text of fusesim_dialect.h, which every source includes. */
extern const char fsim_dialect_text[];

#endif
