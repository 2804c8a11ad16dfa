/* SPDX-License-Identifier: Apache-2.0 */
/* resources.h: what a compiled kernel takes of an SM, as ptxas -v says it, checked against the cubin. Only the log
 * knows spills; only the cubin is what runs. */
#ifndef FUSESIM_VALIDATE_CUDA_RESOURCES_H
#define FUSESIM_VALIDATE_CUDA_RESOURCES_H

#include "emit/program.h"
#include <stdbool.h>

typedef struct {
    const char *entry;
    int registers;                           /* per thread; -1: the log does not say */
    int static_shared_bytes;                 /* per block, without what the driver reserves */
    int stack_bytes;                         /* local memory per thread; spills are part of it */
    int spill_store_bytes, spill_load_bytes; /* of instructions in the code, not of accesses */
    int barriers;
    int elf_registers, elf_frame_bytes; /* of the cubin's EIATTR_REGCOUNT and EIATTR_FRAME_SIZE; -1: not there */
    bool disagrees;                     /* log and cubin */
} fsim_resources;

/* The log's entry functions; prefixes of its lines and lines that it does not know are ignored. Returns how many there
 * are, *out in a. */
int fsim_resources_of_log(const char *log, fsim_arena *a, fsim_resources **out);

/* Sets elf_registers, elf_frame_bytes and disagrees. False: not a cubin, or one that breaks off. */
bool fsim_resources_check(const void *cubin, size_t bytes, fsim_resources *entry, int entries);

/* The resources of entry, or NULL. */
const fsim_resources *fsim_resources_find(const fsim_resources *entry, int entries, const char *name);

/* entry, with nameless entries called as p calls them. In a. */
fsim_resources *fsim_named_resources(const fsim_program *p, const fsim_resources *entry, int entries, fsim_arena *a);

#endif
