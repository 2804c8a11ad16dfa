/* SPDX-License-Identifier: Apache-2.0 */
/* bare_gpu.h: a GPU whose numbers are round, and products on it. */
#ifndef FUSESIM_TESTS_BARE_GPU_H
#define FUSESIM_TESTS_BARE_GPU_H

#include "cost/gemm.h"
#include <math.h>

static const fsim_gemm_tile square = {128, 128, 1}, only[] = {{128, 128, 0}};

/* 10 SMs of 1 Tflop/s, that do nothing but multiply: no start-up, no memory, no limits. */
static inline fsim_gemm_device bare(void)
{
    return (fsim_gemm_device){.sms = 10,
                              .rate = 1e12,
                              .efficiency = 1,
                              .transposed = 1,
                              .power_rate = INFINITY,
                              .l2_rate = INFINITY,
                              .dram_rate = INFINITY,
                              .block_dram_rate = INFINITY,
                              .l2_bytes = 1e9,
                              .page_span = 1e6,
                              .tiles = 1,
                              .tile = only};
}

static inline fsim_gemm_shape product(double batch, double m, double n, double k)
{
    return (fsim_gemm_shape){.batch = batch,
                             .m = m,
                             .n = n,
                             .k = k,
                             .operand_bytes = {4 * batch * m * k, 4 * batch * k * n},
                             .result_bytes = 4 * batch * m * n,
                             .elem_bytes = 4};
}

#endif
