/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"

#include <math.h>

/* NVRTC 13.0 for sm_80, sm_90 and sm_100, kernels with L live float inputs of V elements: 8 + V L registers within 5 %
 * for V = 4 and within 15 % for V = 1, 2 once that exceeds 32; below, the compiler uses what costs no occupancy. */
int fsim_registers(int live, int vector)
{
    const double r = 8.0 + (double)vector * live;
    return r < 16 ? 16 : r > 4096 ? 4096 : (int)r;
}

int fsim_blocks_per_sm(const fsim_hw *hw, int threads, int registers, int shared_bytes)
{
    if (hw->host) /* a core runs one block after the other, its lanes in vectors; what does not fit its registers stays
                     in its own caches */
        return shared_bytes <= fsim_hw_get(hw, FSIM_HW_SHARED_PER_SM);
    const double warp = fsim_hw_get(hw, FSIM_HW_WARP_SIZE), unit = fsim_hw_get(hw, FSIM_HW_REGISTER_UNIT);
    const double warps = ceil(threads / warp);
    const double reserved = hw->sm >= 80 ? 1024 : 0; /* shared memory that the driver keeps for itself in every block */
    const double per_warp = ceil(registers * warp / unit) * unit;
    double blocks = fsim_hw_get(hw, FSIM_HW_BLOCKS_PER_SM);
    blocks = fmin(blocks, floor(fsim_hw_get(hw, FSIM_HW_THREADS_PER_SM) / (warps * warp)));
    blocks = fmin(blocks, floor(floor(fsim_hw_get(hw, FSIM_HW_REGISTERS_PER_SM) / per_warp) / warps));
    if (shared_bytes > 0)
        blocks = fmin(blocks, floor(fsim_hw_get(hw, FSIM_HW_SHARED_PER_SM) / (shared_bytes + reserved)));
    return (int)blocks;
}

double fsim_l2_effective(const fsim_hw *hw)
{
    const double share = fsim_hw_get(hw, FSIM_HW_L2_EFFECTIVE);
    return fsim_hw_get(hw, FSIM_HW_L2_CAPACITY) * (isnan(share) ? 1 : share);
}
