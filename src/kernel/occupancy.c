/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/occupancy.h"

#include <math.h>

int fsim_blocks_per_sm(const fsim_hw *hw, int threads, int registers, int shared_bytes)
{
    if (hw->host) /* a core runs one block at a time, with lanes in vector registers; values that do not fit its
                     registers stay in its caches */
        return shared_bytes <= fsim_hw_get(hw, FSIM_HW_SHARED_PER_SM);
    const double warp = fsim_hw_get(hw, FSIM_HW_WARP_SIZE), unit = fsim_hw_get(hw, FSIM_HW_REGISTER_UNIT);
    const double warps = ceil(threads / warp);
    const double reserved = hw->arch->shared_reserved_bytes;
    const double per_warp = ceil(registers * warp / unit) * unit;
    double blocks = fsim_hw_get(hw, FSIM_HW_BLOCKS_PER_SM);
    blocks = fmin(blocks, floor(fsim_hw_get(hw, FSIM_HW_THREADS_PER_SM) / (warps * warp)));
    blocks = fmin(blocks, floor(floor(fsim_hw_get(hw, FSIM_HW_REGISTERS_PER_SM) / per_warp) / warps));
    if (shared_bytes > 0)
        blocks = fmin(blocks, floor(fsim_hw_get(hw, FSIM_HW_SHARED_PER_SM) / (shared_bytes + reserved)));
    return (int)blocks;
}

int fsim_fit_on_sm(const fsim_hw *hw, fsim_schedule *s)
{
    return s->blocks_per_sm = fsim_blocks_per_sm(hw, s->block, s->registers, s->shared_bytes);
}
