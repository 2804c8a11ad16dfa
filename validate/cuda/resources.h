/* SPDX-License-Identifier: Apache-2.0 */
/* resources.h: registers and memory of a compiled kernel, from the log of ptxas -v, checked against the cubin. Only
 * the log has spills; only the cubin is what runs. */
#ifndef FUSESIM_VALIDATE_CUDA_RESOURCES_H
#define FUSESIM_VALIDATE_CUDA_RESOURCES_H

#include "emit/program.h"
#include <stdbool.h>

typedef struct {
    const char *entry;
    int registers;                           /* for each thread; -1: not in the log */
    int static_shared_bytes;                 /* for each block, without what the driver reserves */
    int stack_bytes;                         /* local memory per thread; spills are part of it */
    int spill_store_bytes, spill_load_bytes; /* bytes of instructions in the code, not of accesses */
    int barriers;
    int elf_registers, elf_frame_bytes; /* the cubin's EIATTR_REGCOUNT and EIATTR_FRAME_SIZE; -1: missing */
    bool disagrees;                     /* log and cubin */
} fsim_resources;

/* The entry functions of a log; prefixes and unknown lines are ignored. Returns how many, *out in a. */
int fsim_resources_of_log(const char *log, fsim_arena *a, fsim_resources **out);

/* Sets elf_registers, elf_frame_bytes and disagrees. False: not a cubin, or a truncated one. */
bool fsim_resources_check(const void *cubin, size_t bytes, fsim_resources *entry, int entries);

/* The resources of entry, or NULL. */
const fsim_resources *fsim_resources_find(const fsim_resources *entry, int entries, const char *name);

/* The entries under the names that p has for them. In a. */
fsim_resources *fsim_named_resources(const fsim_program *p, const fsim_resources *entry, int entries, fsim_arena *a);

#endif
