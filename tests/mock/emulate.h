/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.h: runs a grid of an emulated kernel (emulated.h) on the processor, and tells what it does wrong.
 *
 * The threads of a block are fibers of one thread of the operating system, each running until it ends or must wait.
 * Found and told: a deadlock at a barrier or in a collective of a warp, a barrier reached by different lines of the
 * text, a full-warp collective of a warp with lanes missing, shared memory beyond its arrays or the limits, rows and
 * asynchronous copies that are misaligned or outside shared memory, an invalid address, a stack overflow, an integer
 * division by zero. Shared memory holds MOCK_POISON before each block.
 *
 * Environment, read at each call:
 *   MOCK_ORDER=reverse|random:SEED  in which order threads and blocks run; else ascending
 *   MOCK_JOBS=N                     threads of the operating system, 1
 *   MOCK_STRICT=1                   that a thread ends while others wait at a barrier is a fault; since Volta it is
 * none MOCK_UCONTEXT=1                 ucontext instead of the own switch: slow, portable */
#ifndef FUSESIM_MOCK_EMULATE_H
#define FUSESIM_MOCK_EMULATE_H

#include <stddef.h>

#define MOCK_POISON 0x7fa5a5a5u /* a signalling NaN as float */

typedef struct {
    const char *name; /* for messages */
    void (*entry)(void **params);
    void **params;
    long long grid;         /* blocks */
    int block;              /* threads of a block, 1 to 1024 */
    int shared_bytes;       /* dynamic shared memory of a block */
    long long start_ns;     /* when each block begins, as fs_globaltimer tells */
    int shared_limit_bytes; /* of a block, static and dynamic; static memory is limited to 48 KiB besides. 0: 227 KiB */
} mock_grid;

/* As cuLaunchKernel's errors. */
typedef enum { MOCK_RAN = 0, MOCK_BAD_ADDRESS = 700, MOCK_MISALIGNED = 716, MOCK_BROKEN = 719 } mock_outcome;

/* The kernel's fs_emulator must be mock_calls(). `why`, of `room` bytes, gets what was wrong, "" if nothing was. */
mock_outcome mock_run(const mock_grid *grid, char *why, size_t room);

/* As fs_emulator_calls of emulated.h. */
const void *mock_calls(void);

/* The number whose bits as binary16 are these. */
float mock_of_f16(unsigned bits);

#endif
