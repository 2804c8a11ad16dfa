/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: a kernel as source text, and how it is launched: what the generator hands to whoever compiles and runs it.
 *
 * The text is in the kernel dialect (dialect.h), compiled three ways:
 *   CUDA      NVRTC or nvcc: extern "C" __global__ void ENTRY(T0 *, T1 *, ...), pointers only, in the order of
 * `parameter` host      cc: void ENTRY(long long first, long long end, void *const *args) runs the blocks [first, end)
 * of the grid in the calling thread; args[i] is parameter i. Blocks of one launch may run at the same time on several
 * threads. emulated  cc -DFS_EMULATED, tests only: the CUDA text with the intrinsics of tests/mock/emulated.h; void
 * ENTRY(void **params) is what one thread of the grid does, params[i] points at parameter i's value, as in
 * cuLaunchKernel. */
#ifndef FUSESIM_EMIT_PROGRAM_H
#define FUSESIM_EMIT_PROGRAM_H

#include "plan/price/plan.h"

typedef struct {
    const char *entry; /* symbol of the entry point */
    int64_t grid;      /* blocks, in one dimension */
    int block;         /* threads of a block: the text is compiled for this number */
    int shared_bytes;  /* dynamic shared memory of a block; what the text declares statically comes besides */
} fsim_launch;

typedef struct {
    int tensor; /* storage tensor of the graph; -1: scratch memory of the kernel, contents need not survive it */
    int64_t bytes;
    bool written;            /* else only read */
    const char *name, *type; /* as in the source: "x", "float" */
} fsim_parameter;

typedef struct {
    const char *name;    /* a C identifier, unique within the plan */
    const char *source;  /* starts with #include "fusesim_dialect.h"; NULL where `skipped` says why there is none */
    const char *skipped; /* NULL, or why no kernel is generated: communication, transfers, opaque operators */
    fsim_parameter *parameter;
    int parameters;
    fsim_launch *launch; /* one after the other, all with the same parameters */
    int launches;
    fsim_schedule schedule; /* what the text is: the priced one, as far as the operands' places in memory let it be.
                               Grid, block and launches are launch[0]'s; shared_bytes are those and what the text
                               declares */
    int registers; /* a thread of the first launch, as predicted of what it holds (kernel/registers.h), with its
                      block and shared memory as launched; 0: not of a contraction */
    int sm;        /* compute capability that the text needs at least (80 for bf16 tensor cores); 0: any */
} fsim_program;

/* Text of fusesim_dialect.h, which every source includes. */
extern const char fsim_dialect_text[];

#endif
