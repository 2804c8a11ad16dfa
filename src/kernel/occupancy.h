/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.h: how many blocks of a kernel an SM holds at once. */
#ifndef FUSESIM_KERNEL_OCCUPANCY_H
#define FUSESIM_KERNEL_OCCUPANCY_H

#include "hw/hw.h"
#include "kernel/schedule.h"

/* Blocks that an SM runs at once. Threads, registers and shared memory limit them, each rounded up to the unit in
 * which the hardware allocates it; 0 where a block does not fit. On a host: 1 where the block's shared memory fits,
 * otherwise 0. */
int fsim_blocks_per_sm(const fsim_hw *hw, int threads, int registers, int shared_bytes);

/* Sets the schedule's blocks_per_sm, and returns it. */
int fsim_fit_on_sm(const fsim_hw *hw, fsim_schedule *s);

#endif
