/* SPDX-License-Identifier: Apache-2.0 */
/* thread_registers.h: registers a thread of the generator's contractions, from what a thread holds, in words of 32
 * bits.
 *
 *     tiles without tensor units   sums + 2 fragments + staged + 5 gathered + 20
 *     .. with tensor units         sums + 2 fragments + staged + 5 gathered + 12
 *     chains without tensor units  sums + 4 fragments + 20
 *     .. with tensor units         sums + packed + 4 fragments + 28
 * Fragments are what one step of the inner loop multiplies: those of the next step, of the next three where four are
 * unrolled, are loaded meanwhile. An element that comes alone has an address, two words, its guard, and what they are
 * made of. The last term is the rest of the addresses, the place of the tile, and counters. A tile of tensor units
 * whose second set of fragments would cost the SM its second block goes without it. Afterwards, the results are live
 * with what the kernel makes of them, and the operands no more. Constants by NVRTC 13.0's figures for sm_80, sm_90 and
 * sm_100: `fusesim validate --registers`. The kernels state the blocks that follow (FS_RESIDENT), so that the compiler
 * neither takes more registers than leave room for them, nor spills to make room for another. */
#ifndef FUSESIM_COST_THREAD_REGISTERS_H
#define FUSESIM_COST_THREAD_REGISTERS_H

#include <stdbool.h>

typedef struct {
    int threads; /* of a block */
    bool tensor;
    double sums;      /* of all products; of a chain: scores and results */
    double fragments; /* of both operands */
    double staged;    /* from memory on the way to shared memory */
    double gathered;  /* elements of those that come one by one */
    double packed;    /* of a chain: scores as the second product takes them */
    int live;         /* values of a result's element that live at once */
} fsim_held_words;

int fsim_tile_registers(const fsim_held_words *w);
int fsim_flash_registers(const fsim_held_words *w);
/* Of a thread that sums up one result by itself, `live` values at once: all that are free at full occupancy. */
int fsim_direct_registers(int live);

#endif
